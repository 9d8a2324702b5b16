package sender

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"campaignd/campaign"
)

// renewer keeps the leases of a number's segments alive.
type renewer struct {
	e       *Engine
	number  *number
	planner signal
	owned   atomic.Pointer[[]*segment]
}

// keep tells the renewer which segments the planner owns now.
func (w *renewer) keep(segments []*segment) {
	c := slices.Clone(segments)
	w.owned.Store(&c)
}

// run renews the leases of the owned segments until ctx ends. A lease whose segment has another
// owner by now is lost. While the ledger cannot be reached, leases run out.
func (w *renewer) run(ctx context.Context) {
	said := ""
	for {
		if sleep(ctx, w.number.jitter("renew", w.e.o.Lease/3)); ctx.Err() != nil {
			return
		}
		asked, err := w.renew(ctx)
		switch {
		case err != nil:
			// Once, not at each try.
			if why := cause(err); ctx.Err() == nil && why != said && !errors.Is(err, campaign.ErrUnwritable) {
				said = why
				w.e.o.Log.Error("leases cannot be renewed: they run out unless they can be soon",
					"connection", w.number.connection, "err", err)
			}
		case asked && said != "":
			said = ""
			w.e.o.Log.Info("leases are renewed again", "connection", w.number.connection)
		}
	}
}

// renew asks for another term of each lease. It reports false when there is none.
func (w *renewer) renew(ctx context.Context) (asked bool, err error) {
	owned := w.owned.Load()
	if owned == nil || len(*owned) == 0 {
		return false, nil
	}
	var live []*segment
	var leases []campaign.Lease
	for _, s := range *owned {
		if !s.lost.Load() {
			live, leases = append(live, s), append(leases, s.claimed)
		}
	}
	kept, err := w.e.ledger.Renew(ctx, leases, w.e.o.Lease)
	if err != nil {
		return true, err
	}
	type key struct {
		run          campaign.RunNo
		index, epoch int64
	}
	until := make(map[key]time.Time, len(kept))
	for _, l := range kept {
		until[key{l.Run, l.Index, l.Epoch}] = l.Until
	}
	for _, s := range live {
		if at, ok := until[key{s.claimed.Run, s.claimed.Index, s.claimed.Epoch}]; ok {
			s.until.Store(at.UnixNano())
		} else {
			s.lost.Store(true)
		}
	}
	w.planner.send()
	return true, nil
}
