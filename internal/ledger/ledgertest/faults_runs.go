package ledgertest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"campaignd/campaign"
)

var runFaults = []faultyMethod{
	{"Rehearse", func(f *fixture, _ Faults) func(context.Context) error {
		f.retried()
		return func(ctx context.Context) error {
			n, err := f.l.(quarantined).Rehearse(ctx, 4, nil, at(0))
			return none(f, int(n), err)
		}
	}},
	{"Quarantine", func(f *fixture, _ Faults) func(context.Context) error {
		f.retried()
		return func(ctx context.Context) error {
			n, err := f.l.(quarantined).Quarantine(ctx, 4, nil, at(0))
			return none(f, int(n), err)
		}
	}},
	{"CreateRun", func(f *fixture, _ Faults) func(context.Context) error {
		f.ids++
		r := campaign.Run{Campaign: "faults", ListHash: fmt.Sprint("list", f.ids)}
		return func(ctx context.Context) error { _, err := f.l.CreateRun(ctx, r); return err }
	}},
	{"CreateRunOfAFiring", func(f *fixture, _ Faults) func(context.Context) error {
		f.ids++
		r := campaign.Run{Campaign: "faults", ListHash: "list", Launch: fmt.Sprint(campaign.FiringKey, f.ids)}
		return func(ctx context.Context) error { _, err := f.l.CreateRun(ctx, r); return err }
	}},
	{"CreateRunThatExists", func(f *fixture, _ Faults) func(context.Context) error {
		r := f.create()
		return func(ctx context.Context) error {
			_, err := f.l.CreateRun(ctx, campaign.Run{Campaign: r.Campaign, ListHash: r.ListHash})
			if errors.Is(err, campaign.ErrRunExists) {
				err = nil
			}
			return err
		}
	}},
	{"Run", func(f *fixture, _ Faults) func(context.Context) error {
		no := f.imported(1).No
		return func(ctx context.Context) error { _, err := f.l.Run(ctx, no); return err }
	}},
	{"Runs", func(f *fixture, _ Faults) func(context.Context) error {
		f.imported(1)
		return func(ctx context.Context) error {
			_, err := f.l.Runs(ctx, campaign.RunFilter{Campaign: "spring", Fired: false, Unfinished: true, Limit: 9})
			return err
		}
	}},
	{"SetWantedRun", func(f *fixture, _ Faults) func(context.Context) error {
		no := f.imported(1).No
		if _, err := f.l.SetState(f.ctx, no, []campaign.State{campaign.Ready}, campaign.Paused, campaign.PausedByLedger, "why"); err != nil {
			f.Fatalf("pausing run %d: %v; want no error", no, err)
		}
		return func(ctx context.Context) error { _, err := f.l.SetWanted(ctx, no, campaign.WantRun, ""); return err }
	}},
	{"SetWantedCancel", func(f *fixture, _ Faults) func(context.Context) error {
		no := f.imported(1).No
		if _, err := f.l.Park(f.ctx, f.lease(no, long), at(0).AddDate(50, 0, 0), After(time.Minute)); err != nil {
			f.Fatalf("parking: %v; want no error", err)
		}
		return func(ctx context.Context) error { _, err := f.l.SetWanted(ctx, no, campaign.WantCancel, ""); return err }
	}},
	{"SetState", func(f *fixture, _ Faults) func(context.Context) error {
		no := f.imported(1).No
		return func(ctx context.Context) error {
			moved, err := f.l.SetState(ctx, no, []campaign.State{campaign.Ready}, campaign.Paused, campaign.PausedByLedger, "why")
			if moved == (err != nil) {
				f.Errorf("moved %v, %v; want moved when there is no error, and only then", moved, err)
			}
			return err
		}
	}},
	{"SetAssets", func(f *fixture, _ Faults) func(context.Context) error {
		no := f.imported(1).No
		return func(ctx context.Context) error {
			return f.l.SetAssets(ctx, no, []campaign.Asset{{ID: "asset", Until: at(1)}})
		}
	}},
	{"FinishRuns", func(f *fixture, _ Faults) func(context.Context) error {
		for range 2 {
			l := f.lease(f.imported(1).No, long)
			f.sent(l, 0, 1)
			f.record(acceptance(l, 0))
			if p, err := f.l.Park(f.ctx, l, time.Time{}, After(time.Minute)); err != nil || !p.Done {
				f.Fatalf("parked %+v, %v; want it done", p, err)
			}
		}
		return func(ctx context.Context) error { _, err := f.l.FinishRuns(ctx); return err }
	}},
	{"AppendRows", func(f *fixture, _ Faults) func(context.Context) error {
		r := f.create()
		ds := deliveries(0, 40)
		ds[3].Skip, ds[4].Skip = campaign.Duplicate, campaign.Duplicate
		return func(ctx context.Context) error {
			return f.l.AppendRows(ctx, r.No, 0, ds, []campaign.Segment{{Run: r.No, Hi: 40}})
		}
	}},
	{"FinishImport", func(f *fixture, _ Faults) func(context.Context) error {
		r := f.create()
		f.ok(f.l.AppendRows(f.ctx, r.No, 0, deliveries(0, 3), []campaign.Segment{{Run: r.No, Hi: 3}}))
		return func(ctx context.Context) error { return f.l.FinishImport(ctx, r.No, 3, campaign.Ready) }
	}},
}
