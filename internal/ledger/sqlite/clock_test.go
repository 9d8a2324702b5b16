package sqlite

import (
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/internal/ledger"
)

// With a clock that was set back, the events of now and the lifts in the ledger are ahead of it.
func TestAClockThatWasSetBackLosesNoStop(t *testing.T) {
	t.Parallel()
	l := openTest(t, ledger.Options{})
	now := time.Now().UTC()
	connection := func(n int64) string { return "conn_" + string(rune('a'+n)) }
	for n, c := range []struct {
		lifted, stopped time.Duration // after this machine's clock
		untimed         bool
		want            int
	}{
		{lifted: -10 * time.Minute, stopped: 330 * time.Second, want: 1},
		{lifted: 320 * time.Second, stopped: 330 * time.Second, want: 1},
		{lifted: 50 * time.Minute, stopped: time.Hour, want: 1},
		{lifted: 50 * time.Minute, stopped: 49 * time.Minute}, // delivered late
		{lifted: 50 * time.Minute, stopped: -time.Minute},
		{lifted: 50 * time.Minute, untimed: true, want: 1},
	} {
		key, at := int64(n+1), now.Add(c.lifted)
		stop := campaign.Suppression{Key: key, Scope: campaign.ScopeMarketing, Source: "stop", At: now.Add(c.stopped)}
		hold := campaign.Hold{Scope: campaign.HoldConnection, ID: connection(key), Reason: "DISCONNECTED", Source: campaign.HoldByEvent,
			Since: stop.At}
		if c.untimed {
			stop.At, hold.Since = time.Time{}, time.Time{}
		}
		for _, e := range []campaign.Events{
			{Lifted: []campaign.Suppression{{Key: key, At: at, ReceivedAt: at}},
				Lifts: []campaign.Lift{{Scope: hold.Scope, ID: hold.ID, At: at, ReceivedAt: at, By: campaign.HoldByEvent}}},
			{Suppressions: []campaign.Suppression{stop}, Holds: []campaign.Hold{hold}},
		} {
			if _, err := l.Apply(t.Context(), e); err != nil {
				t.Fatalf("apply: got %v, want no error", err)
			}
		}
		stops, err := l.SuppressionsOf(t.Context(), key)
		if err != nil || len(stops) != c.want {
			t.Errorf("%+v: got %d suppressions, %v; want %d", c, len(stops), err, c.want)
		}
		holds, err := l.Holds(t.Context(), false)
		held := 0
		for _, h := range holds {
			if h.ID == hold.ID {
				held++
			}
		}
		if err != nil || held != c.want {
			t.Errorf("%+v: got %d holds, %v; want %d", c, held, err, c.want)
		}
	}
}

// The clock of the ledger is not before the newest time that a sender wrote.
func TestTheClockOfALedgerIsNeverSetBack(t *testing.T) {
	t.Parallel()
	l := openTest(t, ledger.Options{})
	ahead := time.Now().Add(time.Hour).UTC().Truncate(time.Millisecond)
	if err := l.write(t.Context(), results, func(t *tx) error {
		_, err := t.exec(`UPDATE ledger SET alive_at = ?`, ledger.Millis(ahead))
		return err
	}); err != nil {
		t.Fatalf("set the newest time: got %v, want no error", err)
	}
	if at, err := l.Clock(t.Context()); err != nil || !at.Equal(ahead) || !l.clock().Equal(ahead) {
		t.Errorf("got the clock %s, %v, and %s for events; want %s", at, err, l.clock(), ahead)
	}
}

// A clock that is wrong leaves no time to come in the ledger.
func TestAWrongClockIsNotTheNewestTime(t *testing.T) {
	t.Parallel()
	l := openTest(t, ledger.Options{})
	for _, right := range []bool{false, true} {
		l.Trust(func() bool { return right })
		if err := l.ReportLanes(t.Context(), "a", nil); err != nil {
			t.Fatalf("report: got %v, want no error", err)
		}
		if got := l.aliveAt.Load() != 0; got != right {
			t.Errorf("a clock that is right: %v: the ledger has its time %v, want %v", right, got, right)
		}
	}
}
