package sender

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"campaignd/campaign"
)

// runsLedger is a ledger of runs that notes the states and the times that it is asked for.
type runsLedger struct {
	stubLedger
	runs    []campaign.Run // newest first
	which   campaign.RunFilter
	states  []string
	moves   bool
	err     error                       // of SetState
	skipped []campaign.RunNo            // the runs of claims for those to be cancelled
	reads   func(context.Context) error // of Runs; nil: it answers

	mu    sync.Mutex
	began time.Time
	asked map[string][]time.Duration // by method, since began
}

func (l *runsLedger) note(method string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.asked != nil {
		l.asked[method] = append(l.asked[method], time.Since(l.began))
	}
}

func (l *runsLedger) Runs(ctx context.Context, w campaign.RunFilter) ([]campaign.Run, error) {
	l.note("Runs")
	l.which = w
	if l.reads != nil {
		return nil, l.reads(ctx)
	}
	return slices.Clone(l.runs), nil
}

func (l *runsLedger) Claim(_ context.Context, c campaign.Claim) ([]campaign.Lease, error) {
	if c.Cancelled {
		l.skipped = append(l.skipped, c.Runs...)
	}
	return nil, nil
}

func (l *runsLedger) FinishRuns(context.Context) ([]campaign.Run, error) {
	l.note("FinishRuns")
	return nil, nil
}

func (l *runsLedger) ReportLanes(context.Context, string, []campaign.LaneReport) error {
	l.note("ReportLanes")
	return nil
}

func (l *runsLedger) SetState(_ context.Context, no campaign.RunNo, from []campaign.State, to campaign.State, why campaign.PauseReason,
	detail string) (bool, error) {
	l.states = append(l.states, fmt.Sprintf("%d %v %s %s %q", no, from, to, why, detail))
	return l.moves, l.err
}

const sale = `
name: sale
connections: [conn_1, conn_2]
template: {name: sale, language: en_US}
recipients: {file: list.csv}
`

// engineOf is an engine over a ledger of runs.
func engineOf(t *testing.T, l *runsLedger, o Options) (*Engine, *bytes.Buffer) {
	t.Helper()
	var log bytes.Buffer
	o.Owner, o.Log = "a", slog.New(slog.NewTextHandler(&log, nil))
	e, err := New(l, nil, nil, o)
	if err != nil {
		t.Fatal(err)
	}
	return e, &log
}

// The engine writes the operator's wish into the run's state only while the state differs from it.
func TestARunMovesToWhatItsOperatorWants(t *testing.T) {
	pause := `1 [ready running] paused operator "paused by the operator"`
	cancel := `1 [importing waiting_approval paused] ready  ""`
	for _, tt := range []struct {
		state  campaign.State
		wanted campaign.Wanted
		moves  bool
		want   string
		active bool
		skips  bool
	}{
		{campaign.Importing, campaign.WantPause, true, "", false, false},
		{campaign.Importing, campaign.WantCancel, true, cancel, false, true},
		{campaign.WaitingApproval, campaign.WantRun, true, "", false, false},
		{campaign.Ready, campaign.WantRun, true, "", true, false},
		{campaign.Running, campaign.WantRun, true, "", true, false},
		{campaign.Paused, campaign.WantRun, true, "", false, false},
		{campaign.Ready, campaign.WantPause, true, pause, false, false},
		{campaign.Running, campaign.WantPause, true, pause, false, false},
		{campaign.Running, campaign.WantPause, false, pause, true, false},
		{campaign.Paused, campaign.WantPause, true, "", false, false},
		{campaign.Ready, campaign.WantCancel, true, "", false, true},
		{campaign.Running, campaign.WantCancel, true, "", false, true},
		{campaign.Paused, campaign.WantCancel, true, cancel, false, true},
		{campaign.Paused, campaign.WantCancel, false, cancel, false, true},
		{campaign.WaitingApproval, campaign.WantCancel, true, cancel, false, true},
	} {
		l := &runsLedger{moves: tt.moves,
			runs: []campaign.Run{{No: 1, Campaign: "sale", State: tt.state, Wanted: tt.wanted, Header: []string{"to"},
				Definition: []byte(sale)}}}
		e, log := engineOf(t, l, Options{})
		if err := e.refresh(t.Context(), func(*worker) {}); err != nil {
			t.Fatal(err)
		}
		var want []string
		if tt.want != "" {
			want = []string{tt.want}
		}
		if !slices.Equal(l.states, want) || len(e.runs) == 1 != tt.active {
			t.Errorf("%s, wanted %s: %q, %d active, want %q, active: %v", tt.state, tt.wanted, l.states, len(e.runs), want, tt.active)
		}
		if skipped := len(l.skipped) == 1; skipped != tt.skips {
			t.Errorf("%s, wanted %s: skipped: %v, want %v", tt.state, tt.wanted, skipped, tt.skips)
		}
		said := strings.Contains(log.String(), `msg="run paused" run=sale-1 reason=operator`)
		if said != (tt.want == pause && tt.moves) {
			t.Errorf("%s, wanted %s: a pause is said: %v, want %v", tt.state, tt.wanted, said, !said)
		}
	}
}

// Runs are served from the oldest on, each number once, and what has ended is forgotten.
func TestEachNumberIsServedOnceForItsRuns(t *testing.T) {
	stored := func(no campaign.RunNo, connections string) campaign.Run {
		d := strings.Replace(sale, "conn_1, conn_2", connections, 1)
		return campaign.Run{No: no, Campaign: "sale", State: campaign.Ready, Wanted: campaign.WantRun, Header: []string{"to"},
			Definition: []byte(d)}
	}
	for only, want := range map[campaign.RunNo]map[string][]campaign.RunNo{
		0: {"conn_1": {1, 3}, "conn_2": {1, 2}, "conn_3": {2}},
		2: {"conn_2": {2}, "conn_3": {2}},
	} {
		l := &runsLedger{runs: []campaign.Run{stored(3, "conn_1"), stored(2, "conn_3, conn_2"), stored(1, "conn_1, conn_2")}}
		e, _ := engineOf(t, l, Options{Only: only})
		var started []string
		start := func(w *worker) { started = append(started, w.number.connection) }
		for range 2 {
			if err := e.refresh(t.Context(), start); err != nil {
				t.Fatal(err)
			}
		}
		got := map[string][]campaign.RunNo{}
		for c, w := range e.workers {
			for _, r := range w.planner.activeRuns() {
				got[c] = append(got[c], r.no)
			}
			if len(w.planner.poke) != 1 {
				t.Errorf("%s is not told of its runs, want it woken", c)
			}
		}
		if !reflect.DeepEqual(got, want) || len(started) != len(want) || l.which != (campaign.RunFilter{Unfinished: true}) {
			t.Errorf("only %d: numbers serve %v, started %v, asked for %+v, want %v, each once, unended", only, got, started, l.which, want)
		}
		before := e.runs[2]
		l.runs = l.runs[1:2]
		if err := e.refresh(t.Context(), start); err != nil {
			t.Fatal(err)
		}
		if len(e.runs) != 1 || e.runs[2] != before {
			t.Errorf("when two have ended %d runs are known, want the second alone", len(e.runs))
		}
	}
}

// A stored campaign that this program cannot send changes nothing in the ledger, because a replica
// of another version may send it. It holds up no other run, and can be cancelled.
func TestARunThatCannotBePreparedStaysAsItIs(t *testing.T) {
	good := campaign.Run{No: 1, Campaign: "sale", State: campaign.Ready, Wanted: campaign.WantRun, Header: []string{"to"},
		Definition: []byte(sale)}
	bad := good
	bad.No, bad.Definition = 2, []byte("name: [")
	l := &runsLedger{moves: true, runs: []campaign.Run{bad, good}}
	e, log := engineOf(t, l, Options{})
	for range 3 {
		if err := e.refresh(t.Context(), func(*worker) {}); err != nil || len(e.runs) != 1 || e.runs[1] == nil {
			t.Errorf("%v, %d runs active, want no error and the first", err, len(e.runs))
		}
	}
	if n := strings.Count(log.String(), "run cannot be prepared\" run=sale-2"); len(l.states) != 0 || n != 1 {
		t.Errorf("states %q, %d lines, want none, and one line:\n%s", l.states, n, log)
	}
	l.runs[0].Wanted = campaign.WantCancel
	if err := e.refresh(t.Context(), func(*worker) {}); err != nil || !slices.Equal(l.skipped, []campaign.RunNo{2}) {
		t.Errorf("after cancel: %v, skipped %v, want no error and the second run", err, l.skipped)
	}
}

// A refusal pauses a run at once, and for good only when the pause is written.
func TestAPauseIsToldOnceItIsWritten(t *testing.T) {
	for _, tt := range []struct {
		moves  bool
		err    error
		paused bool
		said   string
	}{
		{true, nil, true, `level=WARN msg="run paused" run=sale-7 reason=breaker detail=why`},
		{false, nil, true, ""},
		{false, errGone, false, `level=ERROR msg="run cannot be paused" run=sale-7 err="connection refused"`},
	} {
		l := &runsLedger{moves: tt.moves, err: tt.err}
		e, log := engineOf(t, l, Options{})
		r := &run{no: 7, id: "sale-7"}
		e.pause(r, "why")
		if want := []string{`7 [ready running] paused breaker "why"`}; !slices.Equal(l.states, want) || r.paused.Load() != tt.paused ||
			len(e.poke) != 1 {
			t.Errorf("%q, paused %v, poked %d, want %q, %v, 1", l.states, r.paused.Load(), len(e.poke), want, tt.paused)
		}
		if _, said, _ := strings.Cut(strings.TrimSpace(log.String()), " "); said != tt.said {
			t.Errorf("said %q, want %q", said, tt.said)
		}
	}
}

// The runs are read once a second, the ended ones looked for every 5 s, the lanes told every 2 s; a
// poke asks at once.
func TestTheEngineAsksTheLedgerAtItsTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &runsLedger{began: time.Now(), asked: map[string][]time.Duration{}}
		e, _ := engineOf(t, l, Options{})
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- e.Run(ctx) }()
		time.Sleep(7500 * time.Millisecond)
		e.Poke()
		time.Sleep(time.Second)
		stop()
		if err := <-ended; err != nil {
			t.Errorf("the engine ended with %v, want nil", err)
		}
		seconds := func(all ...float64) (out []time.Duration) {
			for _, s := range all {
				out = append(out, time.Duration(s*float64(time.Second)))
			}
			return out
		}
		for method, want := range map[string][]time.Duration{
			"Runs": seconds(0, 1, 2, 3, 4, 5, 6, 7, 7.5, 8.5), "FinishRuns": seconds(0, 5, 7.5), "ReportLanes": seconds(2, 4, 6, 8.5),
		} {
			got := l.asked[method]
			if method == "Runs" { // the last is due as the engine ends
				got, want = got[:min(9, len(got))], want[:9]
			}
			if method == "ReportLanes" {
				got, want = got[:min(3, len(got))], want[:3]
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s is asked at %v, want %v", method, got, want)
			}
		}
	})
}

// A ledger that cannot be read is told at once, and not when the engine ends.
func TestAnUnreadableLedgerIsSaidAtOnce(t *testing.T) {
	for _, tt := range []struct {
		reads func(context.Context) error
		want  int
	}{
		{func(context.Context) error { return errGone }, 1},
		{func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			e, log := engineOf(t, &runsLedger{reads: tt.reads}, Options{})
			ctx, stop := context.WithTimeout(t.Context(), 100*time.Millisecond)
			defer stop()
			if err := e.Run(ctx); err != nil {
				t.Errorf("the engine ended with %v, want nil", err)
			}
			if n := strings.Count(log.String(), "level="); n != tt.want {
				t.Errorf("%d lines, want %d:\n%s", n, tt.want, log)
			}
		})
	}
}
