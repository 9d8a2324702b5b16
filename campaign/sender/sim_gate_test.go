package sender_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/reception"
)

// errDead is what every effect of a killed process answers: it reaches neither the ledger, nor the
// service, nor the sender of webhooks.
var errDead = errors.New("this process is dead")

// phase is where in an effect a process dies.
type phase int

const (
	before phase = iota // the effect does not happen
	after               // it happens, and its caller never learns
)

// gate stands between one incarnation of the daemon and the world. It counts effects, and ends the
// incarnation at the one that the seed chose.
type gate struct {
	campaign.Ledger
	w     *world
	life  int // which process it is, from 1
	dead  atomic.Bool
	ctx   context.Context // ends with the process
	end   context.CancelFunc
	mu    sync.Mutex
	nth   map[string]uint64 // effects so far, by name
	death death
	// commitLost makes the nth Intend apply and answer ErrUnknownCommit; 0: none.
	commitLost, intends int
}

// death is the effect at which a process dies: the nth of a name.
type death struct {
	name string
	nth  uint64
	when phase
}

// deaths are the effects that a process may die at, and how many of them a life has at most. An
// effect that is named more often is chosen more often.
var deaths = []struct {
	name string
	most int
}{
	{"Intend", 40}, {"Intend", 15}, {"Record", 60}, {"Record", 20}, {"Apply", 80}, {"Apply", 30}, {"POST", 80}, {"POST", 30},
	{"Claim", 12}, {"Recover", 2}, {"Due", 10}, {"Park", 4}, {"Resolve", 2}, {"Sweep", 20}, {"Renew", 4}, {"FinishRuns", 100}, {"Runs", 200},
}

// pass runs one effect. Each has a latency of its own, before and after, so that no two effects
// share an instant and a seed repeats to the nanosecond.
func pass[T any](g *gate, name, whose string, effect func() (T, error)) (T, error) {
	var none T
	g.mu.Lock()
	g.nth[name+whose]++
	own := g.nth[name+whose]
	g.mu.Unlock()
	g.w.latency(g.life, name+whose, own)
	g.mu.Lock()
	g.nth[name+" in all"]++
	n := g.nth[name+" in all"]
	g.mu.Unlock()
	if g.dead.Load() {
		return none, errDead
	}
	dies := g.death.name == name && g.death.nth == n
	if dies && g.death.when == before {
		g.w.count("killed before " + name)
		g.kill()
		return none, errDead
	}
	v, err := effect()
	if dies {
		g.w.count("killed after " + name)
		g.kill()
	}
	if g.dead.Load() {
		return none, errDead
	}
	g.w.note(name, err)
	g.w.latency(g.life, name+whose+" done", own)
	return v, err
}

func (g *gate) kill() {
	g.dead.Store(true)
	g.w.policy.die(g.w)
	g.end()
}

// whose names the segments of an effect, so that two workers draw apart.
func whose(leases ...campaign.Lease) string {
	if len(leases) == 0 {
		return ""
	}
	return fmt.Sprintf("%d/%d/%d", leases[0].Run, leases[0].Index, leases[0].Epoch)
}

type unit struct{}

func only(g *gate, name, whose string, effect func() error) error {
	_, err := pass(g, name, whose, func() (unit, error) { return unit{}, effect() })
	return err
}

func (g *gate) SetState(ctx context.Context, no campaign.RunNo, from []campaign.State, to campaign.State, reason campaign.PauseReason,
	detail string) (bool, error) {
	return pass(g, "SetState", "", func() (bool, error) { return g.Ledger.SetState(ctx, no, from, to, reason, detail) })
}

func (g *gate) Runs(ctx context.Context, w campaign.RunFilter) ([]campaign.Run, error) {
	return pass(g, "Runs", "", func() ([]campaign.Run, error) { return g.Ledger.Runs(ctx, w) })
}

func (g *gate) FinishRuns(ctx context.Context) ([]campaign.Run, error) {
	return pass(g, "FinishRuns", "", func() ([]campaign.Run, error) { return g.Ledger.FinishRuns(ctx) })
}

func (g *gate) Claim(ctx context.Context, c campaign.Claim) ([]campaign.Lease, error) {
	return pass(g, "Claim", c.Connection, func() ([]campaign.Lease, error) { return g.Ledger.Claim(ctx, c) })
}

func (g *gate) Renew(ctx context.Context, l []campaign.Lease, d time.Duration) ([]campaign.Lease, error) {
	return pass(g, "Renew", whose(l...), func() ([]campaign.Lease, error) { return g.Ledger.Renew(ctx, l, d) })
}

func (g *gate) Release(ctx context.Context, l campaign.Lease, unposted []int64) error {
	return only(g, "Release", whose(l), func() error { return g.Ledger.Release(ctx, l, unposted) })
}

func (g *gate) Recover(ctx context.Context, l campaign.Lease, at time.Time) (int, error) {
	return pass(g, "Recover", whose(l), func() (int, error) { return g.Ledger.Recover(ctx, l, at) })
}

func (g *gate) Deliveries(ctx context.Context, no campaign.RunNo, from, to int64) ([]campaign.Delivery, error) {
	return pass(g, "Deliveries", fmt.Sprint(no, "/", from),
		func() ([]campaign.Delivery, error) { return g.Ledger.Deliveries(ctx, no, from, to) })
}

func (g *gate) Due(ctx context.Context, l campaign.Lease, now time.Time, n int) ([]campaign.Retry, error) {
	return pass(g, "Due", whose(l), func() ([]campaign.Retry, error) { return g.Ledger.Due(ctx, l, now, n) })
}

func (g *gate) Intend(ctx context.Context, in []campaign.Intent) ([]campaign.Granted, error) {
	return pass(g, "Intend", in[0].Connection, func() ([]campaign.Granted, error) {
		began := time.Now()
		granted, err := g.Ledger.Intend(ctx, in)
		if err == nil {
			g.w.seen.grant(g.w, began, in, granted)
		}
		g.mu.Lock()
		g.intends++
		lost := g.intends == g.commitLost
		g.mu.Unlock()
		if lost && err == nil {
			g.w.count("commit answer lost")
			g.w.policy.lost(g.w)
			return nil, campaign.ErrUnknownCommit
		}
		return granted, err
	})
}

func (g *gate) Record(ctx context.Context, rs []campaign.Result) error {
	err := only(g, "Record", "", func() error { return g.Ledger.Record(ctx, rs) })
	if g.dead.Load() {
		return nil // a dead process does not try again until its time is up
	}
	return err
}

func (g *gate) Holds(ctx context.Context, ended bool) ([]campaign.Hold, error) {
	return pass(g, "Holds", "", func() ([]campaign.Hold, error) { return g.Ledger.Holds(ctx, ended) })
}

func (g *gate) AddHolds(ctx context.Context, hs []campaign.Hold) ([]campaign.Hold, error) {
	return pass(g, "AddHolds", "", func() ([]campaign.Hold, error) { return g.Ledger.AddHolds(ctx, hs) })
}

func (g *gate) LiftHolds(ctx context.Context, ls []campaign.Lift) ([]campaign.Hold, error) {
	return pass(g, "LiftHolds", "", func() ([]campaign.Hold, error) { return g.Ledger.LiftHolds(ctx, ls) })
}

func (g *gate) ReleaseJob(ctx context.Context, l campaign.JobLease) error {
	return only(g, "ReleaseJob", l.Name, func() error { return g.Ledger.ReleaseJob(ctx, l) })
}

func (g *gate) AcquireJob(ctx context.Context, name, owner string, d time.Duration) (campaign.JobLease, bool, error) {
	type acquired struct {
		lease campaign.JobLease
		ok    bool
	}
	a, err := pass(g, "AcquireJob", name, func() (acquired, error) {
		l, ok, err := g.Ledger.AcquireJob(ctx, name, owner, d)
		return acquired{l, ok}, err
	})
	return a.lease, a.ok, err
}

func (g *gate) Resolve(ctx context.Context, l campaign.Lease, began reception.Span, p campaign.OnUncertain) (int, error) {
	return pass(g, "Resolve", whose(l), func() (int, error) { return g.Ledger.Resolve(ctx, l, began, p) })
}

func (g *gate) SkipQueued(ctx context.Context, l campaign.Lease, reason campaign.SkipReason) (int, error) {
	return pass(g, "SkipQueued", whose(l), func() (int, error) { return g.Ledger.SkipQueued(ctx, l, reason) })
}

func (g *gate) Park(ctx context.Context, l campaign.Lease, wake time.Time, ends func(time.Time) time.Time) (campaign.Parked, error) {
	return pass(g, "Park", whose(l), func() (campaign.Parked, error) { return g.Ledger.Park(ctx, l, wake, ends) })
}

func (g *gate) Move(ctx context.Context, l campaign.Lease, to string) (bool, error) {
	return pass(g, "Move", whose(l), func() (bool, error) {
		moved, err := g.Ledger.Move(ctx, l, to)
		if moved {
			g.w.count("moved")
		}
		return moved, err
	})
}

func (g *gate) ReportLanes(ctx context.Context, owner string, lanes []campaign.LaneReport) error {
	return only(g, "ReportLanes", "", func() error { return g.Ledger.ReportLanes(ctx, owner, lanes) })
}

func (g *gate) Apply(ctx context.Context, e campaign.Events) (campaign.Applied, error) {
	return pass(g, "Apply", "", func() (campaign.Applied, error) { return g.Ledger.Apply(ctx, e) })
}

func (g *gate) Listen(ctx context.Context, s reception.Span) error {
	return only(g, "Listen", "", func() error { return g.Ledger.Listen(ctx, s) })
}

func (g *gate) Listened(ctx context.Context, after time.Time) ([]reception.Span, error) {
	return pass(g, "Listened", "", func() ([]reception.Span, error) { return g.Ledger.Listened(ctx, after) })
}

func (g *gate) Sweep(ctx context.Context, now time.Time) (campaign.Swept, error) {
	return pass(g, "Sweep", "", func() (campaign.Swept, error) { return g.Ledger.Sweep(ctx, now) })
}

// RoundTrip is the process's way to the service. A request that has reached the service goes on
// there when the process dies.
func (g *gate) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	r.Body.Close()
	if err != nil {
		return nil, err
	}
	m := g.w.read(body)
	began := time.Now()
	resp, err := pass(g, "POST", string(body), func() (*http.Response, error) {
		nth := g.w.seen.post(g.w, m)
		if resp := g.w.answer(m, nth); resp != nil {
			g.w.latency(g.life, "trial"+m.To, uint64(nth)) //nolint:gosec // a small count
			return resp, nil
		}
		r := r.WithContext(r.Context())
		r.Body = io.NopCloser(&unread{body})
		ctx, cancel := context.WithCancel(r.Context())
		stop := context.AfterFunc(g.ctx, cancel)
		resp, err := g.w.wire.RoundTrip(r.WithContext(ctx))
		if err != nil {
			stop()
			cancel()
			return nil, err
		}
		resp.Body = &closer{resp.Body, func() { stop(); cancel() }}
		return resp, nil
	})
	hear := func(text []byte) {
		if !g.dead.Load() {
			g.w.policy.hear(g.w, m, began, resp, text, err)
		}
	}
	if err == nil && resp.StatusCode/100 == 2 { // its body tells whether the message has an id
		resp.Body = &acceptance{ReadCloser: resp.Body, hear: hear}
	} else {
		hear(nil)
	}
	return resp, err
}

// acceptance is the body of an acceptance, which is heard when the client has read it.
type acceptance struct {
	io.ReadCloser
	text []byte
	hear func(text []byte)
}

func (b *acceptance) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.text = append(b.text, p[:n]...)
	return n, err
}

func (b *acceptance) Close() error {
	if b.hear != nil {
		b.hear(b.text)
		b.hear = nil
	}
	return b.ReadCloser.Close()
}
