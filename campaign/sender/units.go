package sender

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"campaignd/campaign"
	"campaignd/throttle"
)

// Quota is a limit of a period on what a connection sends: the plan's allowance, the ramp of the
// number. Each message takes a unit of every quota of its connection before its intent is composed.
type Quota struct {
	throttle.Quota
	// By is campaign.ByAllowance or ByRamp.
	By campaign.LimitedBy
	// Full says, in a sentence for people, that the period has no units left.
	Full string
	// Unknown means that the limit is not known yet: nothing is sent, for the reason in Full.
	Unknown bool
}

// charge is the units that a part of a group has, one of each quota for each message. A nil charge
// has none, because the connection has no quota.
type charge struct {
	drawn []drawn
}

type drawn struct {
	stock *throttle.Stock
	throttle.Drawn
}

// putBack returns the units of n messages that no intent used.
func (c *charge) putBack(n int) {
	if c == nil || n <= 0 {
		return
	}
	for _, d := range c.drawn {
		d.stock.PutBack(d.Drawn, n)
	}
}

// refund returns the units of one message that was definitely not sent.
func (c *charge) refund() {
	if c == nil {
		return
	}
	for _, d := range c.drawn {
		d.stock.Refund(d.Generation)
	}
}

// until is when the commit of an intent with these units must start; zero: any time.
func (c *charge) until() (first time.Time) {
	if c == nil {
		return first
	}
	for _, d := range c.drawn {
		if first.IsZero() || d.Until.Before(first) {
			first = d.Until
		}
	}
	return first
}

// units draws and returns the units of a connection's quotas.
type units struct {
	o      Options
	number *number
	stocks map[campaign.LimitedBy]*throttle.Stock // by Quota.By
}

func newUnits(o Options, n *number) units {
	return units{o, n, map[campaign.LimitedBy]*throttle.Stock{}}
}

// draw draws the units of up to n messages of a run. It returns for how many it got them, or with
// none the limit that the run's lane waits for. Limits of the number alone are asked first: without
// a unit of its ramp a lane takes none of an allowance that other numbers may use.
func (u *units) draw(ctx context.Context, r *run, n int, now time.Time) (int, *charge, campaign.Limit) {
	if u.o.Quotas == nil || n <= 0 {
		return n, nil, campaign.Limit{}
	}
	var c *charge
	quotas := slices.Clone(u.o.Quotas(u.number.connection, now))
	slices.SortStableFunc(quotas, func(a, b Quota) int { return cmp.Compare(shared(a), shared(b)) })
	for _, q := range quotas {
		got, wait := u.drawOne(ctx, q, r, n, now)
		if wait.By != "" {
			c.putBack(n)
			return 0, nil, wait
		}
		if c == nil {
			c = &charge{}
		}
		c.putBack(n - got.N)
		n = got.N
		c.drawn = append(c.drawn, got)
	}
	return n, c, campaign.Limit{}
}

// shared is 1 for a quota of several numbers.
func shared(q Quota) int {
	if q.By == campaign.ByRamp {
		return 0
	}
	return 1
}

// drawOne draws up to n units of one quota, or returns the limit that the lane waits for.
func (u *units) drawOne(ctx context.Context, q Quota, r *run, n int, now time.Time) (drawn, campaign.Limit) {
	limit := campaign.Limit{By: q.By, Detail: q.Full}
	if q.Unknown {
		limit.Until = now.Add(u.o.Tick)
		return drawn{}, limit
	}
	s := u.stocks[q.By]
	if s == nil {
		s = throttle.NewStock(u.o.Counter, u.o.Spent)
		u.stocks[q.By] = s
	}
	d, err := s.Draw(ctx, q.Quota, n, !r.terms().marketing)
	switch {
	case errors.Is(err, throttle.ErrUnavailable):
		u.number.unasked(now, err)
		limit = campaign.Limit{By: campaign.ByLimiter, Until: now.Add(u.o.Tick), Detail: err.Error()}
	case err != nil:
		limit = campaign.Limit{By: campaign.ByLedger, Until: now.Add(time.Second),
			Detail: "the ledger cannot be asked what was sent: " + err.Error()}
	case d.N > 0:
		return drawn{s, d}, campaign.Limit{}
	case d.Empty:
		limit.Until = q.To
	default:
		limit.Until, limit.Detail = d.At, "what was sent since "+q.From.UTC().Format(time.RFC3339)+" is being counted"
	}
	return drawn{}, limit
}

// tidy gives back units that are over or refunded; all of them when nothing here uses them.
func (u *units) tidy(ctx context.Context, unused bool) {
	for by, s := range u.stocks {
		if err := s.Tidy(ctx, unused); err != nil && ctx.Err() == nil {
			u.o.Log.Debug("units not given back: they are counted again later", "connection", u.number.connection, "limit", by, "err", err)
		}
	}
}

// uncharge returns the units of drafts that no intent uses.
func uncharge(drafts []draft) {
	for _, d := range drafts {
		d.charge.putBack(len(d.rows) + len(d.Retries))
	}
}

// overdue reports whether the units of a draft are over at now: the count of their quota may be
// rebuilt without them.
func (d *draft) overdue(now time.Time, grace time.Duration) bool {
	until := d.charge.until()
	return !until.IsZero() && !now.Before(until.Add(grace))
}
