package sender

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/file"
	"campaignd/internal/messaging"
	"campaignd/throttle"
)

// endlessLedger is a ledger with a segment for whoever asks, and a service that accepts everything
// and counts by template.
type endlessLedger struct {
	stubLedger
	mu    sync.Mutex
	next  map[campaign.RunNo]int64
	asked int // transactions of intents
	sent  map[string][]time.Time
}

func (l *endlessLedger) Claim(_ context.Context, c campaign.Claim) ([]campaign.Lease, error) {
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

func (l *endlessLedger) Deliveries(_ context.Context, no campaign.RunNo, from, to int64) (all []campaign.Delivery, err error) {
	for seq := from; seq < to; seq++ {
		all = append(all, campaign.Delivery{Run: no, Seq: seq, To: "+4915112345678"})
	}
	return all, nil
}

func (l *endlessLedger) Due(context.Context, campaign.Lease, time.Time, int) ([]campaign.Retry, error) {
	return nil, nil
}

func (l *endlessLedger) Intend(_ context.Context, in []campaign.Intent) (granted []campaign.Granted, err error) {
	l.mu.Lock()
	l.asked++
	l.mu.Unlock()
	time.Sleep(3 * time.Millisecond)
	for _, i := range in {
		granted = append(granted, campaign.Granted{To: i.To})
	}
	return granted, nil
}

func (l *endlessLedger) Record(context.Context, []campaign.Result) error { return nil }

func (l *endlessLedger) Release(context.Context, campaign.Lease, []int64) error { return nil }

func (l *endlessLedger) Renew(_ context.Context, leases []campaign.Lease, _ time.Duration) ([]campaign.Lease, error) {
	return leases, nil
}

func (l *endlessLedger) Park(context.Context, campaign.Lease, time.Time, func(time.Time) time.Time) (campaign.Parked, error) {
	return campaign.Parked{Done: true}, nil
}

func (l *endlessLedger) Send(_ context.Context, m *messaging.Message) (messaging.Receipt, error) {
	time.Sleep(50 * time.Millisecond)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sent[m.Template.Name] = append(l.sent[m.Template.Name], time.Now())
	return messaging.Receipt{MessageID: "wamid"}, nil
}

func (l *endlessLedger) transactions() float64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return float64(l.asked)
}

// within is how many messages a second a template got between two instants.
func (l *endlessLedger) within(template string, from, to time.Time) float64 {
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
	d, err := file.Parse(name, []byte(strings.ReplaceAll(sale, "sale", name)))
	if err != nil {
		t.Fatal(err)
	}
	render, err := d.Compile([]string{"to"})
	if err != nil {
		t.Fatal(err)
	}
	r := &run{no: no, id: name, render: render, template: name, connections: []string{"conn_1"}}
	return r.limited(rate)
}

// replicas are workers of as many processes that share a ledger, a limiter and a number.
type replicas struct {
	workers []*worker
	stop    func() // and wait
}

// serving starts n replicas that send the runs over conn_1 at a pace.
func serving(t *testing.T, l *endlessLedger, shared throttle.Limiter, n int, pace float64, runs ...*run) replicas {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	var all replicas
	var working, recording sync.WaitGroup
	for i := range n {
		e, err := New(l, l, shared, Options{Owner: fmt.Sprint(i), Pace: func(string) float64 { return pace }})
		if err != nil {
			t.Fatal(err)
		}
		w := newWorker(e, "conn_1")
		w.planner.setRuns(runs)
		all.workers = append(all.workers, w)
		recording.Go(e.rec.run)
		working.Go(func() { w.run(ctx) })
		time.Sleep(37 * time.Millisecond)
	}
	all.stop = func() {
		stop()
		working.Wait()
		for _, w := range all.workers {
			w.planner.e.rec.stop()
		}
		recording.Wait()
	}
	return all
}

func newEndlessLedger() *endlessLedger {
	return &endlessLedger{next: map[campaign.RunNo]int64{}, sent: map[string][]time.Time{}}
}
