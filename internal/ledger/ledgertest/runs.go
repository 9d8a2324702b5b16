package ledgertest

import (
	"errors"
	"slices"
	"time"

	"campaignd/campaign"

	"github.com/google/go-cmp/cmp"
)

var runPromises = []promise{
	{"CreateRunStoresEveryField", func(f *fixture) {
		in := campaign.Run{Campaign: "spring", ListHash: "aa", ListName: "bucket/list.csv", Launch: "2", Parent: 7,
			Definition: []byte("name: spring\n#é"),
			Header:     []string{"phone", "näme"}, Delimiter: ";", Template: "sale", Language: "en_US", Marketing: true,
			Budget: 10, Asset: "ast_1", AssetUntil: at(5), LaunchedBy: "key k_1 (Ada)"}
		got, err := f.l.CreateRun(f.ctx, in)
		f.ok(err)
		if got.No != 1 || got.State != campaign.Importing || got.CreatedAt.IsZero() || got.Wanted != campaign.WantRun {
			f.Errorf("run as created: %+v; want No 1, State Importing, CreatedAt set, Wanted WantRun", got)
		}
		in.No, in.State, in.Wanted, in.CreatedAt = got.No, got.State, got.Wanted, got.CreatedAt
		if d := cmp.Diff(in, f.run(1)); d != "" {
			f.Errorf("-want +got:\n%s", d)
		}
	}},
	{"CreateRunReturnsTheRunThatExists", func(f *fixture) {
		a, err := f.l.CreateRun(f.ctx, campaign.Run{Campaign: "spring", ListHash: "aa"})
		f.ok(err)
		b, err := f.l.CreateRun(f.ctx, campaign.Run{Campaign: "spring", ListHash: "aa", ListName: "another name"})
		if !errors.Is(err, campaign.ErrRunExists) || b.No != a.No {
			f.Errorf("second run of the same list: %d, %v; want ErrRunExists, No %+v", b.No, err, a.No)
		}
		c, err := f.l.CreateRun(f.ctx, campaign.Run{Campaign: "spring", ListHash: "aa", Launch: "again"})
		f.ok(err)
		if c.No == a.No {
			f.Error("another launch is another run")
		}
	}},
	{"RunsAreListedNewestFirst", func(f *fixture) {
		if rs, err := f.l.Runs(f.ctx, campaign.RunFilter{Limit: 1}); len(rs) > 0 || err != nil {
			f.Errorf("runs of an empty ledger: %+v, %v; want none, no error", rs, err)
		}
		f.create()
		f.create()
		rs, err := f.l.Runs(f.ctx, campaign.RunFilter{})
		f.ok(err)
		if len(rs) != 2 || rs[0].No != 2 || rs[1].No != 1 {
			f.Errorf("runs: %+v; want length 2, No 2, No 1", rs)
		}
	}},
	{"OnlyTheRunsThatAreAskedForAreListed", func(f *fixture) {
		for _, r := range []campaign.Run{
			{Campaign: "spring", ListHash: "aa"},                                       // 1
			{Campaign: "spring", ListHash: "bb", Launch: campaign.FiringKey + "09:00"}, // 2
			{Campaign: "summer", ListHash: "bb", Launch: campaign.FiringKey + "09:00"}, // 3
			{Campaign: "spring", ListHash: "bb", Launch: campaign.FiringKey + "10:00"}, // 4
			{Campaign: "spring", ListHash: "aa", Launch: "again"},                      // 5
			{Campaign: "winter", ListHash: "cc"},                                       // 6
			{Campaign: "winter", ListHash: "dd"},                                       // 7
			{Campaign: "winter", ListHash: "ee"},                                       // 8
			{Campaign: "winter", ListHash: "ff"},                                       // 9
		} {
			f.done(f.l.CreateRun(f.ctx, r))
		}
		for no, s := range map[campaign.RunNo]campaign.State{
			1: campaign.Finished, 4: campaign.Cancelled, 5: campaign.RunStateFailed, 6: campaign.WaitingApproval, 7: campaign.Ready,
			8: campaign.Running, 9: campaign.Paused,
		} {
			if moved, err := f.l.SetState(f.ctx, no, []campaign.State{campaign.Importing}, s, "", ""); err != nil || !moved {
				f.Fatalf("got %+v, %+v, %v; want no error, moved", no, moved, err)
			}
		}
		for _, tt := range []struct {
			which campaign.RunFilter
			want  []campaign.RunNo
		}{
			{campaign.RunFilter{}, []campaign.RunNo{9, 8, 7, 6, 5, 4, 3, 2, 1}},
			{campaign.RunFilter{Unfinished: true}, []campaign.RunNo{9, 8, 7, 6, 3, 2}},
			{campaign.RunFilter{Unfinished: true, Limit: 1}, []campaign.RunNo{9}},
			{campaign.RunFilter{Limit: 3}, []campaign.RunNo{9, 8, 7}},
			{campaign.RunFilter{Campaign: "spring"}, []campaign.RunNo{5, 4, 2, 1}},
			{campaign.RunFilter{Campaign: "spring", ListHash: "aa"}, []campaign.RunNo{5, 1}},
			{campaign.RunFilter{Campaign: "spring", ListHash: "aa", Limit: 1}, []campaign.RunNo{5}},
			{campaign.RunFilter{Campaign: "spring", Launch: "again", Limit: 1}, []campaign.RunNo{5}},
			{campaign.RunFilter{Campaign: "spring", Fired: true}, []campaign.RunNo{4, 2}},
			{campaign.RunFilter{Campaign: "spring", Fired: true, Limit: 1}, []campaign.RunNo{4}},
			{campaign.RunFilter{Launch: campaign.FiringKey + "09:00", Unfinished: true}, []campaign.RunNo{3, 2}},
			{campaign.RunFilter{Campaign: "autumn"}, nil},
			{campaign.RunFilter{Campaign: "spring' OR 1=1 --"}, nil},
		} {
			runs, err := f.l.Runs(f.ctx, tt.which)
			f.ok(err)
			var got []campaign.RunNo
			for _, r := range runs {
				got = append(got, r.No)
			}
			if !slices.Equal(got, tt.want) {
				f.Errorf("%+v: runs %v, want %v", tt.which, got, tt.want)
			}
		}
	}},
	{"NobodyFindsARunThatIsNotThere", func(f *fixture) {
		_, err := f.l.Run(f.ctx, 9)
		_, err2 := f.l.SetWanted(f.ctx, 9, campaign.WantPause, "")
		_, err3 := f.l.SetState(f.ctx, 9, []campaign.State{campaign.Ready}, campaign.Running, "", "")
		_, _, err4 := f.l.Tallies(f.ctx, 9)
		_, _, err5 := f.l.Audit(f.ctx, 9, 1)
		_, err6 := f.l.LastEventAt(f.ctx, 9)
		for i, err := range []error{err, err2, err3, f.l.SetAssets(f.ctx, 9, nil), f.l.MakeMarketing(f.ctx, 9),
			f.l.AppendRows(f.ctx, 9, 0, nil, nil), f.l.FinishImport(f.ctx, 9, 0, campaign.Ready), err4, err5, err6} {
			if !errors.Is(err, campaign.ErrNoRun) {
				f.Errorf("call %d: %v, want ErrNoRun", i, err)
			}
		}
		for _, err := range f.l.Lines(f.ctx, 9) {
			if !errors.Is(err, campaign.ErrNoRun) {
				f.Errorf("lines: %v, want ErrNoRun", err)
			}
		}
	}},
	{"WantRunMakesAPausedRunReady", func(f *fixture) {
		r := f.imported(1)
		if ok, err := f.l.SetState(f.ctx, r.No, []campaign.State{campaign.Ready}, campaign.Paused, campaign.PausedByBreaker,
			"again and again"); !ok || err != nil {
			f.Fatalf("got %+v, %v; want ok, no error", ok, err)
		}
		if got := f.run(r.No); got.State != campaign.Paused || got.Reason != campaign.PausedByBreaker || got.Detail != "again and again" {
			f.Errorf(`paused run: %+v; want State Paused, Reason PausedByBreaker, Detail "again and again"`, got)
		}
		got, err := f.l.SetWanted(f.ctx, r.No, campaign.WantRun, "")
		f.ok(err)
		if got.State != campaign.Ready || got.Reason != "" || got.Detail != "" || got.Wanted != campaign.WantRun {
			f.Errorf(`resumed run: %+v; want State Ready, Reason "", Detail "", Wanted WantRun`, got)
		}
	}},
	{"WantPauseLeavesTheStateToTheSender", func(f *fixture) {
		r := f.imported(1)
		got, err := f.l.SetWanted(f.ctx, r.No, campaign.WantPause, "")
		f.ok(err)
		if got.State != campaign.Ready || got.Wanted != campaign.WantPause {
			f.Errorf("got %+v; want State Ready, Wanted WantPause", got)
		}
	}},
	{"AResumeBeforeTheSenderPausesWins", func(f *fixture) {
		r := f.imported(1)
		_, err := f.l.SetWanted(f.ctx, r.No, campaign.WantPause, "") // the sender reads it
		f.ok(err)
		f.done(f.l.SetWanted(f.ctx, r.No, campaign.WantRun, ""))
		pause := func() bool {
			moved, err := f.l.SetState(f.ctx, r.No, []campaign.State{campaign.Ready}, campaign.Paused, campaign.PausedByOperator, "")
			f.ok(err)
			return moved
		}
		if moved, got := pause(), f.run(r.No); moved || got.State != campaign.Ready {
			f.Errorf("resumed, then paused by the sender: got moved %v, %s, want false, ready", moved, got.State)
		}
		f.done(f.l.SetWanted(f.ctx, r.No, campaign.WantPause, ""))
		if moved, got := pause(), f.run(r.No); !moved || got.State != campaign.Paused {
			f.Errorf("paused by the sender: got moved %v, %s, want true, paused", moved, got.State)
		}
	}},
	{"SetStateMovesOnlyFromTheNamedStates", func(f *fixture) {
		r := f.imported(1)
		ok, err := f.l.SetState(f.ctx, r.No, []campaign.State{campaign.Running, campaign.Paused}, campaign.Finished, "", "")
		f.ok(err)
		if ok || f.run(r.No).State != campaign.Ready {
			f.Error("moved from a state that was not named")
		}
		ok, err = f.l.SetState(f.ctx, r.No, []campaign.State{campaign.Running, campaign.Ready}, campaign.Running, "", "")
		f.ok(err)
		if got := f.run(r.No); !ok || got.State != campaign.Running || got.StartedAt.IsZero() || !got.EndedAt.IsZero() {
			f.Errorf("moved %v: %+v; want ok, State Running, StartedAt set, EndedAt zero", ok, got)
		}
		ok, err = f.l.SetState(f.ctx, r.No, []campaign.State{campaign.Running}, campaign.RunStateFailed, "", "why")
		f.ok(err)
		if got := f.run(r.No); !ok || got.EndedAt.IsZero() || got.Detail != "why" {
			f.Errorf(`ended run: %+v; want ok, EndedAt set, Detail "why"`, got)
		}
	}},
	{"AnEndedRunIsNotWantedBack", func(f *fixture) {
		r := f.imported(1)
		f.done(f.l.SetState(f.ctx, r.No, []campaign.State{campaign.Ready}, campaign.Cancelled, "", ""))
		got, err := f.l.SetWanted(f.ctx, r.No, campaign.WantPause, "")
		f.ok(err)
		if got.State != campaign.Cancelled || got.Wanted != campaign.WantRun {
			f.Errorf("got %+v; want State Cancelled, Wanted WantRun", got)
		}
	}},
	{"EachConnectionHasItsAsset", func(f *fixture) {
		r := f.imported(1)
		if all, err := f.l.Assets(f.ctx, r.No); err != nil || len(all) != 0 {
			f.Errorf("at first: %+v, %v; want none", all, err)
		}
		one := campaign.Asset{Connection: "conn_1", ID: "ast_1", Until: at(60), File: "/a.png", SHA256: "aa"}
		two := campaign.Asset{Connection: "conn_2", ID: "ast_2", Until: at(50), File: "/a.png", SHA256: "aa"}
		f.ok(f.l.SetAssets(f.ctx, r.No, []campaign.Asset{two, one}))
		f.ok(f.l.SetAssets(f.ctx, f.imported(1).No, []campaign.Asset{{ID: "other", Until: at(1)}}))
		check := func(until time.Time, want ...campaign.Asset) {
			f.Helper()
			all, err := f.l.Assets(f.ctx, r.No)
			f.ok(err)
			if d := cmp.Diff(want, all); d != "" {
				f.Errorf("-want +got:\n%s", d)
			}
			if got := f.run(r.No); got.Asset != "ast_1" || !got.AssetUntil.Equal(until) {
				f.Errorf(`got %+v; want Asset "ast_1", AssetUntil %+v`, got, until)
			}
		}
		check(at(50), one, two)
		two.ID, two.Until = "ast_3", at(70)
		f.ok(f.l.SetAssets(f.ctx, r.No, []campaign.Asset{two}))
		check(at(60), one, two)
	}},
	{"FinishRunsEndsWhatIsDone", func(f *fixture) {
		empty := f.imported(0)
		open := f.imported(1)
		rs, err := f.l.FinishRuns(f.ctx)
		f.ok(err)
		if len(rs) != 1 || rs[0].No != empty.No || rs[0].State != campaign.Finished || rs[0].EndedAt.IsZero() {
			f.Errorf("finished %+v; want length 1, No %+v, State Finished, EndedAt set", rs, empty.No)
		}
		l := f.lease(open.No, long)
		f.sent(l, 0, 1)
		f.record(acceptance(l, 0))
		p, err := f.l.Park(f.ctx, l, time.Time{}, After(time.Minute))
		f.ok(err)
		rs, err = f.l.FinishRuns(f.ctx)
		f.ok(err)
		if !p.Done || len(rs) != 1 || rs[0].No != open.No {
			f.Errorf("parked %+v, finished %+v; want Done, length 1, No %+v", p, rs, open.No)
		}
		if rs, err = f.l.FinishRuns(f.ctx); err != nil || len(rs) != 0 {
			f.Errorf("finished twice: %v %v; want no error, length 0", rs, err)
		}
	}},
	{"ACancelledRunIsClaimedDroppedAndEndsCancelled", func(f *fixture) {
		r, l := f.begun(3, 2)
		f.record(acceptance(l, 0), deferral(l, 1, time.Now().Add(time.Hour)))
		f.done(f.l.Park(f.ctx, l, time.Now().Add(time.Hour), After(time.Minute)))
		f.done(f.l.SetState(f.ctx, r.No, []campaign.State{campaign.Running}, campaign.Paused, campaign.PausedByCanary, ""))
		got, err := f.l.SetWanted(f.ctx, r.No, campaign.WantCancel, "")
		f.ok(err)
		if got.State != campaign.Ready || got.Wanted != campaign.WantCancel {
			f.Errorf("a paused run that is cancelled: %+v; want State Ready, Wanted WantCancel", got)
		}
		l = f.claimCancelled(false, r.No)[0] // although the segment was parked for an hour
		if g := f.intend(intent(l, 2, 3)); !g.Denied {
			f.Errorf("intent of a cancelled run: %+v; want Denied", g)
		}
		n, err := f.l.SkipQueued(f.ctx, l, campaign.RunCancelled)
		f.ok(err)
		p, err := f.l.Park(f.ctx, l, time.Time{}, After(time.Minute))
		f.ok(err)
		rs, err := f.l.FinishRuns(f.ctx)
		f.ok(err)
		if n != 2 || !p.Done || len(rs) != 1 || rs[0].State != campaign.Cancelled {
			f.Errorf("skipped %d, parked %+v, ended %+v; want 2, Done, length 1, State Cancelled", n, p, rs)
		}
		f.status(r.No, 0, campaign.Accepted)
		f.status(r.No, 1, campaign.Skipped)
		if line := f.status(r.No, 2, campaign.Skipped); line.Reason != string(campaign.RunCancelled) || line.Skip != campaign.RunCancelled {
			f.Errorf("got %+v; want Reason %+v, Skip RunCancelled", line, string(campaign.RunCancelled))
		}
		f.sound(r.No)
	}},
}
