package ledgertest

import (
	"slices"

	"campaignd/internal/ledger"
)

// codeNames are the names of codes, by their column. A name is that of a single code or of a set of
// codes. The statements have the names as comments.
var codeNames = map[string]map[string][]int{
	"state": {
		"deferred": {int(ledger.Deferred)}, "retrying": {int(ledger.Retrying)}, "in doubt": {int(ledger.Doubt)},
		"unknown": {int(ledger.Unknown)}, "accepted": {int(ledger.Accepted)}, "refused": {int(ledger.Refused)},
		"skipped":      {int(ledger.Skipped)},
		"open":         {int(ledger.Deferred), int(ledger.Retrying), int(ledger.Doubt)}, // of the partial index outcome_open
		"adoptable":    {int(ledger.Doubt), int(ledger.Unknown)},                        // before there was a table attempt
		"not sent":     {int(ledger.Deferred), int(ledger.Refused)},                     // the last attempt
		"perhaps sent": {int(ledger.Doubt), int(ledger.Unknown), int(ledger.Accepted)},
		"troubled":     {int(ledger.Unknown), int(ledger.Refused), int(ledger.Skipped)}, // of outcome_trouble, beside the failed
	},
	"flags": {
		"adopted": {ledger.FlagAdopted}, "may be a duplicate": {ledger.FlagMaybeDuplicate}, "no resend": {ledger.FlagNoResend},
		"ambiguous": {ledger.FlagAmbiguous}, "repeated id": {ledger.FlagRepeatedID},
	},
	"rank": {
		"none": {int(ledger.RankNone)}, "sent": {int(ledger.RankSent)}, "failed": {int(ledger.RankFailed)},
		"delivered": {int(ledger.RankDelivered)}, "read": {int(ledger.RankRead)},
	},
}

// codeName is the name of the codes of a column; "" if they have none.
func codeName(column string, codes ...int) string {
	for name, of := range codeNames[column] {
		if slices.Equal(of, codes) {
			return name
		}
	}
	return ""
}
