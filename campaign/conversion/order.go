package conversion

import "time"

// Count says from when on an order counts.
type Count string

// The values of the key conversions.count.
const (
	Paid    Count = "paid"    // while nothing of it is due
	Created Count = "created" // from its creation on
)

// Rule is how a campaign counts orders.
type Rule struct {
	// Within is the longest time from the acceptance of a message to an order that it brought.
	Within time.Duration
	Count  Count
}

// Order is what is known of an order of the commerce platform.
type Order struct {
	ID string
	// Key is recipients.Key of the phone number of the order; 0 without one. It is below 0 if the
	// number was erased.
	Key int64
	// Amount is a decimal number as the platform wrote it.
	Amount    string
	Currency  string
	CreatedAt time.Time
	UpdatedAt time.Time
	Due       bool // something is still to be paid
	Ended     bool // it was cancelled, refunded or deleted
	WasPaid   bool // nothing was due at some time
}

// Counts reports whether the order counts now.
func (r Rule) Counts(o *Order) bool { return !o.Ended && (r.Count == Created || !o.Due) }

// Reversed reports whether the order counted before it ended, also if nobody saw it then.
func (r Rule) Reversed(o *Order) bool { return o.Ended && (r.Count == Created || o.WasPaid) }

// Reaches reports whether a message that was accepted at an instant may have brought an order that
// was created at another. Both count in whole seconds, because the platform may write no fractions.
func (r Rule) Reaches(accepted, created time.Time) bool {
	after := created.Truncate(time.Second).Sub(accepted.Truncate(time.Second))
	return !accepted.IsZero() && after >= 0 && after <= r.Within
}

// Touch is a delivery to the person who placed an order.
type Touch struct {
	Run      int64
	Delivery int64 // unique over all runs
	// Accepted is when the message was accepted, if it may have brought the order (Rule.Reaches, with
	// the rule of its own run); else zero.
	Accepted time.Time
	// HeldOut says that the delivery was held out. Otherwise the import queued it.
	HeldOut bool
}

// Last returns the index of the touch that an order is attributed to: the latest message, over all
// runs. It is -1 if none may have brought the order.
func Last(touches []Touch) int {
	last := -1
	for i, t := range touches {
		if t.Accepted.IsZero() {
			continue
		}
		if last < 0 || t.Accepted.After(touches[last].Accepted) ||
			t.Accepted.Equal(touches[last].Accepted) && t.Delivery > touches[last].Delivery {
			last = i
		}
	}
	return last
}
