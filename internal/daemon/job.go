package daemon

import (
	"context"
	"errors"
	"sync"
	"time"

	"campaignd/campaign"
)

// job is work that one replica does at a time, under this process's name.
func (d *Daemon) job(name string) campaign.Job {
	return campaign.Job{Ledger: d.ledger, Name: name, Owner: d.owner, Lease: time.Duration(d.cfg.Sending.Lease)}
}

// turn is a job that stays with one replica for as long as it lives, and is done again and again.
type turn struct {
	job campaign.Job

	mu    sync.Mutex
	lease campaign.JobLease
	held  bool
}

// ours reports whether the job is this process's now, acquiring or renewing its lease as needed. When
// the ledger cannot be asked the answer is yes: the work itself then says what is wrong.
func (t *turn) ours(ctx context.Context) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.held && time.Until(t.lease.Until) > t.job.Lease*2/3 {
		return true
	}
	if t.held {
		lease, err := t.job.Ledger.RenewJob(ctx, t.lease, t.job.Lease)
		if err == nil {
			t.lease = lease
		}
		if !errors.Is(err, campaign.ErrFenced) {
			return true
		}
	}
	var err error
	t.lease, t.held, err = t.job.Ledger.AcquireJob(ctx, t.job.Name, t.job.Owner, t.job.Lease)
	return t.held || err != nil
}

// end gives the job to whoever asks next.
func (t *turn) end() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.held {
		return nil
	}
	t.held = false
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	return t.job.Ledger.ReleaseJob(ctx, t.lease)
}

// waitForTurn is how often a process that must be the only sender looks whether the other has gone.
const waitForTurn = time.Second

// alone runs send. With limits kept in this process and a ledger that others can reach, a second sender would
// send every number's rate again: then send runs only while no other process does, and ends when one took over.
func (d *Daemon) alone(ctx context.Context, send func(context.Context) error) error {
	if d.cfg.Redis != "" || !d.cfg.sharedLedger() {
		return send(ctx)
	}
	for said := false; ; said = true {
		err := d.job("send without redis").Do(ctx, send)
		if !errors.Is(err, campaign.ErrTaken) {
			return err
		}
		if !said {
			d.log.Warn("another process sends from this ledger, and without redis only one may: waiting until it has ended")
		}
		t := time.NewTimer(waitForTurn)
		select {
		case <-ctx.Done():
			t.Stop()
			return nil
		case <-t.C:
		}
	}
}
