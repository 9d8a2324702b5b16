package shop

import "time"

// discount is a discount of a company.
type discount struct {
	Discount
	company *company
	created Stamp
}

func (d *discount) key() string     { return d.ID }
func (d *discount) born() time.Time { return d.created.Time }
