package ledger

import (
	"database/sql"

	"campaignd/campaign"
	"campaignd/campaign/conversion"
)

// ScanHint reads id, at, received and events.
func ScanHint(scan func(...any) error) (h campaign.OrderHint, err error) {
	var at, received int64
	err = scan(&h.Order, &at, &received, &h.Events)
	h.At, h.Received = TimeOf(at), TimeOf(received)
	return h, err
}

// Matched is an order beside a delivery to the person who placed it, with what is stored of both.
type Matched struct {
	RID   int64
	Order string

	created, result int64
	state           Outcome // 0: no row
	code            string
	was             int64 // the accepted_at that is stored; -1: none is
}

// ScanMatched reads rid, order, created_at, then state, result_at and code of the outcome, and the
// stored accepted_at.
func ScanMatched(scan func(...any) error) (m Matched, err error) {
	var state sql.NullInt64
	err = scan(&m.RID, &m.Order, &m.created, &state, &m.result, &m.code, &m.was)
	m.state = Outcome(state.Int64)
	return m, err
}

// Touch is what is to be stored of an order and a delivery; write is false if nothing is. closed
// says that the import did not queue the deliveries of the segment: those that it held out count.
func (m *Matched) Touch(closed bool, rule conversion.Rule) (acceptedAt int64, heldOut, write bool) {
	heldOut = m.state == Skipped && m.code == string(campaign.HeldOut)
	if closed && !heldOut {
		return 0, false, false
	}
	if m.state == Accepted && rule.Reaches(TimeOf(m.result), TimeOf(m.created)) {
		acceptedAt = m.result
	}
	return acceptedAt, closed, acceptedAt != m.was
}

// Bought is one row of what CountPurchases reads: an order, and one delivery to its person.
type Bought struct {
	Order conversion.Order
	Touch conversion.Touch
}

// ScanBought reads id, amount, currency, created_at, due, ended and was_paid of an order, then rid,
// accepted_at and held_out.
func ScanBought(scan func(...any) error) (b Bought, err error) {
	var created, due, ended, wasPaid, accepted, heldOut int64
	o, t := &b.Order, &b.Touch
	err = scan(&o.ID, &o.Amount, &o.Currency, &created, &due, &ended, &wasPaid, &t.Delivery, &accepted, &heldOut)
	o.CreatedAt, o.Due, o.Ended, o.WasPaid = TimeOf(created), due == 1, ended == 1, wasPaid == 1
	t.Run, t.Accepted, t.HeldOut = int64(RunOf(t.Delivery)), TimeOf(accepted), heldOut == 1
	return b, err
}

// Fold adds rows to a tally. The rows of an order follow each other.
type Fold struct {
	Tally   conversion.Tally
	order   conversion.Order
	touches []conversion.Touch
}

// Add takes the next row.
func (f *Fold) Add(b *Bought) error {
	if len(f.touches) > 0 && f.order.ID != b.Order.ID {
		if err := f.End(); err != nil {
			return err
		}
	}
	f.order, f.touches = b.Order, append(f.touches, b.Touch)
	return nil
}

// End counts the last order.
func (f *Fold) End() error {
	if len(f.touches) == 0 {
		return nil
	}
	err := f.Tally.Add(&f.order, f.touches)
	f.touches = f.touches[:0]
	return err
}
