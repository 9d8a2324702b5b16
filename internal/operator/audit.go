package operator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"campaignd/campaign"
	"campaignd/reporting"
)

// Audit is an audit that somebody asked for and did not wait for.
type Audit struct {
	Began, Ended time.Time              // Ended is zero while it is under way
	Result       *reporting.AuditResult // nil: it is under way, or it failed
}

// Failed reports whether it has no result: the ledger did not answer, or its process ended.
func (a *Audit) Failed() bool { return !a.Ended.IsZero() && a.Result == nil }

// LastAudit returns the last audit that AuditAndKeep began, in any process; nil: there is none.
func (d *Session) LastAudit(ctx context.Context, id string) (*Audit, error) {
	r, err := d.find(ctx, id)
	if err != nil {
		return nil, err
	}
	kept, err := d.Ledger.LastAudit(ctx, r.No)
	if err != nil || kept.Began.IsZero() {
		return nil, err
	}
	out := &Audit{Began: kept.Began, Ended: kept.Ended}
	if kept.Ended.IsZero() {
		left, err := d.Ledger.JobLeft(ctx, auditJob(r.No))
		if err != nil || left > 0 {
			return out, err
		}
		// Nobody audits: it has ended since it was read, or its process has.
		if kept, err = d.Ledger.LastAudit(ctx, r.No); err != nil {
			return nil, err
		}
		if out.Ended = kept.Ended; kept.Ended.IsZero() {
			out.Ended = kept.Began
		}
	}
	if kept.Result != "" {
		err = json.Unmarshal([]byte(kept.Result), &out.Result)
	}
	return out, err
}

func auditJob(run campaign.RunNo) string { return fmt.Sprintf("audit %d", run) }

// AuditAndKeep audits a run and keeps what it finds for LastAudit. While another process audits the
// run, the error is campaign.ErrTaken. began is called when the audit has begun.
func (d *Session) AuditAndKeep(ctx context.Context, id string, began func()) error {
	r, err := d.find(ctx, id)
	if err != nil {
		return err
	}
	job := campaign.Job{Ledger: d.Ledger, Name: auditJob(r.No), Owner: random(sessionBytes)}
	return job.Do(ctx, func(ctx context.Context) error {
		kept := campaign.KeptAudit{Began: time.Now().UTC()}
		if err := d.Ledger.KeepAudit(ctx, r.No, kept); err != nil {
			return err
		}
		began()
		result, err := reporting.Audit(ctx, d.Ledger, r)
		if err == nil {
			var text []byte
			text, err = json.Marshal(result)
			kept.Result = string(text)
		}
		if ctx.Err() != nil {
			return ctx.Err() // the process ends: there is nothing to keep
		}
		kept.Ended = time.Now().UTC()
		return errors.Join(err, d.Ledger.KeepAudit(ctx, r.No, kept))
	})
}
