package daemon

import (
	"context"
	"errors"
	"hash/fnv"
	"sync"
	"time"

	"campaignd/campaign"
)

// job returns the job name, which one replica at a time does, with this process as its owner.
func (d *Daemon) job(name string) campaign.Job {
	return campaign.Job{Ledger: d.ledger, Name: name, Owner: d.owner, Lease: time.Duration(d.cfg.Sending.Lease)}
}

// jitterSeed returns the seed of a process's random delays. Each owner has its own, so that
// replicas that started together do not sweep or ask for their turn at the same moment.
func jitterSeed(owner string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(owner)) // never an error: hash.Hash
	return h.Sum64()
}

// turn is a repeated job that stays with one replica until that replica ends.
type turn struct {
	job campaign.Job

	mu     sync.Mutex
	lease  campaign.JobLease
	leased bool
}

// ours reports whether this process does the job now. It acquires or renews the lease as needed. It
// also reports true when the ledger cannot be asked, because the work then returns the error.
func (t *turn) ours(ctx context.Context) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.leased && time.Until(t.lease.Until) > t.job.Lease*2/3 {
		return true
	}
	if t.leased {
		lease, err := t.job.Ledger.RenewJob(ctx, t.lease, t.job.Lease)
		if err == nil {
			t.lease = lease
		}
		if !errors.Is(err, campaign.ErrFenced) {
			return true
		}
	}
	var err error
	t.lease, t.leased, err = t.job.Ledger.AcquireJob(ctx, t.job.Name, t.job.Owner, t.job.Lease)
	return t.leased || err != nil
}

// end releases the job, so that the next process that asks gets it.
func (t *turn) end() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.leased {
		return nil
	}
	t.leased = false
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = t.job.Ledger.ReleaseJob(ctx, t.lease) // it runs out
	return nil
}

// waitForTurn is how often a process that must be the only sender asks whether the other has ended.
const waitForTurn = time.Second

// alone runs send. If limits are kept in this process but other processes can use the ledger, send
// runs only while no other process sends, because each would send a number's full rate. Its context
// ends when another process has taken over.
func (d *Daemon) alone(ctx context.Context, send func(context.Context) error) error {
	if d.cfg.Redis != "" || !d.cfg.SharedLedger() {
		return send(ctx)
	}
	for logged := false; ; logged = true {
		sending := false
		err := d.job("send without redis").Do(ctx, func(ctx context.Context) error {
			sending = true
			return send(ctx)
		})
		if !sending && ctx.Err() != nil {
			return nil //nolint:nilerr // the process was stopped while it asked for the job
		}
		if !errors.Is(err, campaign.ErrTaken) {
			return err
		}
		if !logged {
			d.log.Warn("another process sends from this ledger, and without redis only one may: waiting until it has ended")
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(waitForTurn):
		}
	}
}
