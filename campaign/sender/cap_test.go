package sender

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"campaignd/campaign"
	"campaignd/internal/messaging"
	"campaignd/throttle"
)

// endless is a ledger with a segment for whoever asks, and a service that accepts everything and counts by template.
type endless struct {
	Ledger
	mu    sync.Mutex
	next  map[campaign.RunNo]int64
	asked int // transactions of intents
	sent  map[string][]time.Time
}

func (l *endless) Claim(_ context.Context, c campaign.Claim) ([]campaign.Lease, error) {
	if c.Begun {
		return nil, nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	no := c.Runs[0]
	at := l.next[no]
	l.next[no]++
	s := campaign.Segment{Run: no, Index: at, Lo: at * campaign.SegmentSize, Hi: (at + 1) * campaign.SegmentSize}
	return []campaign.Lease{{Segment: s, Mark: s.Lo, Epoch: 1, Until: time.Now().Add(time.Hour)}}, nil
}

func (l *endless) Deliveries(_ context.Context, no campaign.RunNo, from, to int64) (all []campaign.Delivery, err error) {
	for seq := from; seq < to; seq++ {
		all = append(all, campaign.Delivery{Run: no, Seq: seq, To: "+4915112345678"})
	}
	return all, nil
}

func (l *endless) Due(context.Context, campaign.Lease, time.Time, int) ([]campaign.Retry, error) {
	return nil, nil
}

func (l *endless) Intend(_ context.Context, in []campaign.Intent) (granted []campaign.Granted, err error) {
	l.mu.Lock()
	l.asked++
	l.mu.Unlock()
	time.Sleep(3 * time.Millisecond)
	for _, i := range in {
		granted = append(granted, campaign.Granted{To: i.To})
	}
	return granted, nil
}

func (l *endless) Record(context.Context, []campaign.Result) error { return nil }

func (l *endless) Release(context.Context, campaign.Lease, []int64) error { return nil }

func (l *endless) Renew(_ context.Context, leases []campaign.Lease, _ time.Duration) ([]campaign.Lease, error) {
	return leases, nil
}

func (l *endless) Park(context.Context, campaign.Lease, time.Time, time.Duration) (campaign.Parked, error) {
	return campaign.Parked{Done: true}, nil
}

func (l *endless) Send(_ context.Context, m *messaging.Message) (messaging.Receipt, error) {
	time.Sleep(50 * time.Millisecond)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sent[m.Template.Name] = append(l.sent[m.Template.Name], time.Now())
	return messaging.Receipt{MessageID: "wamid"}, nil
}

func (l *endless) transactions() float64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return float64(l.asked)
}

// within is how many messages a second a template got between two instants.
func (l *endless) within(template string, from, to time.Time) float64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := 0
	for _, at := range l.sent[template] {
		if !at.Before(from) && at.Before(to) {
			n++
		}
	}
	return float64(n) / to.Sub(from).Seconds()
}

// template is a run whose messages can be told from others'.
func template(t *testing.T, no campaign.RunNo, name string, rate float64) *run {
	t.Helper()
	d, err := campaign.ParseDefinition(name, fmt.Appendf(nil, "name: %s\nconnections: [conn_1]\ntemplate: {name: %s, language: en_US, category: UTILITY}\nrecipients: {columns: {to: to}}\n", name, name))
	if err != nil {
		t.Fatal(err)
	}
	render, err := d.Compile([]string{"to"})
	if err != nil {
		t.Fatal(err)
	}
	return &run{no: no, id: name, render: render, template: name, rate: rate, connections: []string{"conn_1"}}
}

// A run with a limit of its own takes what it may; the rest of the number's pace is the other run's, and hardly a slot is wasted.
func TestARunsOwnLimitLeavesTheRestToOthers(t *testing.T) {
	for _, c := range []struct{ pace, limit, asks float64 } /* per second */ {{68.4, 5, 5.5}, {68.4, 20, 12}, {68.4, 40, 12}, {902, 300, 12}} {
		t.Run(fmt.Sprintf("%v of %v", c.limit, c.pace), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := &endless{next: map[campaign.RunNo]int64{}, sent: map[string][]time.Time{}}
				e, err := New(l, l, throttle.NewLocal(), Options{Owner: "a", Pace: func(string) float64 { return c.pace }})
				if err != nil {
					t.Fatal(err)
				}
				capped, free := template(t, 1, "capped", c.limit), template(t, 2, "free", 0)
				p := newWorker(e, "conn_1")
				p.planner.setRuns([]*run{capped})
				ctx, stop := context.WithCancel(t.Context())
				var recording sync.WaitGroup
				recording.Go(e.rec.run)
				var pacing sync.WaitGroup
				pacing.Go(func() { p.run(ctx) })
				time.Sleep(10 * time.Second)
				asked := l.transactions()
				joined := time.Now()
				if alone := l.within("capped", joined.Add(-8*time.Second), joined); alone < 0.95*c.limit || alone > 1.05*c.limit {
					t.Errorf("alone the limited run sends %.1f/s, want %v", alone, c.limit)
				}
				if each := asked / 10; each > c.asks {
					t.Errorf("%.1f transactions a second for %v messages", each, c.limit)
				}
				p.planner.setRuns([]*run{capped, free})
				time.Sleep(12 * time.Second)
				from, to := joined.Add(2*time.Second), joined.Add(12*time.Second)
				limited, rest := l.within("capped", from, to), l.within("free", from, to)
				t.Logf("%.1f/s and %.1f/s of %v; %d slots forfeited; %.1f transactions a second alone, %.1f together", limited, rest, c.pace, p.number.counts.forfeited.Load(), asked/10, (l.transactions()-asked)/12)
				fair := min(c.limit, c.pace/2)
				if limited < 0.95*fair || limited > 1.05*fair {
					t.Errorf("beside another the limited run sends %.1f/s, want %.1f", limited, fair)
				}
				if rest < 0.97*(c.pace-fair) {
					t.Errorf("the other run sends %.1f/s, want %.1f", rest, c.pace-fair)
				}
				stop()
				pacing.Wait()
				e.rec.stop()
				recording.Wait()
			})
		})
	}
}

// Replicas share a number's slots by turns. Whoever's turn it is not is late for the slots of the run's limit that it holds, and
// they are lost: the run stays below its limit, and the rest of the pace is used all the same.
func TestReplicasUseTheWholePaceBesideARunsOwnLimit(t *testing.T) {
	const pace, limit = 68.4, 20.0
	for replicas := 1; replicas <= 4; replicas++ {
		synctest.Test(t, func(t *testing.T) {
			l := &endless{next: map[campaign.RunNo]int64{}, sent: map[string][]time.Time{}}
			shared := throttle.NewLocal()
			ctx, stop := context.WithCancel(t.Context())
			var recording, pacing sync.WaitGroup
			var recorders []*recorder
			for i := range replicas {
				e, err := New(l, l, shared, Options{Owner: fmt.Sprint(i), Pace: func(string) float64 { return pace }})
				if err != nil {
					t.Fatal(err)
				}
				p := newWorker(e, "conn_1")
				p.planner.setRuns([]*run{template(t, 1, "capped", limit), template(t, 2, "free", 0)})
				recorders = append(recorders, e.rec)
				recording.Go(e.rec.run)
				pacing.Go(func() { p.run(ctx) })
				time.Sleep(37 * time.Millisecond)
			}
			time.Sleep(2 * time.Second)
			from := time.Now()
			time.Sleep(10 * time.Second)
			limited, rest := l.within("capped", from, time.Now()), l.within("free", from, time.Now())
			t.Logf("%d replicas: %.1f/s of a limit of %v, %.1f/s beside it", replicas, limited, limit, rest)
			if limited > 1.05*limit || limited < 0.2*limit {
				t.Errorf("%d replicas send %.1f/s of a run whose limit is %v", replicas, limited, limit)
			}
			if all := limited + rest; all < 0.97*pace || all > 1.03*pace {
				t.Errorf("%d replicas send %.1f/s of a pace of %v", replicas, all, pace)
			}
			stop()
			pacing.Wait()
			for _, r := range recorders {
				r.stop()
			}
			recording.Wait()
		})
	}
}
