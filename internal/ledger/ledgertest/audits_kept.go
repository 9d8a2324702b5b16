package ledgertest

import (
	"context"

	"campaignd/campaign"
)

var auditPromises = []promise{
	{"TheLastAuditOfARunIsKept", func(f *fixture) {
		r, other := f.create(), f.create(func(r *campaign.Run) { r.Campaign = "other" })
		for _, want := range []campaign.KeptAudit{{}, {Began: at(1)}, {Began: at(1), Ended: at(2), Result: `{"run":"\u0000"}`}, {Began: at(3)}} {
			if !want.Began.IsZero() {
				f.ok(f.l.KeepAudit(f.ctx, r.No, want))
			}
			if got, err := f.l.LastAudit(f.ctx, r.No); err != nil || got != want {
				f.Errorf("got %+v (%v), want %+v", got, err, want)
			}
		}
		if got, err := f.l.LastAudit(f.ctx, other.No); err != nil || !got.Began.IsZero() {
			f.Errorf("another run: got %+v (%v), want none", got, err)
		}
	}},
}

var auditFaults = []faultyMethod{
	{"KeepAudit", func(f *fixture, _ Faults) func(context.Context) error {
		no := f.create().No
		return func(ctx context.Context) error { return f.l.KeepAudit(ctx, no, campaign.KeptAudit{Began: at(0)}) }
	}},
	{"LastAudit", func(f *fixture, _ Faults) func(context.Context) error {
		no := f.create().No
		return func(ctx context.Context) error { _, err := f.l.LastAudit(ctx, no); return err }
	}},
}
