package portable

import (
	"context"
	"errors"
	"time"

	"campaignd/campaign"
	"campaignd/internal/ledger"
)

const (
	sqlJobLeft    = `SELECT lease_until - ledger_now() FROM job WHERE name = $1`
	sqlAcquireJob = `INSERT INTO job (name, owner, epoch, lease_until) VALUES ($1, $2, 1, ledger_now() + $3)
		ON CONFLICT (name) DO UPDATE SET owner = $2, epoch = job.epoch + 1, lease_until = ledger_now() + $3
		WHERE job.lease_until <= ledger_now() RETURNING epoch`
)

// AcquireJob implements campaign.JobLedger, on the clock of the database.
func (l *Ledger) AcquireJob(ctx context.Context, name, owner string, d time.Duration) (lease campaign.JobLease, ok bool, err error) {
	asked := time.Now()
	// Callers poll: a query outside a transaction says that another process has it.
	if left, err := l.JobLeft(ctx, name); err != nil || left > 0 {
		return lease, false, err
	}
	err = l.db.Change(ctx, Sending, func(t Tx) (err error) {
		lease = campaign.JobLease{Name: name, Owner: owner, Until: asked.Add(d)}
		// After a lost answer it is perhaps this owner's own lease that is found, which runs out.
		ok, err = one(t.Each, []any{&lease.Epoch}, sqlAcquireJob, name, owner, d.Milliseconds())
		return err
	})
	if err != nil || !ok {
		return campaign.JobLease{}, false, ledger.JobError(name, err)
	}
	return lease, true, nil
}

// JobLeft implements campaign.JobLedger.
func (l *Ledger) JobLeft(ctx context.Context, name string) (time.Duration, error) {
	var left int64
	if _, err := l.row(ctx, Sending, []any{&left}, sqlJobLeft, name); err != nil {
		return 0, ledger.JobError(name, err)
	}
	return max(time.Duration(left)*time.Millisecond, 0), nil
}

const sqlRenewJob = `UPDATE job SET lease_until = ledger_now() + $4 WHERE name = $1 AND owner = $2 AND epoch = $3 AND lease_until <> 0`

// RenewJob implements campaign.JobLedger.
func (l *Ledger) RenewJob(ctx context.Context, lease campaign.JobLease, d time.Duration) (campaign.JobLease, error) {
	asked := time.Now()
	n, err := l.exec(ctx, Sending, sqlRenewJob, lease.Name, lease.Owner, lease.Epoch, d.Milliseconds())
	if err == nil && n == 0 {
		err = campaign.ErrFenced
	}
	if err != nil {
		return lease, ledger.JobError(lease.Name, err)
	}
	lease.Until = asked.Add(d)
	return lease, nil
}

const sqlReleaseJob = `UPDATE job SET lease_until = 0 WHERE name = $1 AND owner = $2 AND epoch = $3`

// ReleaseJob implements campaign.JobLedger.
func (l *Ledger) ReleaseJob(ctx context.Context, lease campaign.JobLease) error {
	_, err := l.exec(ctx, Sending, sqlReleaseJob, lease.Name, lease.Owner, lease.Epoch)
	if err != nil && !errors.Is(err, campaign.ErrUnwritable) {
		l.options.Log.Warn("a finished job was not given back: nobody does it again before its lease has run out", "job", lease.Name, "err", err)
	}
	return ledger.JobError(lease.Name, err)
}
