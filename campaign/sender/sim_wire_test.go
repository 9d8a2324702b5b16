package sender_test

import (
	"context"
	"fmt"
	"slices"
	"time"

	"campaignd/campaign"
	"campaignd/internal/messaging"
	"campaignd/internal/messaging/service"
	"campaignd/internal/wirelog"
)

// simWire is the wire log of one life.
type simWire struct {
	*wirelog.Log
	g *gate
}

// Note writes nothing once the process is dead. The disk may stand still.
func (s *simWire) Note(p campaign.Post, epoch int64) (int, error) {
	s.g.w.standStill(s.g.life, "wire log", fmt.Sprint(p.Run, "/", p.Seq), uint64(p.Attempt)) //nolint:gosec // attempts are few
	if s.g.dead.Load() {
		return 0, errDead
	}
	return s.Log.Note(p, epoch)
}

// Unposted removes nothing once the process is dead.
func (s *simWire) Unposted(entry int) bool { return s.g.dead.Load() || s.Log.Unposted(entry) }

// simDialer is the client of one life. Each message may wait for a connection.
type simDialer struct {
	*service.Client
	g *gate
}

func (d simDialer) Send(ctx context.Context, m *messaging.Message) (messaging.Receipt, error) {
	k := sent{m.To, m.Template.Name}
	d.g.w.standStill(d.g.life, "connections", k.to+k.template, uint64(d.g.w.seen.tries(d.g.w, k))) //nolint:gosec // tries are few
	return d.Client.Send(ctx, m)
}

// stall is a time in which the wire log, or each connection that is made, stands still.
type stall struct {
	what  string
	from  time.Duration // after the world began
	lasts time.Duration
}

// drawStalls chooses when something stands still, in a quarter of the seeds. The seeds that once
// failed keep their course.
func (w *world) drawStalls() (all []stall) {
	if slices.ContainsFunc(regressions, func(r regression) bool { return r.seed == w.seed }) || !w.chance("stalls", 25) {
		return nil
	}
	at := time.Duration(0)
	for i := range 2 + w.draw("how many stalls", 4) {
		k := uint64(i)
		s := stall{what: []string{"wire log", "connections"}[w.draw("what stands still", 2, k)],
			lasts: []time.Duration{300 * time.Millisecond, 500 * time.Millisecond, 3 * time.Second}[w.draw("stall lasts", 3, k)]}
		s.from = at + time.Duration(w.draw("stall begins", 4_000_000_007, k))
		at = s.from + s.lasts
		all = append(all, s)
	}
	return all
}

// standStill waits for the end of a stall. Each wait ends at an instant of its own.
func (w *world) standStill(life int, what, whose string, nth uint64) {
	for _, s := range w.load.stalls {
		if since := time.Since(w.started) - s.from; s.what == what && since >= 0 && since < s.lasts {
			w.count("stood still: " + what)
			time.Sleep(s.lasts - since)
			w.latency(life, what+whose, nth)
		}
	}
}

// openWire opens the wire log of the nth life, and states what earlier ones had not posted, in
// three of four lives. In the others an earlier log is of another boot.
func (w *world) openWire(ctx context.Context, store campaign.Ledger, g *gate, nth int) (*simWire, error) {
	boot := "a boot"
	if w.draw("another boot", 4, uint64(nth)) == 0 { //nolint:gosec // lives are few
		boot = fmt.Sprintf("boot %d", nth)
	}
	log, err := wirelog.Open(wirelog.Options{Dir: w.dir, Name: "campaignd.db", Ledger: store.LedgerID(), Owner: fmt.Sprintf("process %d", nth),
		Boot: boot})
	if err != nil {
		return nil, err
	}
	for _, d := range log.Dead() {
		n, err := store.Unposted(ctx, d.WireLog)
		if err != nil {
			w.bad("process %d cannot state what %s had posted: %v", nth, d.Owner, err)
			continue
		}
		w.mu.Lock()
		w.counts["queued again by a wire log"] += n
		w.mu.Unlock()
		if err := log.Stated(d); err != nil {
			return nil, err
		}
	}
	return &simWire{log, g}, nil
}
