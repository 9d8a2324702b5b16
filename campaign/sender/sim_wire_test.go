package sender_test

import (
	"context"
	"fmt"

	"campaignd/campaign"
	"campaignd/internal/wirelog"
)

// simWire is the wire log of one life.
type simWire struct {
	*wirelog.Log
	g *gate
}

// Note writes nothing once the process is dead.
func (s *simWire) Note(p campaign.Post, epoch int64) (int, error) {
	if s.g.dead.Load() {
		return 0, errDead
	}
	return s.Log.Note(p, epoch)
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
