package purchases

import (
	"time"

	"campaignd/campaign"
	"campaignd/internal/commerce"
	"campaignd/internal/faults"
)

// A hint whose order the platform fails to answer for is asked for again behind the others: after
// failing at first, then twice as late each time, at most asideWait. It ends after asideFor if the
// list of orders was read meanwhile. At most asideAtOnce wait so; when more fail, the platform
// itself does, and a step ends with its error.
const (
	asideWait   = time.Hour
	asideFor    = 24 * time.Hour
	asideAtOnce = 1024
)

// trial is a hint whose order could not be had.
type trial struct {
	first, next time.Time // when it failed first, and when it is asked for again
	wait        time.Duration
}

// ofOneOrder reports whether an error may be of one order alone: others may have an answer.
func ofOneOrder(e *commerce.Error) bool {
	switch e.Code {
	case commerce.CodeServer, commerce.CodeInvalid, commerce.CodeTimeOut:
		return true
	}
	return false
}

// due returns the hints to ask for now, at most hintsAtOnce: first those that did not fail, then
// those whose wait is over, the oldest first. It forgets the waits of hints that have ended.
func (k *Keeper) due(hints []campaign.OrderHint, now time.Time) []campaign.OrderHint {
	waiting := make(map[string]trial, len(k.aside))
	var first, again []campaign.OrderHint
	for _, h := range hints {
		t, failed := k.aside[h.Order]
		if failed {
			waiting[h.Order] = t
		}
		switch {
		case !failed:
			first = append(first, h)
		case !now.Before(t.next):
			again = append(again, h)
		}
	}
	k.aside = waiting
	first = append(first, again...)
	return first[:min(len(first), hintsAtOnce)]
}

// mayPutAside reports whether the hint of one more order may wait, or this one does already.
func (k *Keeper) mayPutAside(order string) bool {
	_, known := k.aside[order]
	return known || len(k.aside) < asideAtOnce
}

// putAside lets a hint wait that failed, and reports whether it is over: it failed for asideFor,
// and a poll has read the changed orders since.
func (k *Keeper) putAside(order string, now time.Time) (over bool) {
	t, known := k.aside[order]
	if !known {
		t = trial{first: now, wait: failing / 2}
	}
	t.wait = min(2*t.wait, asideWait)
	t.next = now.Add(t.wait)
	k.aside[order] = t
	return now.Sub(t.first) >= asideFor && k.polled.After(t.first)
}

// count counts orders with an error, and keeps the last.
type count struct {
	orders int
	err    error
}

func (c *count) add(err error) { c.orders, c.err = c.orders+1, err }

// tellAsked logs what became of the hints of a step that had no order. Orders that fail for the
// same cause are one line until none waits any more.
func (k *Keeper) tellAsked(unshown, failed, lost count) {
	if unshown.orders > 0 {
		k.o.Log.Warn("events name orders that the commerce platform does not show", "orders", unshown.orders, "err", unshown.err)
	}
	if len(k.aside) == 0 {
		k.known.Succeeded("aside")
	}
	if failed.orders > 0 {
		if changed, before := k.known.Failed("aside", faults.Words(failed.err)); changed {
			k.o.Log.Warn("the commerce platform fails for orders that events name: they are asked for again, later each time",
				faults.Counting(before, "orders", failed.orders, "err", explained(failed.err))...)
		}
	}
	if lost.orders > 0 {
		k.o.Log.Warn("orders that events name are given up, because the commerce platform failed for a day; the list of orders has them",
			"orders", lost.orders, "err", lost.err)
	}
}
