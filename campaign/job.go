package campaign

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// ErrTaken says that another process does this job now.
var ErrTaken = errors.New("another process does this job")

// JobLease is the right to do a job until another epoch begins. One replica at a time has it.
type JobLease struct {
	Name  string
	Owner string
	Epoch int64
	Until time.Time // by the local clock, counted from before the request was made
}

// JobLedger distributes the work other than sending: firing a schedule, importing a list, sweeping.
// A lease keeps replicas from doing the same work at the same time. It is no guard, because a
// process that was suspended longer than its lease goes on. Therefore each job is safe without it:
// CreateRun finds the run of a firing, AppendRows refuses rows that the run has, and Sweep may be
// repeated.
type JobLedger interface {
	// AcquireJob leases the job for d on the database's clock. It reports false while any lease of
	// the job runs, also one of the same owner. A new lease has a new epoch.
	AcquireJob(ctx context.Context, name, owner string, d time.Duration) (JobLease, bool, error)
	// RenewJob prolongs a lease, also one that ran out, unless another process acquired the job or
	// the lease was released: ErrFenced.
	RenewJob(ctx context.Context, l JobLease, d time.Duration) (JobLease, error)
	// ReleaseJob ends a lease, so that the job can be acquired at once. It ignores a lost lease. The
	// ledger logs an error, which no caller need return: a lease that is not released runs out.
	ReleaseJob(ctx context.Context, l JobLease) error
	// JobLeft is how long a lease of the job still runs on the database's clock; 0: none does.
	JobLeft(ctx context.Context, name string) (time.Duration, error)
}

// jobLease is the default length of a job's lease, which is also the length of a segment's lease.
const jobLease = 15 * time.Second

// Job is work that one replica does at a time.
type Job struct {
	Ledger JobLedger
	Name   string // what is done: import 7, cron spring-sale
	Owner  string // names this process
	// Lease is how long a process that dies keeps others waiting; 0 or less means 15 s.
	Lease time.Duration
	// Rest is how long nobody may do the job again after it failed with an error; nil, or 0 or less:
	// it may be done again at once.
	Rest func(error) time.Duration
	// Waits is called each time await finds that another process does the job; it may be nil.
	Waits func()
}

// Do acquires the job, calls do, and releases the job, after a failure when its rest is over. While
// do works, it renews the lease every third of its length. When another process has the job, it
// returns ErrTaken without calling do. When another process takes the job over meanwhile, the
// context of do ends with the cause ErrFenced, and Do returns that. A ledger that cannot be reached
// changes nothing, since no other process can then take the job over.
func (j Job) Do(ctx context.Context, do func(context.Context) error) error {
	if j.Lease <= 0 {
		j.Lease = jobLease
	}
	lease, ok, err := j.Ledger.AcquireJob(ctx, j.Name, j.Owner, j.Lease)
	if err != nil {
		return err
	}
	if !ok {
		return fmt.Errorf("%s: %w", j.Name, ErrTaken)
	}
	working, cancel := context.WithCancelCause(ctx)
	var renewing sync.WaitGroup
	renewing.Go(func() { cancel(j.renew(working, lease)) })
	err = do(working)
	lost := context.Cause(working)
	cancel(nil)
	renewing.Wait()
	if errors.Is(lost, ErrFenced) {
		return fmt.Errorf("%s: %w", j.Name, errors.Join(ErrFenced, err))
	}
	// The caller's context may have ended, but the next process waits for this release.
	end, stop := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer stop()
	if err != nil && ctx.Err() == nil && j.Rest != nil {
		if d := j.Rest(err); d > 0 {
			if _, renewed := j.Ledger.RenewJob(end, lease, d); renewed == nil {
				return err
			}
		}
	}
	_ = j.Ledger.ReleaseJob(end, lease) // what was done is the answer, whatever becomes of the lease
	return err
}

// lookAgain is the longest interval at which await asks for a job that another process has. The
// first one is firstLook, and each is twice as long as the one before.
const (
	firstLook = 50 * time.Millisecond
	lookAgain = time.Second
)

// Await is Do, except that it waits while another process has the job.
func (j Job) Await(ctx context.Context, do func(context.Context) error) error {
	for wait := firstLook; ; wait = min(2*wait, lookAgain) {
		err := j.Do(ctx, do)
		if !errors.Is(err, ErrTaken) {
			return err
		}
		if j.Waits != nil {
			j.Waits()
		}
		t := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			t.Stop()
			return ctx.Err()
		case <-t.C:
		}
	}
}

// renew renews the lease until ctx ends. It returns ErrFenced when another process has the lease.
func (j Job) renew(ctx context.Context, lease JobLease) error {
	for {
		t := time.NewTimer(j.Lease / 3)
		select {
		case <-ctx.Done():
			t.Stop()
			return nil
		case <-t.C:
		}
		if _, err := j.Ledger.RenewJob(ctx, lease, j.Lease); errors.Is(err, ErrFenced) {
			return ErrFenced
		}
	}
}
