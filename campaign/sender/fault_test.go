package sender

import (
	"bytes"
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"campaignd/campaign"
	"campaignd/internal/messaging"
	"campaignd/throttle"
)

// shaky is a ledger of one run with one segment of 20 deliveries, which an earlier owner had. One of its methods fails some times,
// from a call on.
type shaky struct {
	Ledger
	fails       string // the method
	from, times int    // its calls from .. from+times-1 fail

	mu       sync.Mutex
	calls    map[string]int
	run      campaign.Run
	taken    bool // by an owner
	epoch    int64
	mark     int64
	done     map[int64]campaign.ResultKind
	deferred map[int64]campaign.Result
	unposted []int64 // handed back
	released int
	ended    bool
}

func newShaky(fails string, from, times int) *shaky {
	return &shaky{fails: fails, from: from, times: times, calls: map[string]int{}, done: map[int64]campaign.ResultKind{}, deferred: map[int64]campaign.Result{},
		run: campaign.Run{No: 1, Campaign: "sale", State: campaign.Running, Wanted: campaign.WantRun, Header: []string{"to"}, CreatedAt: time.Now(), Definition: []byte(`
name: sale
connections: [conn_1]
template: {name: sale, language: en_US}
recipients: {file: list.csv}
`)}}
}

// begin locks the ledger and reports a call's fault. The caller unlocks.
func (l *shaky) begin(method string) error {
	l.mu.Lock()
	l.calls[method]++
	if n := l.calls[method]; method == l.fails && n >= l.from && n < l.from+l.times {
		return errGone
	}
	return nil
}

func (l *shaky) Runs(context.Context, campaign.RunFilter) ([]campaign.Run, error) {
	err := l.begin("Runs")
	defer l.mu.Unlock()
	if err != nil || l.ended {
		return nil, err
	}
	return []campaign.Run{l.run}, nil
}

func (l *shaky) SetState(_ context.Context, _ campaign.RunNo, from []campaign.State, to campaign.State, _ campaign.PauseReason, _ string) (bool, error) {
	err := l.begin("SetState")
	defer l.mu.Unlock()
	if err != nil || !slices.Contains(from, l.run.State) {
		return false, err
	}
	l.run.State = to
	return true, nil
}

func (l *shaky) FinishRuns(context.Context) ([]campaign.Run, error) {
	err := l.begin("FinishRuns")
	defer l.mu.Unlock()
	if err != nil || l.ended || len(l.done) < 20 {
		return nil, err
	}
	l.ended = true
	return []campaign.Run{l.run}, nil
}

func (l *shaky) ReportLanes(context.Context, string, []campaign.LaneReport) error {
	defer l.mu.Unlock()
	return l.begin("ReportLanes")
}

func (l *shaky) Claim(_ context.Context, c campaign.Claim) ([]campaign.Lease, error) {
	err := l.begin("Claim")
	defer l.mu.Unlock()
	if err != nil || l.taken || len(l.done) == 20 {
		return nil, err
	}
	l.taken = true
	l.epoch++
	return []campaign.Lease{{Segment: campaign.Segment{Run: 1, Hi: 20}, Epoch: l.epoch, Mark: l.mark, Recovered: true, Until: time.Now().Add(c.Lease)}}, nil
}

func (l *shaky) Recover(context.Context, campaign.Lease, time.Time) (int, error) {
	defer l.mu.Unlock()
	return 0, l.begin("Recover")
}

func (l *shaky) Resolve(context.Context, campaign.Lease, time.Time, campaign.OnUncertain) (int, error) {
	defer l.mu.Unlock()
	return 0, l.begin("Resolve")
}

func (l *shaky) Renew(_ context.Context, leases []campaign.Lease, d time.Duration) ([]campaign.Lease, error) {
	err := l.begin("Renew")
	defer l.mu.Unlock()
	for i := range leases {
		leases[i].Until = time.Now().Add(d)
	}
	return leases, err
}

func (l *shaky) Deliveries(_ context.Context, no campaign.RunNo, from, to int64) (all []campaign.Delivery, _ error) {
	err := l.begin("Deliveries")
	defer l.mu.Unlock()
	for seq := from; seq < to && err == nil; seq++ {
		all = append(all, numbered(no, seq))
	}
	return all, err
}

func (l *shaky) Due(_ context.Context, _ campaign.Lease, now time.Time, _ int) (due []campaign.Retry, _ error) {
	err := l.begin("Due")
	defer l.mu.Unlock()
	for seq, r := range l.deferred {
		if err == nil && !r.NotBefore.After(now) {
			due = append(due, campaign.Retry{Delivery: numbered(1, seq), Attempt: r.Attempt + 1})
		}
	}
	return due, err
}

func (l *shaky) Intend(_ context.Context, in []campaign.Intent) (granted []campaign.Granted, _ error) {
	err := l.begin("Intend")
	defer l.mu.Unlock()
	if err != nil {
		return nil, err
	}
	for _, i := range in {
		if i.Lease.Epoch != l.epoch || !l.taken {
			granted = append(granted, campaign.Granted{Fenced: true})
			continue
		}
		l.mark = i.To
		for _, r := range i.Retries {
			delete(l.deferred, r.Seq)
		}
		granted = append(granted, campaign.Granted{To: i.To})
	}
	return granted, nil
}

func (l *shaky) Record(_ context.Context, rs []campaign.Result) error {
	err := l.begin("Record")
	defer l.mu.Unlock()
	for _, r := range rs {
		switch {
		case err != nil:
		case r.Kind == campaign.ResultDeferred:
			l.deferred[r.Seq] = r
		default:
			l.done[r.Seq] = r.Kind
		}
	}
	return err
}

func (l *shaky) Drop(context.Context, campaign.Lease, campaign.SkipReason) (n int, _ error) {
	err := l.begin("Drop")
	defer l.mu.Unlock()
	for seq := int64(0); seq < 20 && err == nil; seq++ {
		if l.done[seq] == 0 {
			l.done[seq] = campaign.ResultRefused
			n++
		}
	}
	return n, err
}

func (l *shaky) Park(context.Context, campaign.Lease, time.Time, time.Duration) (campaign.Parked, error) {
	err := l.begin("Park")
	defer l.mu.Unlock()
	if err == nil {
		l.taken = false
	}
	return campaign.Parked{Done: len(l.done) == 20}, err
}

func (l *shaky) Release(_ context.Context, _ campaign.Lease, unposted []int64) error {
	err := l.begin("Release")
	defer l.mu.Unlock()
	if err == nil {
		l.taken, l.unposted = false, unposted
		l.released++
	}
	return err
}

// numbered is a delivery of a run.
func numbered(no campaign.RunNo, seq int64) campaign.Delivery {
	to := "+23480000000" + string(rune('a'+seq))
	return campaign.Delivery{Run: no, Seq: seq, To: to, Cells: []string{to}}
}

// touchy is a service that refuses the sixth message it gets after 8 s, to be tried again.
type touchy struct {
	mu  sync.Mutex
	got map[string]int
	n   int
}

func (s *touchy) Send(_ context.Context, m *messaging.Message) (messaging.Receipt, error) {
	s.mu.Lock()
	s.got[m.To]++
	s.n++
	refuses := s.n == 6
	s.mu.Unlock()
	if refuses {
		time.Sleep(8 * time.Second)
		return messaging.Receipt{}, &messaging.Error{Proof: messaging.NotSent, Action: messaging.RetryLater, Status: 503, Code: "busy"}
	}
	time.Sleep(20 * time.Millisecond)
	return messaging.Receipt{MessageID: "wamid"}, nil
}

// Whichever question the ledger fails to answer: it is asked again until it answers, one line says so, and everybody is sent one message.
func TestAFaultOfTheLedgerLosesNothing(t *testing.T) {
	const again = "the ledger takes sending up again"
	held := "sending is held up by the ledger: trying again until it is not\" connection=conn_1 err=\""
	for _, tt := range []struct {
		method     string
		from       int
		said, over string
	}{
		{"none", 1, "", ""},
		{"Runs", 2, "ledger cannot be read: trying again until it can\" err=\"read runs: ", "ledger can be read again"},
		{"FinishRuns", 1, "ledger cannot be read: trying again until it can\" err=\"finish runs: ", "ledger can be read again"},
		{"Claim", 1, held + "claim segments: ", again},
		{"Recover", 1, held + "recover segment: ", again},
		{"Resolve", 1, held + "resolve doubts: ", again},
		{"Deliveries", 1, held + "read ahead: ", again},
		{"Intend", 1, held + "commit intents: ", again},
		{"Intend", 3, held + "commit intents: ", again},
		{"Due", 1, held + "read deferred deliveries: ", again},
		{"Due", 2, held + "read deferred deliveries: ", again},
		{"Park", 1, held + "park segment: ", again},
		{"Record", 1, "results cannot be written: trying again until they can\" results=", "results are written again\" results="},
		{"Renew", 1, "leases cannot be renewed: they run out unless they can be soon\" connection=conn_1 err=\"", "leases are renewed again\" connection=conn_1"},
		{"ReportLanes", 1, "", ""},
	} {
		t.Run(tt.method, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log bytes.Buffer
				l, service := newShaky(tt.method, tt.from, 3), &touchy{got: map[string]int{}}
				e, err := New(l, service, throttle.NewLocal(), Options{Owner: "a", Log: slog.New(slog.NewTextHandler(&log, nil)), Lease: 3 * time.Second, GroupMax: 4})
				if err != nil {
					t.Fatal(err)
				}
				ctx, stop := context.WithCancel(t.Context())
				ended := make(chan error, 1)
				go func() { ended <- e.Run(ctx) }()
				time.Sleep(time.Minute)
				stop()
				if err := <-ended; err != nil {
					t.Errorf("the engine ended with %v, want nil", err)
				}
				if len(l.done) != 20 || len(l.deferred) != 0 || l.taken || !l.ended || l.released != 0 && tt.method != "Recover" && tt.method != "Resolve" {
					t.Errorf("%d of 20 have ended, %d are deferred, taken: %v, ended: %v, %d handed back: want 20, 0, false, true, 0", len(l.done), len(l.deferred), l.taken, l.ended, l.released)
				}
				posts := 0
				for _, n := range service.got {
					posts += n
				}
				if len(service.got) != 20 || posts != 21 {
					t.Errorf("%d were posted to, %d times, want 20, 21 times", len(service.got), posts)
				}
				if n := strings.Count(log.String(), "msg=\"run ended\" run=sale-1 state=running"); n != 1 {
					t.Errorf("its end is said %d times, want once, in\n%s", n, log.String())
				}
				if tt.method != "none" && l.calls[tt.method] <= tt.from+2 {
					t.Errorf("%d calls of %s, want more than %d", l.calls[tt.method], tt.method, tt.from+2)
				}
				for _, said := range []string{tt.said, tt.over} {
					if n := strings.Count(log.String(), said); said != "" && n != 1 {
						t.Errorf("%d times %q, want once, in\n%s", n, said, log.String())
					}
				}
				faults := strings.Count(log.String(), "level=ERROR") + strings.Count(log.String(), "level=WARN")
				if want := min(len(tt.said), 1); faults != want {
					t.Errorf("%d lines of faults, want %d, in\n%s", faults, want, log.String())
				}
			})
		})
	}
}

// A pause and a cancellation that the ledger did not take are tried again, and said once.
func TestAStopOfARunIsWrittenAlthoughItFailsAtFirst(t *testing.T) {
	for _, tt := range []struct {
		name, method string
		state        campaign.State
		wanted       campaign.Wanted
		said         string
		want         campaign.State
		done         int
	}{
		{"pause", "SetState", campaign.Running, campaign.WantPause, "settle sale-1: connection refused", campaign.Paused, 0},
		{"cancel what is paused", "SetState", campaign.Paused, campaign.WantCancel, "settle sale-1: connection refused", campaign.Running, 20},
		{"cancel", "Drop", campaign.Running, campaign.WantCancel, "drop what is queued: connection refused", campaign.Running, 20},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log bytes.Buffer
				l, service := newShaky(tt.method, 1, 3), &touchy{got: map[string]int{}}
				l.run.State, l.run.Wanted = tt.state, tt.wanted
				e, err := New(l, service, throttle.NewLocal(), Options{Owner: "a", Log: slog.New(slog.NewTextHandler(&log, nil))})
				if err != nil {
					t.Fatal(err)
				}
				ctx, stop := context.WithCancel(t.Context())
				ended := make(chan error, 1)
				go func() { ended <- e.Run(ctx) }()
				time.Sleep(20 * time.Second)
				stop()
				if err := <-ended; err != nil {
					t.Errorf("the engine ended with %v, want nil", err)
				}
				if len(service.got) != 0 || l.run.State != tt.want || len(l.done) != tt.done {
					t.Errorf("%d posted, state %s, %d have ended, want 0, %s, %d", len(service.got), l.run.State, len(l.done), tt.want, tt.done)
				}
				if n := strings.Count(log.String(), tt.said); n != 1 || l.calls[tt.method] < 4 {
					t.Errorf("%d times %q after %d calls, want once after 4 or more, in\n%s", n, tt.said, l.calls[tt.method], log.String())
				}
			})
		})
	}
}

// At its end the engine first writes the results, then names the granted but unposted rows to the ledger.
func TestAStopHandsBackExactlyWhatWasNotPosted(t *testing.T) {
	for _, fails := range []string{"", "Release"} {
		synctest.Test(t, func(t *testing.T) {
			var log bytes.Buffer
			l, service := newShaky(fails, 1, 1), &touchy{got: map[string]int{}, n: 6}
			e, err := New(l, service, throttle.NewLocal(), Options{
				Owner: "a", Log: slog.New(slog.NewTextHandler(&log, nil)), Group: 2 * time.Second, Pace: func(string) float64 { return 5 },
			})
			if err != nil {
				t.Fatal(err)
			}
			ctx, stop := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- e.Run(ctx) }()
			time.Sleep(1010 * time.Millisecond) // a post is in flight
			stop()
			if err := <-ended; err != nil {
				t.Errorf("the engine ended with %v, want nil", err)
			}
			posted := len(service.got)
			if posted < 4 || posted > 7 || len(l.done) != posted {
				t.Errorf("%d posted, %d written, want as many as in a second at 5/s", posted, len(l.done))
			}
			if lines := strings.Count(log.String(), "segment not handed back: its lease must run out\" connection=conn_1 err=\"connection refused\""); lines != len(fails)/7 {
				t.Errorf("%d lines of what is not handed back, want %d, in\n%s", lines, len(fails)/7, log.String())
			}
			if fails != "" {
				return
			}
			slices.Sort(l.unposted)
			var want []int64
			for seq := range l.mark {
				if l.done[seq] == 0 {
					want = append(want, seq)
				}
			}
			if len(want) == 0 || !slices.Equal(l.unposted, want) || l.taken {
				t.Errorf("handed back as not posted %v, want %v; taken: %v, want false", l.unposted, want, l.taken)
			}
		})
	}
}

// A post that is under way when the engine ends may take its time: its answer is written.
func TestTheLastAnswerIsWrittenBeforeTheEngineEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		l := newShaky("", 0, 0)
		e, err := New(l, answer{took: 9900 * time.Millisecond}, throttle.NewLocal(), Options{Owner: "a", Log: slog.New(slog.NewTextHandler(&log, nil))})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- e.Run(ctx) }()
		time.Sleep(100 * time.Millisecond)
		stop()
		err = <-ended
		if posted := e.Stats()[0].Posted; err != nil || posted == 0 || int64(len(l.done)) != posted || l.released != 1 || log.Len() > 0 {
			t.Errorf("%v: %d posted, %d written, %d segments handed back, want nil, as many, 1:\n%s", err, posted, len(l.done), l.released, log.String())
		}
	})
}
