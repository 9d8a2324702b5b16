package ledgertest

import (
	"fmt"
	"time"

	"campaignd/campaign"

	"github.com/google/go-cmp/cmp"
)

// spelled returns the two keys under which versions stored the n-th person: what another version
// wrote, and what this one writes, or the other way round. There are six of them, two of each
// country whose numbers earlier versions stored as they came (recipients.Other).
func spelled(n int64) (one, other int64) {
	short := []int64{541123456700, 22997123400, 22507123400}[n/2%3] + n
	long := short + []int64{4_950_000_000_000, 2_267_200_000_000, 2_228_200_000_000}[n/2%3]
	if n%2 == 0 {
		return short, long
	}
	return long, short
}

const spelledPeople = 6

// spelledRun makes a run of the six people, whose deliveries have the first key of each, leases its
// segment, and returns the keys.
func (f *fixture) spelledRun() (r campaign.Run, l campaign.Lease, keys []int64) {
	f.Helper()
	r = f.create()
	rows := deliveries(0, spelledPeople)
	for seq := range rows {
		rows[seq].Key, _ = spelled(int64(seq))
		rows[seq].To = fmt.Sprintf("+%d", rows[seq].Key)
		keys = append(keys, rows[seq].Key)
	}
	f.ok(f.l.AppendRows(f.ctx, r.No, 0, rows, []campaign.Segment{{Run: r.No, Hi: spelledPeople}}))
	f.ok(f.l.FinishImport(f.ctx, r.No, spelledPeople, campaign.Ready))
	return r, f.lease(r.No, long), keys
}

// otherwise are the suppressions of the six people under their second keys.
func otherwise(second int) (all []campaign.Suppression) {
	for n := range int64(spelledPeople) {
		_, other := spelled(n)
		all = append(all, campaign.Suppression{Key: other, To: fmt.Sprintf("+%d", other), Scope: campaign.ScopeMarketing, Source: "stop",
			At: at(second)})
	}
	return all
}

func allSkipped(why campaign.SkipReason) map[int64]campaign.SkipReason {
	want := map[int64]campaign.SkipReason{}
	for n := range int64(spelledPeople) {
		want[n] = why
	}
	return want
}

var spellingPromises = []promise{
	{"AStopUnderEitherSpellingIsObeyed", func(f *fixture) {
		for _, keyed := range []bool{true, false} {
			for _, retried := range []bool{false, true} {
				_, l, keys := f.spelledRun()
				in := campaign.Intent{Lease: l, Connection: "conn_1", To: spelledPeople, Keys: keys}
				want := campaign.Granted{To: spelledPeople, Skipped: allSkipped(campaign.OptedOut)}
				if retried {
					f.intend(in)
					in.From = spelledPeople
					for seq := range int64(spelledPeople) {
						f.record(deferral(l, seq, at(0)))
						in.Retries = append(in.Retries, retry(l, spelledPeople, seq, 2).Retries...)
					}
				}
				if !keyed {
					in.Keys = nil
				}
				f.done(f.l.Suppress(f.ctx, otherwise(5)))
				if d := cmp.Diff(want, f.intend(in)); d != "" {
					f.Errorf("with keys %v, retried %v (-want +got):\n%s", keyed, retried, d)
				}
				f.done(f.l.Unsuppress(f.ctx, f.suppressed()))
			}
		}
	}},
	{"ACheckKnowsAStopUnderEitherSpelling", func(f *fixture) {
		f.done(f.l.Suppress(f.ctx, otherwise(5)))
		for n := range int64(spelledPeople) {
			one, other := spelled(n)
			found, err := f.l.SuppressedKeys(f.ctx, []int64{one, key(1)}, true, nil, at(9))
			f.ok(err)
			if found[one] != campaign.OptedOut || found[key(1)] != "" {
				f.Errorf("%d is stopped as %d: got %v, want opted_out for it alone", one, other, found)
			}
			all, err := f.l.SuppressionsOf(f.ctx, one)
			f.ok(err)
			if len(all) != 1 || all[0].Key != one || all[0].To != fmt.Sprintf("+%d", other) {
				f.Errorf("suppressions of %d: %+v; want that of +%d", one, all, other)
			}
		}
	}},
	{"AResumeLiftsAStopOfEitherSpelling", func(f *fixture) {
		f.done(f.l.Suppress(f.ctx, otherwise(5)))
		var lifted, again []campaign.Suppression
		for n := range int64(spelledPeople) {
			one, other := spelled(n)
			lifted = append(lifted, campaign.Suppression{Key: one, Scope: campaign.ScopeMarketing, At: at(9)})
			again = append(again, campaign.Suppression{Key: other, Scope: campaign.ScopeMarketing, Source: "stop", At: at(5)})
		}
		f.done(f.l.Apply(f.ctx, campaign.Events{Lifted: lifted}))
		if all := f.suppressed(); len(all) != 0 {
			f.Errorf("after a resume: %+v; want none", all)
		}
		f.done(f.l.Apply(f.ctx, campaign.Events{Suppressions: again})) // the old opt-outs are delivered again
		if all := f.suppressed(); len(all) != 0 {
			f.Errorf("after an older stop: %+v; want none", all)
		}
	}},
	{"AnOperatorLiftsBothSpellings", func(f *fixture) {
		f.done(f.l.Suppress(f.ctx, otherwise(5)))
		for n := range int64(spelledPeople) {
			one, _ := spelled(n)
			removed, err := f.l.Unsuppress(f.ctx, []campaign.Suppression{{Key: one, Scope: campaign.ScopeMarketing}})
			if err != nil || removed != 1 {
				f.Errorf("%d off the list: %d, %v; want 1 removed", one, removed, err)
			}
		}
	}},
	{"AMoveTakesStopsOfBothSpellingsAlong", func(f *fixture) {
		f.done(f.l.Suppress(f.ctx, otherwise(5)))
		var moves []campaign.Move
		for n := range int64(spelledPeople) {
			one, _ := spelled(n)
			moves = append(moves, campaign.Move{From: one, To: key(n), FromPhone: fmt.Sprintf("+%d", one),
				ToPhone: fmt.Sprintf("+%d", key(n)), At: at(9)})
		}
		f.done(f.l.Apply(f.ctx, campaign.Events{Moved: moves}))
		for n := range int64(spelledPeople) {
			if all, err := f.l.SuppressionsOf(f.ctx, key(n)); err != nil || len(all) != 1 {
				f.Errorf("the number that %d moved to: %+v, %v; want its opt-out", moves[n].From, all, err)
			}
		}
	}},
	{"ADoubtIsProvenUnderEitherSpelling", func(f *fixture) {
		r, l, keys := f.spelledRun()
		f.intend(campaign.Intent{Lease: l, Connection: "conn_1", To: spelledPeople, Keys: keys})
		for seq := range int64(spelledPeople) {
			f.record(doubtful(l, seq))
			_, other := spelled(seq)
			f.apply(event(fmt.Sprint("wamid.", seq), other, campaign.Delivered, at(2)))
		}
		f.swept(campaign.Swept{Adopted: spelledPeople})
		for seq := range int64(spelledPeople) {
			f.status(r.No, seq, campaign.Delivered)
		}
	}},
	{"WhatIsInFlightUnderAnotherSpellingIsAwaited", func(f *fixture) {
		a, la, keys := f.spelledRun()
		f.intend(campaign.Intent{Lease: la, Connection: "conn_1", To: spelledPeople, Keys: keys})
		b := f.create()
		rows := deliveries(0, spelledPeople)
		for seq := range rows {
			_, rows[seq].Key = spelled(int64(seq))
			rows[seq].To = fmt.Sprintf("+%d", rows[seq].Key)
		}
		f.ok(f.l.AppendRows(f.ctx, b.No, 0, rows, []campaign.Segment{{Run: b.No, Hi: spelledPeople}}))
		f.ok(f.l.FinishImport(f.ctx, b.No, spelledPeople, campaign.Ready))
		lb := f.lease(b.No, long)
		f.intend(campaign.Intent{Lease: lb, Connection: "conn_1", To: spelledPeople})
		now := time.Now()
		for seq := range int64(spelledPeople) {
			d := doubtful(la, seq)
			d.IntentAt, d.At = now, now
			f.record(d)
			one, _ := spelled(seq)
			f.apply(event(fmt.Sprint("wamid.", seq), one, campaign.Sent, now))
		}
		f.sweptAt(now, campaign.Swept{Left: spelledPeople})
		f.status(a.No, 0, campaign.InDoubt)
	}},
	{"AnErasureIsOfBothSpellings", func(f *fixture) {
		r, _, keys := f.spelledRun()
		f.done(f.l.Suppress(f.ctx, otherwise(5)))
		for n := range int64(spelledPeople) {
			_, other := spelled(n)
			if got, err := f.l.Erase(f.ctx, other); err != nil || got != (campaign.Erased{Rows: 1}) {
				f.Errorf("erased %d: %+v, %v; want its row", other, got, err)
			}
			if l := f.lines(r.No)[n]; l.Key >= 0 || l.To != campaign.ErasedNumber {
				f.Errorf("the row of %d: %+v; want %q", keys[n], l, campaign.ErasedNumber)
			}
		}
		if all := f.suppressed(); len(all) != 0 {
			f.Errorf("the list shows %+v; want nothing", all)
		}
		again, l, keys := f.spelledRun() // a later list
		if line := f.lines(again.No)[0]; line.Key >= 0 {
			f.Errorf("a later list has %+v; want no number", line)
		}
		g := f.intend(campaign.Intent{Lease: l, Connection: "conn_1", To: spelledPeople, Keys: keys})
		if d := cmp.Diff(allSkipped(campaign.Suppressed), g.Skipped); d != "" {
			f.Errorf("skipped of a later list (-want +got):\n%s", d)
		}
	}},
	{"ACapCountsBothSpellings", func(f *fixture) {
		_, l, keys := f.spelledRun()
		in := capped(l, 0, spelledPeople, "")
		in.Keys = keys
		f.grants(in, spelledPeople, "")
		r := f.create()
		rows := deliveries(0, spelledPeople)
		var others []int64
		for seq := range rows {
			_, rows[seq].Key = spelled(int64(seq))
			rows[seq].To = fmt.Sprintf("+%d", rows[seq].Key)
			others = append(others, rows[seq].Key)
		}
		limit := campaign.FrequencyLimit{Messages: 1, Per: campaign.Duration(24 * time.Hour)}
		got, err := f.l.CappedKeys(f.ctx, others, limit, time.Now())
		f.ok(err)
		for _, key := range others {
			if !got[key] {
				f.Errorf("a check does not stop %d: got %v", key, got)
			}
		}
		f.ok(f.l.AppendRows(f.ctx, r.No, 0, rows, []campaign.Segment{{Run: r.No, Hi: spelledPeople}}))
		f.ok(f.l.FinishImport(f.ctx, r.No, spelledPeople, campaign.Ready))
		in = capped(f.lease(r.No, long), 0, spelledPeople, "")
		in.Keys = others
		g := f.grants(in, spelledPeople, "")
		if d := cmp.Diff(allSkipped(campaign.FrequencyCap), g.Skipped); d != "" {
			f.Errorf("skipped (-want +got):\n%s", d)
		}
	}},
	{"ARowIsFoundByEitherSpelling", func(f *fixture) {
		r, _, _ := f.spelledRun()
		for n := range int64(spelledPeople) {
			_, other := spelled(n)
			lines, _, err := f.l.SelectLines(f.ctx, r.No, campaign.LineFilter{Key: other}, 0, 9)
			f.ok(err)
			if len(lines) != 1 || lines[0].Seq != n {
				f.Errorf("rows of %d: %+v; want that of seq %d", other, lines, n)
			}
		}
	}},
	{"TheLastSenderIsKnownUnderEitherSpelling", func(f *fixture) {
		_, l, keys := f.spelledRun()
		f.intend(campaign.Intent{Lease: l, Connection: "conn_1", To: spelledPeople, Keys: keys})
		for seq := range int64(spelledPeople) {
			f.record(acceptance(l, seq))
		}
		f.ok(f.l.FoldSenders(f.ctx))
		for n := range int64(spelledPeople) {
			_, other := spelled(n)
			got, err := f.l.LastSenders(f.ctx, []int64{other}, []string{"conn_1"})
			f.ok(err)
			if got[other] != "conn_1" {
				f.Errorf("last senders of %d: %v; want conn_1", other, got)
			}
		}
	}},
}
