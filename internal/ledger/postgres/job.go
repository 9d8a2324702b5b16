package postgres

import (
	"context"
	"errors"
	"time"

	"campaignd/campaign"
	"campaignd/internal/ledger"

	"github.com/jackc/pgx/v5"
)

const (
	sqlJobLeft    = `SELECT coalesce((SELECT lease_until - ledger_now() FROM job WHERE name = $1), 0)`
	sqlAcquireJob = `INSERT INTO job (name, owner, epoch, lease_until) VALUES ($1, $2, 1, ledger_now() + $3)
		ON CONFLICT (name) DO UPDATE SET owner = $2, epoch = job.epoch + 1, lease_until = ledger_now() + $3
		WHERE job.lease_until <= ledger_now() RETURNING epoch`
)

// AcquireJob implements campaign.JobLedger, on the server's clock.
func (l *Ledger) AcquireJob(ctx context.Context, name, owner string, d time.Duration) (lease campaign.JobLease, ok bool, err error) {
	asked := time.Now()
	// Callers poll: a query outside a transaction says that another process has it.
	if left, err := l.JobLeft(ctx, name); err != nil || left > 0 {
		return lease, false, err
	}
	err = l.change(ctx, l.sender, "", func(t *tx) error {
		lease = campaign.JobLease{Name: name, Owner: owner, Until: asked.Add(d)}
		err := t.do(row(&lease.Epoch, sqlAcquireJob, plainText(name), plainText(owner), d.Milliseconds()))
		if ok = err == nil; errors.Is(err, pgx.ErrNoRows) {
			return nil // after a lost answer perhaps this owner's own lease, which runs out
		}
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
	if err := l.read(ctx, l.sender, row(&left, sqlJobLeft, plainText(name))); err != nil {
		return 0, ledger.JobError(name, err)
	}
	return max(time.Duration(left)*time.Millisecond, 0), nil
}

const sqlRenewJob = `UPDATE job SET lease_until = ledger_now() + $4 WHERE name = $1 AND owner = $2 AND epoch = $3 AND lease_until <> 0`

// RenewJob implements campaign.JobLedger.
func (l *Ledger) RenewJob(ctx context.Context, lease campaign.JobLease, d time.Duration) (campaign.JobLease, error) {
	asked := time.Now()
	err := l.change(ctx, l.sender, "", func(t *tx) error {
		var n int64
		err := t.do(stmt(&n, sqlRenewJob, plainText(lease.Name), plainText(lease.Owner), lease.Epoch, d.Milliseconds()))
		if err == nil && n == 0 {
			err = campaign.ErrFenced
		}
		return err
	})
	if err != nil {
		return lease, ledger.JobError(lease.Name, err)
	}
	lease.Until = asked.Add(d)
	return lease, nil
}

const sqlReleaseJob = `UPDATE job SET lease_until = 0 WHERE name = $1 AND owner = $2 AND epoch = $3`

// ReleaseJob implements campaign.JobLedger.
func (l *Ledger) ReleaseJob(ctx context.Context, lease campaign.JobLease) error {
	return ledger.JobError(lease.Name, l.change(ctx, l.sender, "", func(t *tx) error {
		return t.do(stmt(nil, sqlReleaseJob, plainText(lease.Name), plainText(lease.Owner), lease.Epoch))
	}))
}
