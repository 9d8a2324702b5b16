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

// refusingService is a service that refuses the sixth message it gets after 8 s, to be tried again.
type refusingService struct {
	mu  sync.Mutex
	got map[string]int
	n   int
}

func (s *refusingService) Send(_ context.Context, m *messaging.Message) (messaging.Receipt, error) {
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

// A question that the ledger fails to answer is asked again until it answers. One line says so, and
// everybody is sent one message.
func TestAFaultOfTheLedgerLosesNothing(t *testing.T) {
	const again = "the ledger answers again; sending resumes"
	held := "the ledger does not answer: sending waits until it does\" connection=conn_1 err=\""
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
		{"Renew", 1, "leases cannot be renewed: they run out unless they can be soon\" connection=conn_1 err=\"",
			"leases are renewed again\" connection=conn_1"},
		{"ReportLanes", 1, "", ""},
	} {
		t.Run(tt.method, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log bytes.Buffer
				l, service := newFaulty(tt.method, tt.from, 3), &refusingService{got: map[string]int{}}
				e, err := New(l, service, throttle.NewLocal(), Options{Owner: "a", Log: slog.New(slog.NewTextHandler(&log, nil)),
					Lease: 3 * time.Second})
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
				if len(l.done) != 20 || len(l.deferred) != 0 || l.taken || !l.ended || l.released != 0 && tt.method != "Recover" &&
					tt.method != "Resolve" {
					t.Errorf("%d of 20 have ended, %d are deferred, taken: %v, ended: %v, %d handed back: want 20, 0, false, true, 0", len(l.done),
						len(l.deferred), l.taken, l.ended, l.released)
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
		{"pause", "SetState", campaign.Running, campaign.WantPause, "pause sale-1: connection refused", campaign.Paused, 0},
		{"cancel what is paused", "SetState", campaign.Paused, campaign.WantCancel, "cancel sale-1: connection refused", campaign.Ready, 20},
		{"cancel", "SkipQueued", campaign.Running, campaign.WantCancel, "skip what sale-1 has queued: connection refused", campaign.Running, 20},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log bytes.Buffer
				l, service := newFaulty(tt.method, 1, 3), &refusingService{got: map[string]int{}}
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

// At its end the engine first writes the results, then names the granted but unposted rows to the
// ledger.
func TestAStopHandsBackExactlyWhatWasNotPosted(t *testing.T) {
	for _, fails := range []string{"", "Release"} {
		synctest.Test(t, func(t *testing.T) {
			var log bytes.Buffer
			l, service := newFaulty(fails, 1, 1), &refusingService{got: map[string]int{}, n: 6}
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
			if lines := strings.Count(log.String(),
				"segment not handed back: its lease must run out\" connection=conn_1 err=\"connection refused\""); lines != len(fails)/7 {
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
		l := newFaulty("", 0, 0)
		e, err := New(l, answer{took: 9900 * time.Millisecond}, throttle.NewLocal(),
			Options{Owner: "a", Log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn}))})
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
			t.Errorf("%v: %d posted, %d written, %d segments handed back, want nil, as many, 1:\n%s", err, posted, len(l.done), l.released,
				log.String())
		}
	})
}
