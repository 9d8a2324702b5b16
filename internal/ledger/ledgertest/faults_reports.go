package ledgertest

import (
	"context"
	"fmt"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/reception"
)

var reportFaults = []faultyMethod{
	{"ReportLanes", func(f *fixture, _ Faults) func(context.Context) error {
		f.ids++
		owner := fmt.Sprint("owner ", f.ids)
		f.ok(f.l.ReportLanes(f.ctx, owner, []campaign.LaneReport{{Run: 1, Connection: "conn_1", At: at(0)}}))
		return func(ctx context.Context) error {
			return f.l.ReportLanes(ctx, owner, []campaign.LaneReport{{Run: 1, Connection: "conn_2", At: at(1)}})
		}
	}},
	{"Signatures", func(f *fixture, _ Faults) func(context.Context) error {
		return func(ctx context.Context) error { _, err := f.l.Signatures(ctx); return err }
	}},
	{"LostTimes", func(f *fixture, _ Faults) func(context.Context) error {
		return func(ctx context.Context) error { _, err := f.l.LostTimes(ctx); return err }
	}},
	{"NoteReplay", func(f *fixture, _ Faults) func(context.Context) error {
		return func(ctx context.Context) error {
			return f.l.NoteReplay(ctx, reception.Span{Since: at(0), Until: at(1)}, at(2), 3)
		}
	}},
	{"CountReplayed", func(f *fixture, _ Faults) func(context.Context) error {
		return func(ctx context.Context) error { return f.l.CountReplayed(ctx, at(0), 3) }
	}},
	{"Named", func(f *fixture, _ Faults) func(context.Context) error {
		f.over(1)
		return func(ctx context.Context) error { _, err := f.l.Named(ctx, f.l.Pseudonyms(key(0))); return err }
	}},
	{"Tallies", func(f *fixture, _ Faults) func(context.Context) error {
		r, _ := f.retried()
		return func(ctx context.Context) error { _, _, err := f.l.Tallies(ctx, r.No); return err }
	}},
	{"TalliesOfWhatIsDone", func(f *fixture, _ Faults) func(context.Context) error {
		r, l := f.begun(1, 1)
		f.record(acceptance(l, 0))
		if p, err := f.l.Park(f.ctx, l, time.Time{}, After(time.Minute)); err != nil || !p.Done {
			f.Fatalf("parked %+v, %v; want it done", p, err)
		}
		return func(ctx context.Context) error { _, _, err := f.l.Tallies(ctx, r.No); return err }
	}},
	{"Lines", func(f *fixture, _ Faults) func(context.Context) error {
		r, _ := f.retried()
		return func(ctx context.Context) (last error) {
			for _, err := range f.l.Lines(ctx, r.No) {
				last = err
			}
			return last
		}
	}},
	{"SelectLines", func(f *fixture, _ Faults) func(context.Context) error {
		r, _ := f.retried()
		return func(ctx context.Context) error {
			_, _, err := f.l.SelectLines(ctx, r.No, campaign.LineFilter{}, 0, 3)
			return err
		}
	}},
	{"PersonRecords", func(f *fixture, _ Faults) func(context.Context) error {
		r, _ := f.retried()
		lines, _, err := f.l.SelectLines(f.ctx, r.No, campaign.LineFilter{}, 0, 3)
		f.ok(err)
		return func(ctx context.Context) error { _, err := f.l.PersonRecords(ctx, key(0), lines); return err }
	}},
	{"Audit", func(f *fixture, _ Faults) func(context.Context) error {
		r, _ := f.retried()
		return func(ctx context.Context) error { _, _, err := f.l.Audit(ctx, r.No, 9); return err }
	}},
	{"AuditOfARowTwice", func(f *fixture, faults Faults) func(context.Context) error {
		r := f.imported(2)
		faults.Exec(f.T, fmt.Sprintf(`UPDATE delivery SET key = %d WHERE rid >> 32 = %d`, key(0), r.No))
		return func(ctx context.Context) error {
			ps, _, err := f.l.Audit(ctx, r.No, 9)
			if err == nil && len(ps) != 1 {
				f.Errorf("found %+v, want one problem", ps)
			}
			return err
		}
	}},
	{"Lanes", func(f *fixture, _ Faults) func(context.Context) error {
		no := f.imported(1).No
		f.ok(f.l.ReportLanes(f.ctx, "of the lanes", []campaign.LaneReport{{Run: no, Connection: "conn_1", LimitedBy: campaign.ByTier,
			At: at(0)}}))
		return func(ctx context.Context) error { _, err := f.l.Lanes(ctx, no); return err }
	}},
	{"SegmentStates", func(f *fixture, _ Faults) func(context.Context) error {
		no := f.imported(1).No
		return func(ctx context.Context) error { _, err := f.l.SegmentStates(ctx, no); return err }
	}},
	{"LastEventAt", func(f *fixture, _ Faults) func(context.Context) error {
		no := f.imported(1).No
		return func(ctx context.Context) error { _, err := f.l.LastEventAt(ctx, no); return err }
	}},
}

var jobFaults = []faultyMethod{
	{"LastMissed", func(f *fixture, _ Faults) func(context.Context) error {
		return func(ctx context.Context) error {
			_, err := f.l.LastMissed(ctx)
			return err
		}
	}},
	{"NoteFiring", func(f *fixture, _ Faults) func(context.Context) error {
		key := fmt.Sprint("firing ", f.ids)
		return func(ctx context.Context) error {
			_, err := f.l.NoteFiring(ctx, campaign.Firing{Campaign: "spring", Key: key, At: time.Unix(1, 0), Outcome: campaign.FiringLaunching})
			return err
		}
	}},
	{"Firings", func(f *fixture, _ Faults) func(context.Context) error {
		return func(ctx context.Context) error {
			_, err := f.l.Firings(ctx, campaign.FiringFilter{Campaign: "spring", Limit: 1})
			return err
		}
	}},
	{"Clock", func(f *fixture, _ Faults) func(context.Context) error {
		return func(ctx context.Context) error { _, err := f.l.Clock(ctx); return err }
	}},
	{"ClaimFile", func(f *fixture, _ Faults) func(context.Context) error {
		f.ids++
		file := dropped(fmt.Sprint("file ", f.ids), "1")
		return func(ctx context.Context) error {
			_, claimed, err := f.l.ClaimFile(ctx, file)
			if claimed && err != nil {
				f.Errorf("claimed with the error %v; want a claim only without one", err)
			}
			return err
		}
	}},
	{"UpdateFile", func(f *fixture, _ Faults) func(context.Context) error {
		f.ids++
		file, _ := f.take(dropped(fmt.Sprint("file ", f.ids), "1"))
		file.Hash, file.State = fmt.Sprint("hash ", f.ids), campaign.DropLaunched
		return func(ctx context.Context) error { return f.l.UpdateFile(ctx, file) }
	}},
	{"DroppedFiles", func(f *fixture, _ Faults) func(context.Context) error {
		return func(ctx context.Context) error {
			_, err := f.l.DroppedFiles(ctx, campaign.DropFilter{Limit: 1})
			return err
		}
	}},
	{"NoteWaits", func(f *fixture, _ Faults) func(context.Context) error {
		waits := []campaign.DropWait{{Key: "a.csv", Reason: "it is being written", Since: dropTime}}
		return func(ctx context.Context) error { return f.l.NoteWaits(ctx, "file:///inbox", "a/", waits) }
	}},
	{"DropWaits", func(f *fixture, _ Faults) func(context.Context) error {
		return func(ctx context.Context) error { _, err := f.l.DropWaits(ctx); return err }
	}},
	{"AcquireJob", func(f *fixture, _ Faults) func(context.Context) error {
		f.ids++
		name := fmt.Sprint("job ", f.ids)
		return func(ctx context.Context) error {
			l, ok, err := f.l.AcquireJob(ctx, name, "a", long)
			if want := (campaign.JobLease{}); ok == (err != nil) || err != nil && l != want {
				f.Errorf("acquired %+v, %v, %v; want a lease when there is no error, and only then", l, ok, err)
			}
			return err
		}
	}},
	{"RenewJob", func(f *fixture, _ Faults) func(context.Context) error {
		f.ids++
		l, _ := f.job(fmt.Sprint("job ", f.ids), "a", long)
		return func(ctx context.Context) error { _, err := f.l.RenewJob(ctx, l, 2*long); return err }
	}},
	{"ReleaseJob", func(f *fixture, _ Faults) func(context.Context) error {
		f.ids++
		l, _ := f.job(fmt.Sprint("job ", f.ids), "a", long)
		return func(ctx context.Context) error { return f.l.ReleaseJob(ctx, l) }
	}},
}
