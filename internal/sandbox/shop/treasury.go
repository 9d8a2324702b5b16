package shop

import "time"

// treasuryAccount is a till or a bank account of a company.
type treasuryAccount struct {
	TreasuryAccount
	company          *company
	created, updated Stamp
}

func (a *treasuryAccount) key() string     { return a.ID }
func (a *treasuryAccount) born() time.Time { return a.created.Time }
