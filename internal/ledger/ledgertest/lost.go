package ledgertest

import (
	"fmt"
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/reception"
)

// Results, events and the taking of webhooks are recorded in a promoted standby too. They do not
// tell when the lost time began.
func theLostTimeBeginsAtAReportOfASender(t *testing.T, l Tables) {
	newest := func() time.Time {
		t.Helper()
		at, err := l.Newest(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return at
	}
	r := Load(t, l, 3)
	if got := newest(); !got.IsZero() {
		t.Errorf("the newest record before any claim: got %v, want none", got)
	}
	lease := ClaimAll(t, l, r.No)[0]
	mustIntend(t, l, campaign.Intent{Lease: lease, Connection: "conn_1", To: 2})
	alter(t, l, fmt.Sprintf(`UPDATE segment SET intents_since = %d`, at(1).UnixMilli()))
	if got := newest(); !got.Equal(at(1)) {
		t.Errorf("the newest record of a ledger of before the column: got %v, want that of the claim, %v", got, at(1))
	}
	report := func() {
		t.Helper()
		if err := l.ReportLanes(t.Context(), "test", []campaign.LaneReport{{Run: r.No, Connection: "conn_1", At: at(900)}}); err != nil {
			t.Fatal(err)
		}
	}
	began := time.Now().Add(-time.Second)
	report()
	if got := newest(); got.Before(began) || got.After(time.Now().Add(time.Second)) {
		t.Errorf("the newest record after a report: got %v, want now, %v", got, time.Now())
	}
	fresh := time.Now().Add(-reception.ListenEvery / 2).Truncate(time.Millisecond)
	alter(t, l, fmt.Sprintf(`UPDATE ledger SET alive_at = %d`, fresh.UnixMilli()))
	report()
	if got := newest(); !got.Equal(fresh) {
		t.Errorf("the newest record after a report that is not due: got %v, want %v", got, fresh)
	}
	mustRecord(t, l, Acceptances(lease, 0, 2))
	if _, err := l.Apply(t.Context(), campaign.Events{Statuses: []campaign.StatusEvent{{MessageID: MessageID(r.No, 1),
		Connection: "conn_1", Recipient: key(1), Status: campaign.Read, At: time.Now(), ReceivedAt: time.Now()}}}); err != nil {
		t.Fatal(err)
	}
	if err := l.Listen(t.Context(), reception.Span{Since: began, Until: time.Now()}); err != nil {
		t.Fatal(err)
	}
	if got := newest(); !got.Equal(fresh) {
		t.Errorf("the newest record after results and events: got %v, want %v", got, fresh)
	}
}

func aReplayCountsForTheLostTimeThatItCovers(t *testing.T, l Tables) {
	lost := func(when string, want ...reception.LostTime) {
		t.Helper()
		got, err := l.LostTimes(t.Context())
		if err != nil || len(got) != len(want) {
			t.Fatalf("%s: got the lost times %+v and %v, want %+v", when, got, err, want)
		}
		for i, w := range want {
			if g := got[i]; !g.Since.Equal(w.Since) || !g.Asked.Equal(w.Asked) || time.Since(g.At) > time.Minute || time.Since(g.At) < 0 {
				t.Errorf("%s: got the lost time %+v, want %+v of now", when, g, w)
			}
		}
	}
	lost("at first")
	if _, err := l.Rehearse(t.Context(), 5, nil, at(10)); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Quarantine(t.Context(), 0, nil, time.Time{}); err != nil {
		t.Fatal(err)
	}
	lost("after a rehearsal and a quarantine of nothing")
	if _, err := l.Quarantine(t.Context(), 5, nil, at(10)); err != nil {
		t.Fatal(err)
	}
	lost("after a quarantine", reception.LostTime{Since: at(10)})
	later := time.Now().Add(time.Minute)
	for _, tt := range []struct {
		name         string
		since, until time.Time
		asked, want  time.Time
	}{
		{"it begins too late", at(11), later, at(20), time.Time{}},
		{"it ends too early", at(10), at(900), at(21), time.Time{}},
		{"it covers the lost time", at(10), later, at(22), at(22)},
		{"it is asked for again", at(5), later, at(24), at(24)},
		{"an earlier request comes late", at(5), later, at(23), at(24)},
	} {
		if err := l.NoteReplay(t.Context(), reception.Span{Since: tt.since, Until: tt.until}, tt.asked, 0); err != nil {
			t.Fatalf("%s: %v; want no error", tt.name, err)
		}
		lost(tt.name, reception.LostTime{Since: at(10), Asked: tt.want})
	}

	// What came before a replay is asked for is not counted for it, and a second one adds to it.
	quarantined, err := l.LostTimes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	count := func(n int64) func() error {
		return func() error { return l.CountReplayed(t.Context(), quarantined[0].At, n) }
	}
	note := func(since, asked time.Time, n int64) func() error {
		return func() error { return l.NoteReplay(t.Context(), reception.Span{Since: since, Until: later}, asked, n) }
	}
	for _, step := range []struct {
		name             string
		do               func() error
		deliveries, came int64
	}{
		{"two came by themselves", count(2), 0, 2},
		{"a replay of a part", note(at(11), at(30), 50), 0, 2},
		{"a replay will be asked for", note(at(10), time.Time{}, 0), 2, 2},
		{"it was", note(at(10), at(31), 5), 7, 2},
		{"four came", count(4), 7, 6},
		{"another will be", note(at(10), time.Time{}, 0), 7, 6},
		{"and was", note(at(10), at(32), 5), 12, 6},
		{"the rest came, and one twice", count(7), 12, 13},
		{"of another quarantine", func() error { return l.CountReplayed(t.Context(), at(1), 9) }, 12, 13},
	} {
		if err := step.do(); err != nil {
			t.Fatalf("%s: %v; want no error", step.name, err)
		}
		got, err := l.LostTimes(t.Context())
		if err != nil || len(got) != 1 || got[0].Deliveries != step.deliveries || got[0].Came != step.came {
			t.Errorf("%s: got %+v and %v, want %d deliveries and %d that came", step.name, got, err, step.deliveries, step.came)
		}
	}
}
