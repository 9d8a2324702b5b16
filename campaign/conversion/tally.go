package conversion

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/shopspring/decimal"
)

// Conversions are the orders that are attributed to the messages of a run. Scripts rely on the
// JSON.
type Conversions struct {
	Orders int64 `json:"orders"`
	People int64 `json:"people"` // who placed them, by phone number
	// Reversed are attributed orders that ended after they had counted. They are in no other figure.
	Reversed int64     `json:"reversed"`
	Revenue  []Revenue `json:"revenue"` // by currency, in the order of its code
	// Unread counts the orders that the platform gave in no readable form, of every run, and UnreadID
	// is one of them; "" if it has no id. They are in no other figure.
	Unread   int64  `json:"unread,omitempty"`
	UnreadID string `json:"unread_id,omitempty"`
}

// Revenue is the sum of the orders in one currency. It is a decimal number, exact.
type Revenue struct {
	Currency string      `json:"currency"`
	Amount   json.Number `json:"amount"`
}

// Tally folds the orders of a run's recipients.
type Tally struct {
	Run  int64
	Rule Rule
	// Start is when the run started, and End when it ended; zero while it has not. The lift counts the
	// orders from Start to End plus Rule.Within, or to Until if that is earlier and not zero.
	Start, End, Until time.Time
	// Unread and UnreadID are as in Conversions.
	Unread   int64
	UnreadID string

	orders, reversed int64
	people           map[int64]bool
	sums             map[string]decimal.Decimal
	treated, heldOut map[int64]bool
}

// Add counts an order. touches are all deliveries to the person who placed it, of every run.
func (t *Tally) Add(o *Order, touches []Touch) error {
	if t.people == nil {
		t.people, t.sums = map[int64]bool{}, map[string]decimal.Decimal{}
		t.treated, t.heldOut = map[int64]bool{}, map[int64]bool{}
	}
	if t.Rule.Counts(o) && t.inRun(o.CreatedAt) {
		for _, touch := range touches {
			switch {
			case touch.Run != t.Run:
			case touch.HeldOut:
				t.heldOut[touch.Delivery] = true
			default:
				t.treated[touch.Delivery] = true
			}
		}
	}
	last := Last(touches)
	if last < 0 || touches[last].Run != t.Run {
		return nil
	}
	if t.Rule.Reversed(o) {
		t.reversed++
	}
	if !t.Rule.Counts(o) {
		return nil
	}
	amount, err := decimal.NewFromString(o.Amount)
	if err != nil {
		return fmt.Errorf("the amount of an order is no number: %w", err)
	}
	t.orders++
	t.people[touches[last].Delivery] = true
	t.sums[o.Currency] = t.sums[o.Currency].Add(amount)
	return nil
}

// inRun reports whether an order was created while the lift counts orders, in whole seconds.
func (t *Tally) inRun(created time.Time) bool {
	if t.Start.IsZero() || created.Before(t.Start.Truncate(time.Second)) {
		return false
	}
	if !t.Until.IsZero() && !created.Before(t.Until) {
		return false
	}
	return t.End.IsZero() || !created.Truncate(time.Second).After(t.End.Add(t.Rule.Within))
}

// Conversions returns the orders that were counted so far.
func (t *Tally) Conversions() Conversions {
	c := Conversions{Orders: t.orders, People: int64(len(t.people)), Reversed: t.reversed, Revenue: []Revenue{}, Unread: t.Unread,
		UnreadID: t.UnreadID}
	for _, currency := range slices.Sorted(maps.Keys(t.sums)) {
		c.Revenue = append(c.Revenue, Revenue{currency, json.Number(t.sums[currency].String())})
	}
	return c
}

// Lift compares the people of the run. treated is how many the import queued, heldOut how many it
// held out.
func (t *Tally) Lift(treated, heldOut int64) Lift {
	return NewLift(treated, int64(len(t.treated)), heldOut, int64(len(t.heldOut)))
}
