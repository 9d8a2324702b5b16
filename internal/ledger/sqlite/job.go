package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"campaignd/campaign"
	"campaignd/internal/ledger"
)

const sqlAcquireJob = `INSERT INTO job (name, owner, epoch, lease_until) VALUES (?1, ?2, 1, ?3)
	ON CONFLICT (name) DO UPDATE SET owner = ?2, epoch = epoch + 1, lease_until = ?3 WHERE lease_until <= ?4 RETURNING epoch`

// AcquireJob implements campaign.JobLedger. This host's clock is the database's clock.
func (l *Ledger) AcquireJob(ctx context.Context, name, owner string, d time.Duration) (lease campaign.JobLease, ok bool, err error) {
	asked := time.Now()
	// Callers poll: a reader, not the writer, says that another process has it. The writer decides
	// otherwise.
	if left, err := l.JobLeft(ctx, name); err == nil && left > 0 {
		return lease, false, nil
	}
	err = l.write(ctx, results, func(t *tx) error {
		now := time.Now()
		lease = campaign.JobLease{Name: name, Owner: owner, Until: asked.Add(d)}
		err := t.row(sqlAcquireJob, args(name, owner, ledger.Millis(now.Add(d)), ledger.Millis(now)), &lease.Epoch)
		if ok = err == nil; errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		return err
	})
	if err != nil || !ok {
		return campaign.JobLease{}, false, ledger.JobError(name, err)
	}
	return lease, true, nil
}

const sqlJobLeft = `SELECT lease_until FROM job WHERE name = ?`

// JobLeft implements campaign.JobLedger.
func (l *Ledger) JobLeft(ctx context.Context, name string) (time.Duration, error) {
	var until int64
	switch err := l.read().row(ctx, sqlJobLeft, args(name), &until); {
	case errors.Is(err, sql.ErrNoRows):
		return 0, nil
	case err != nil:
		return 0, ledger.JobError(name, err)
	}
	return max(time.Duration(until-ledger.Millis(time.Now()))*time.Millisecond, 0), nil
}

const sqlRenewJob = `UPDATE job SET lease_until = ? WHERE name = ? AND owner = ? AND epoch = ? AND lease_until <> 0`

// RenewJob implements campaign.JobLedger.
func (l *Ledger) RenewJob(ctx context.Context, lease campaign.JobLease, d time.Duration) (campaign.JobLease, error) {
	asked := time.Now()
	err := l.write(ctx, results, func(t *tx) error {
		n, err := t.exec(sqlRenewJob, ledger.Millis(time.Now().Add(d)), lease.Name, lease.Owner, lease.Epoch)
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

const sqlReleaseJob = `UPDATE job SET lease_until = 0 WHERE name = ? AND owner = ? AND epoch = ?`

// ReleaseJob implements campaign.JobLedger.
func (l *Ledger) ReleaseJob(ctx context.Context, lease campaign.JobLease) error {
	return ledger.JobError(lease.Name, l.write(ctx, results, func(t *tx) error {
		_, err := t.exec(sqlReleaseJob, lease.Name, lease.Owner, lease.Epoch)
		return err
	}))
}
