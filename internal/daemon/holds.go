package daemon

import (
	"context"
	"sync"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/wording"
)

// holdWatch knows the holds of the ledger as they were a second ago, for the log and the metrics.
type holdWatch struct {
	d *Daemon

	mu           sync.Mutex
	now          map[holdKey]campaign.Hold
	began, ended map[holdKind]int
}

type holdKey struct {
	scope      campaign.HoldScope
	id, reason string
}

// holdKind labels the metrics of holds.
type holdKind struct{ scope, reason string }

func kindOf(h campaign.Hold) holdKind { return holdKind{string(h.Scope), h.Reason} }

// watchHolds is how often the holds are read for the log and the metrics.
const watchHolds = time.Second

// run reads the holds every second until ctx ends, in a process without an engine that reports
// them.
func (w *holdWatch) run(ctx context.Context) {
	t := time.NewTicker(watchHolds)
	defer t.Stop()
	for {
		w.look(ctx)
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
	}
}

func (w *holdWatch) look(ctx context.Context) {
	if holds, err := w.d.ledger.Holds(ctx, false); err == nil { // else the intake reports the error
		w.see(ctx, holds)
	}
}

// see logs one line for each hold that has begun since the last reading, and one for each that has
// ended. The hold of a breaker that is tested has not ended.
func (w *holdWatch) see(ctx context.Context, holds []campaign.Hold) {
	next := make(map[holdKey]campaign.Hold, len(holds))
	for _, h := range holds {
		next[holdKey{h.Scope, h.ID, h.Reason}] = h
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	gone := 0
	for k := range w.now {
		if _, still := next[k]; !still {
			gone++
		}
	}
	now := time.Now()
	if gone > 0 {
		ended, err := w.d.ledger.Holds(ctx, true)
		if err != nil {
			return
		}
		for _, h := range ended {
			k := holdKey{h.Scope, h.ID, h.Reason}
			if _, was := w.now[k]; !was {
				continue
			}
			if _, still := next[k]; !still {
				w.ended[kindOf(h)]++
				w.d.log.Info("hold ended", "scope", h.Scope, "id", h.ID, "reason", h.Reason, "says", wording.Hold(h, now))
			}
		}
	}
	for k, h := range next {
		if _, was := w.now[k]; !was {
			w.began[kindOf(h)]++
			if w.d.toldByIntake(h, now) {
				continue
			}
			w.d.log.Warn("hold began", "scope", h.Scope, "id", h.ID, "reason", h.Reason, "says", wording.Hold(h, now))
		}
	}
	w.now = next
}

// toldByIntake reports whether the intake of this process has just told the event that began a hold
// of a template, so that a pause is one line.
func (d *Daemon) toldByIntake(h campaign.Hold, now time.Time) bool {
	return d.intake != nil && h.Scope == campaign.HoldTemplate && h.Source == campaign.HoldByEvent && now.Sub(h.Since) < toldLately
}

// toldLately is how old a hold may be that the intake has told: an event comes within seconds.
const toldLately = 10 * time.Second

// counts returns how many holds of each kind there are, and how many began and ended while this
// process looked.
func (w *holdWatch) counts() (now, began, ended map[holdKind]int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now, began, ended = map[holdKind]int{}, map[holdKind]int{}, map[holdKind]int{}
	for k := range w.began {
		now[k] = 0 // a kind that was seen stays, so that its end is seen too
		began[k] = w.began[k]
		ended[k] = w.ended[k]
	}
	for _, h := range w.now {
		now[kindOf(h)]++
	}
	return now, began, ended
}

func newHoldWatch(d *Daemon) *holdWatch {
	return &holdWatch{d: d, now: map[holdKey]campaign.Hold{}, began: map[holdKind]int{}, ended: map[holdKind]int{}}
}
