package purchases

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/conversion"
	"campaignd/internal/commerce"
	"campaignd/internal/faults"
)

// Sizes of the steps. A page of the platform has 100 orders; as many are stored at once. The hints
// of a step are asked for by askers at once, at the rate of the client.
const (
	storeAtOnce = 100
	hintsAtOnce = 64
	askers      = 8
)

// overlap is how far a poll goes back behind the last change that it knows: rows shift from page
// to page while a list is read, and the platform may store an order after a later one.
const overlap = time.Hour

// future is how far the clock of the platform may be ahead. A later order is kept, and counts when
// its time has come.
const future = 5 * time.Minute

// Take reads the changed orders if a poll is due, else asks for the orders of some hints. more
// says that hints are left.
func (k *Keeper) Take(ctx context.Context) (more bool, err error) {
	if k.client == nil {
		if k.client, err = k.o.Client(); err != nil {
			return false, err
		}
	}
	if err := k.buyer.learn(ctx, k); err != nil {
		return false, err
	}
	var pollErr error
	if now := time.Now(); now.Sub(k.polled) >= k.o.Poll {
		if pollErr = k.poll(ctx, now); pollErr == nil {
			k.polled = now
		}
	}
	more, err = k.ask(ctx) // also if no list can be read
	k.tellAhead()
	if pollErr != nil {
		err = pollErr
	}
	return more, err
}

// poll reads the orders that changed since the last poll. The first poll reads those since the
// first run began that is still counted.
func (k *Keeper) poll(ctx context.Context, now time.Time) error {
	until, err := k.o.Ledger.PolledUntil(ctx)
	if err != nil {
		return err
	}
	since := until
	if since.IsZero() {
		if since, err = k.firstStart(ctx, now); err != nil || since.IsZero() {
			return err
		}
	}
	var step []conversion.Order
	var unread []string
	store := func() error {
		if len(unread) > 0 {
			if err := k.o.Ledger.StoreUnread(ctx, unread, now); err != nil {
				return err
			}
			unread = unread[:0]
		}
		if len(step) == 0 {
			return nil
		}
		if err := k.store(ctx, step); err != nil {
			return err
		}
		step = step[:0]
		return nil
	}
	oldest, newest := since.Add(-overlap), since
	if !until.IsZero() && until.Before(now.Add(-campaign.LeastRetention)) {
		oldest = until.Add(time.Millisecond) // what an earlier poll has stored, retention may have deleted
	}
	for o, err := range k.client.Orders(ctx, commerce.OrderQuery{Sort: "-updated_at", Customer: true}) {
		if odd, ok := errors.AsType[*commerce.RecordError](err); ok {
			if unread = append(unread, odd.ID); len(unread) == storeAtOnce {
				if err := store(); err != nil {
					return err
				}
			}
			k.odd.add(err)
			continue
		}
		if err != nil {
			var e *commerce.Error
			if errors.As(err, &e) && e.Code == commerce.CodeNotFound {
				err = fmt.Errorf("no list of orders: set commerce.assumed.orders_path to its path: %w", err)
			}
			return errors.Join(err, store())
		}
		if !o.UpdatedAt.IsZero() && o.UpdatedAt.Before(oldest) {
			break
		}
		if o.UpdatedAt.After(newest) && !o.UpdatedAt.After(now) {
			newest = o.UpdatedAt.Time
		}
		if step = append(step, k.purchase(&o, now)); len(step) == storeAtOnce {
			if err := store(); err != nil {
				return err
			}
		}
	}
	if err := store(); err != nil {
		return err
	}
	k.tellOdd()
	if !newest.Equal(until) {
		if err := k.o.Ledger.SetPolledUntil(ctx, newest); err != nil {
			return err
		}
	}
	first, err := k.firstStart(ctx, now)
	if err != nil || first.IsZero() {
		return err
	}
	return k.o.Ledger.AskAgain(ctx, first.Add(-time.Second), now.Add(-askAgainAfter), now, hintsAtOnce)
}

// askAgainAfter is how long an order that counts is believed without an answer about it: the
// platform may have removed it, and then no event and no list names it.
const askAgainAfter = 24 * time.Hour

// tellOdd logs the orders that could not be read, once until none is left.
func (k *Keeper) tellOdd() {
	if k.odd.orders == 0 {
		if times := k.known.Succeeded("odd"); times > 0 {
			k.o.Log.Info("every order of the commerce platform that changed lately can be read again")
		}
	} else if changed, before := k.known.Failed("odd", faults.Words(k.odd.err)); changed {
		k.o.Log.Warn("orders of the commerce platform cannot be read: they are left out until they change",
			faults.Counting(before, "orders", k.odd.orders, "err", k.odd.err)...)
	}
	k.odd = count{}
}

// firstStart is when the first run started whose orders are counted; zero: there is no such run.
func (k *Keeper) firstStart(ctx context.Context, now time.Time) (first time.Time, err error) {
	runs, err := k.counted(ctx, now)
	for _, r := range runs {
		if first.IsZero() || r.run.StartedAt.Before(first) {
			first = r.run.StartedAt
		}
	}
	return first, err
}

func (k *Keeper) store(ctx context.Context, orders []conversion.Order) error {
	err := k.o.Ledger.StorePurchases(ctx, orders)
	if err == nil {
		k.matched()
	}
	return err
}

// ask asks for the orders of the oldest hints that are due. An order that the platform does not
// have, or does not give in the documented form, is given up: a poll reads it if it changes. One
// that fails is asked for again later.
func (k *Keeper) ask(ctx context.Context) (more bool, err error) {
	hints, err := k.o.Ledger.Hints(ctx, hintsAtOnce+len(k.aside))
	if err != nil {
		return false, err
	}
	now := time.Now()
	hints = k.due(hints, now)
	answers := k.answers(ctx, hints)
	for _, a := range answers {
		if a.err == nil {
			k.answered = now
		}
	}
	var orders []conversion.Order
	var over, gone []campaign.OrderHint
	var unread []string
	var unshown, failed, lost count
	for i, a := range answers {
		var e *commerce.Error
		switch {
		case a.err == nil:
			orders, over = append(orders, k.purchase(&a.order, now)), append(over, hints[i])
		case errors.As(a.err, &e) && e.Code == commerce.CodeNotFound:
			gone = append(gone, hints[i])
			unshown.add(a.err)
		case errors.As(a.err, &e) && (e.Code == commerce.CodeBadAnswer || e.Code == commerce.CodeTooLong):
			over, unread = append(over, hints[i]), append(unread, hints[i].Order)
			unshown.add(a.err)
		case errors.As(a.err, &e) && ofOneOrder(e) && k.mayPutAside(hints[i].Order):
			if failed.add(a.err); k.putAside(hints[i].Order, time.Now()) {
				over = append(over, hints[i])
				lost.add(a.err)
			}
		default:
			err = a.err // the others of this step are stored
		}
	}
	k.tellAsked(unshown, failed, lost)
	if len(orders) > 0 {
		if err := k.store(ctx, orders); err != nil {
			return false, err
		}
	}
	if len(unread) > 0 {
		if err := k.o.Ledger.StoreUnread(ctx, unread, now); err != nil {
			return false, err
		}
	}
	if removed, e := k.remove(ctx, gone, now); e != nil {
		err = errors.Join(err, e)
	} else if removed > 0 {
		k.o.Log.Warn("orders that counted are not at the commerce platform any more: they count no longer", "orders", removed)
	}
	if err := k.giveUp(ctx, over); err != nil {
		return false, err
	}
	return err == nil && len(hints) == hintsAtOnce, err
}

// remove ends the orders of the hints, for which the platform answered that it has no such order,
// and returns how many of them counted. The same answer comes for every order if the route, the
// company or the shop of the configuration is wrong, so it needs another order that the platform
// shows within the hour, or a list of orders that is empty. Without such proof the hints are given
// up, and the orders are asked for again another day.
func (k *Keeper) remove(ctx context.Context, gone []campaign.OrderHint, now time.Time) (removed int, err error) {
	if len(gone) == 0 {
		return 0, nil
	}
	if now.Sub(k.answered) > time.Hour {
		for o, err := range k.client.Orders(ctx, commerce.OrderQuery{Sort: "-updated_at"}) {
			if errors.As(err, new(*commerce.RecordError)) {
				continue
			}
			if err == nil {
				_, err = k.client.Order(ctx, o.ID)
			}
			if err != nil {
				return 0, k.giveUp(ctx, gone)
			}
			break
		}
		k.answered = now
	}
	for _, h := range gone {
		counted, err := k.o.Ledger.RemovePurchase(ctx, h)
		if err != nil {
			return removed, err
		}
		if counted {
			removed++
		}
	}
	return removed, nil
}

// giveUp ends hints.
func (k *Keeper) giveUp(ctx context.Context, hints []campaign.OrderHint) error {
	for _, h := range hints {
		if err := k.o.Ledger.EndHint(ctx, h); err != nil {
			return err
		}
	}
	return nil
}

// answers asks the platform about each of the hints.
func (k *Keeper) answers(ctx context.Context, hints []campaign.OrderHint) []answer {
	answers := make([]answer, len(hints))
	var asking sync.WaitGroup
	turn := make(chan struct{}, askers)
	for i, h := range hints {
		asking.Go(func() {
			turn <- struct{}{}
			defer func() { <-turn }()
			answers[i] = k.answer(ctx, h)
		})
	}
	asking.Wait()
	return answers
}

// answer is what the platform answered about a hint.
type answer struct {
	order commerce.Order
	err   error
}

func (k *Keeper) answer(ctx context.Context, h campaign.OrderHint) (a answer) {
	if a.order, a.err = k.client.Order(ctx, h.Order); a.err != nil || k.buyer.key(phoneOfBilling(&a.order)) != 0 || a.order.CustomerID == "" {
		return a
	}
	// The customer's number counts if the billing address has none.
	customer, err := k.client.Customer(ctx, a.order.CustomerID)
	var e *commerce.Error
	switch {
	case err == nil:
		a.order.Customer = &customer
	case errors.As(err, new(*commerce.RecordError)): // the order counts, for nobody yet
	case !errors.As(err, &e) || e.Code != commerce.CodeNotFound:
		a.err = err
	}
	return a
}

// aheadEvery is the least time between two lines of the log about orders of the future. If this
// machine's clock is behind, each new order is one.
const aheadEvery = time.Hour

// tellAhead logs that orders were created in the future.
func (k *Keeper) tellAhead() {
	if now := time.Now(); k.ahead.orders > 0 && now.Sub(k.ahead.told) >= aheadEvery {
		k.ahead.told = now
		k.o.Log.Warn("orders were created in the future: they count when their time has come; check this machine's clock",
			"orders", k.ahead.orders, "order", k.ahead.example.ID, "created_at", k.ahead.example.CreatedAt)
	}
	k.ahead.orders = 0
}

// purchase is an order as the ledger keeps it.
func (k *Keeper) purchase(o *commerce.Order, now time.Time) conversion.Order {
	updated := o.UpdatedAt.Time
	if updated.IsZero() {
		updated = o.CreatedAt.Time
	}
	key := k.buyer.key(phoneOfBilling(o))
	if key == 0 && o.Customer != nil {
		key = k.buyer.key(o.Customer.Phone)
	}
	due := o.AmountDue.IsPositive()
	out := conversion.Order{ID: o.ID, Key: key, Amount: o.Amount.String(), Currency: o.Currency, CreatedAt: o.CreatedAt.Time,
		UpdatedAt: updated, Due: due, Ended: o.Ended(), WasPaid: !due}
	if out.CreatedAt.After(now.Add(future)) {
		k.ahead.orders, k.ahead.example = k.ahead.orders+1, out
	}
	return out
}

func phoneOfBilling(o *commerce.Order) string {
	if o.Billing.Address == nil {
		return ""
	}
	return o.Billing.Address.Phone
}
