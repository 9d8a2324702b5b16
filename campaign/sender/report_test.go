package sender

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"campaignd/campaign"
)

// laneLedger is a ledger that keeps the reports of lanes.
type laneLedger struct {
	stubLedger
	err  error
	told [][]campaign.LaneReport
	left time.Duration // of the last call's time
}

func (l *laneLedger) ReportLanes(ctx context.Context, owner string, lanes []campaign.LaneReport) error {
	for i := range lanes {
		lanes[i].Detail = owner + ": " + lanes[i].Detail
	}
	l.told, l.left = append(l.told, lanes), -1
	if until, ok := ctx.Deadline(); ok && ctx.Err() == nil {
		l.left = time.Until(until)
	}
	return l.err
}

// Each lane of each number is told in order, with its own limit while it is served and as stopped
// at the end. A report that cannot be written is logged at Debug.
func TestTheLedgerIsToldOfEveryLane(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, tt := range []struct {
			name           string
			runs           []campaign.RunNo
			stopped, ended bool
			err            error
			lanes          string
			limitedBy      campaign.LimitedBy
			log            string
			rate           float64
		}{
			{"served", []campaign.RunNo{1, 2}, false, false, nil, "conn_1/1 conn_1/2 conn_2/1 conn_2/2 conn_3/1 conn_3/2", "none", "", 72},
			{"nothing to serve", nil, false, false, nil, "", "", "", 0},
			{"served, not written", []campaign.RunNo{1}, false, false, errGone, "conn_1/1 conn_2/1 conn_3/1", "none", "connection refused", 72},
			{"served, not written at the end", []campaign.RunNo{1}, false, true, errGone, "conn_1/1 conn_2/1 conn_3/1", "none", "", 72},
			{"stopped", []campaign.RunNo{1, 2}, true, true, nil, "conn_1/1 conn_1/2 conn_2/1 conn_2/2 conn_3/1 conn_3/2", campaign.ByStopped, "",
				0},
			{"stopped, not written", []campaign.RunNo{1}, true, true, errGone, "conn_1/1 conn_2/1 conn_3/1", campaign.ByStopped,
				"connection refused", 0},
			{"nothing to stop", nil, true, true, nil, "no call", "", "", 0},
		} {
			var log bytes.Buffer
			l := &laneLedger{err: tt.err}
			e, err := New(l, nil, nil, Options{Owner: "a", Log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range []string{"conn_2", "conn_3", "conn_1"} {
				e.workers[c] = newWorker(e, c)
				var runs []*run
				for _, no := range tt.runs {
					runs = append(runs, &run{no: no, connections: []string{c}})
				}
				e.workers[c].planner.setRuns(runs)
			}
			ctx, end := context.WithCancel(t.Context())
			if tt.ended {
				end()
			}
			if tt.stopped {
				e.stopped(ctx)
			} else {
				e.report(ctx)
			}
			end()
			got := "no call"
			if len(l.told) == 1 {
				var all []string
				for _, lane := range l.told[0] {
					all = append(all, fmt.Sprintf("%s/%d", lane.Connection, lane.Run))
					if lane.LimitedBy != tt.limitedBy || lane.Rate != tt.rate || !strings.HasPrefix(lane.Detail, "a: ") {
						t.Errorf("%s: %+v, want %g/s limited by %s, of a", tt.name, lane, tt.rate, tt.limitedBy)
					}
					if want := "a: its sender has ended"; tt.stopped && lane.Detail != want {
						t.Errorf("%s: %q, want %q", tt.name, lane.Detail, want)
					}
				}
				got = strings.Join(all, " ")
			}
			if got != tt.lanes {
				t.Errorf("%s: told of %q, want %q", tt.name, got, tt.lanes)
			}
			if want := 500 * time.Millisecond; tt.stopped && len(l.told) == 1 && l.left != want {
				t.Errorf("%s: %v are left for it, want %v", tt.name, l.left, want)
			}
			if said := strings.Contains(log.String(), "lane report not written"); said != (tt.log != "") || !strings.Contains(log.String(), tt.log) {
				t.Errorf("%s: log %q, want %q", tt.name, log.String(), tt.log)
			}
		}
	})
}

// A run's own limit applies to its lane only where it is below the pace.
func TestALimitAppliesOnlyBelowThePace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, tt := range []struct {
			limit, rate float64
			limitedBy   campaign.LimitedBy
		}{{0, 72, "throughput"}, {0.5, 0.5, "run_rate"}, {71.9, 71.9, "run_rate"}, {72, 72, "throughput"}, {72.1, 72, "throughput"}} {
			got, _ := report(t, func(w *worker) {
				w.planner.setRuns([]*run{(&run{no: 1, connections: []string{"conn_1"}}).limited(tt.limit), {no: 2, connections: []string{"conn_1"}}})
			})
			if got.Rate != tt.rate || got.LimitedBy != tt.limitedBy {
				t.Errorf("a limit of %g: %g/s limited by %s, want %g/s by %s", tt.limit, got.Rate, got.LimitedBy, tt.rate, tt.limitedBy)
			}
		}
	})
}

// Numbers are told in the order of their names.
func TestStatsAreInOrder(t *testing.T) {
	got := []Stats{{Connection: "conn_2"}, {Connection: "conn_3"}, {Connection: "conn_1"}}
	sortStats(got)
	var names []string
	for _, s := range got {
		names = append(names, s.Connection)
	}
	if want := []string{"conn_1", "conn_2", "conn_3"}; !slices.Equal(names, want) {
		t.Errorf("order %q, want %q", names, want)
	}
}

// The breaker begins anew after each time it trips, and forgets what is older than 25 results.
func TestTheBreakerTripsAtEachTwentyOfAKind(t *testing.T) {
	for _, tt := range []struct {
		name string
		code func(i int) string
		want []int // trips at these results, counted from 1
	}{
		{"one fault", func(int) string { return "a" }, []int{20, 40, 60}},
		{"4 of 5", func(i int) string { return []string{"", "a", "a", "a", "a"}[i%5] }, []int{25, 50}},
		{"3 of 4", func(i int) string { return []string{"", "a", "a", "a"}[i%4] }, nil},
		{"two faults", func(i int) string { return []string{"a", "b"}[i%2] }, nil},
		{"none", func(int) string { return "" }, nil},
	} {
		var b breaker
		var got []int
		for i := range 60 {
			if b.note(tt.code(i)) {
				got = append(got, i+1)
			}
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: trips at %d, want %d", tt.name, got, tt.want)
		}
	}
}
