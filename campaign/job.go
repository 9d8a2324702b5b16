package campaign

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// ErrTaken: another process does this job now.
var ErrTaken = errors.New("another process is at it")

// jobLease is the usual time that a job's lease runs: that of a segment (design section 10).
const jobLease = 15 * time.Second

// Job is work that one replica does at a time.
type Job struct {
	Ledger JobLedger
	Name   string        // what is done: import 7, cron spring-sale
	Owner  string        // names this process
	Lease  time.Duration // how long a process that dies keeps others waiting; default 15s
}

// Do acquires the job, calls do while renewing the lease three times in its length, and releases it. ErrTaken
// when another process has it; do is not called then. When another took it over meanwhile, do's context ends with
// the cause ErrFenced, and Do returns that. A ledger that cannot be reached changes nothing: nobody can take the job
// over then.
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
	// The caller's context may have ended; the release is what the next process waits for.
	end, stop := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer stop()
	if released := j.Ledger.ReleaseJob(end, lease); err == nil && released != nil && ctx.Err() == nil {
		return released // what was done is done; the lease runs out
	}
	return err
}

// renew keeps the lease until ctx ends or another process has it: then it returns ErrFenced.
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
