package launch

import "time"

// Offer is what was learnt of the commerce platform when the list of an audience was made: what
// will end while it is sent to, and what was assumed.
type Offer struct {
	// Assumed are the keys of the configuration that say what the platform's document does not.
	Assumed []string
	// Discount is audience.discount, and DiscountEnds when it ends; zero: never, or there is none.
	Discount     string
	DiscountEnds time.Time
	// Unread counts the records that the platform gave in no readable form, and UnreadID is the id of
	// one, "" if it has none. They are in no row.
	Unread   int64
	UnreadID string

	expiries map[int64]int64 // unpaid orders of the list, by the minute in which they expire
}

// Expires adds an order that expires at an instant.
func (o *Offer) Expires(at time.Time) {
	if o.expiries == nil {
		o.expiries = map[int64]int64{}
	}
	o.expiries[at.Unix()/60]++
}

// ExpireBefore counts the orders that expire before an instant, to the minute.
func (o *Offer) ExpireBefore(at time.Time) (n int64) {
	for minute, orders := range o.expiries {
		if minute < at.Unix()/60 {
			n += orders
		}
	}
	return n
}
