package ledger

import (
	"strconv"

	"campaignd/campaign"
)

// FiringsKept is how many firings of a campaign whose time has come a ledger keeps.
const FiringsKept = 1000

// FiringClause is the end of a SELECT of firings that reads what f asks for, with its arguments.
func FiringClause(f campaign.FiringFilter) (sql string, args []any) {
	sql, args = " WHERE campaign = $1", []any{f.Campaign}
	switch {
	case f.Open: // the condition of the index firing_open
		sql += " AND outcome IN ('launching', 'waiting')"
	case f.Outcome == campaign.FiringAdded: // the condition of the index firing_added
		sql += " AND outcome = 'added'"
	case f.Outcome == "":
		sql += " AND outcome <> 'added'"
	default:
		args = append(args, string(f.Outcome))
		sql += " AND outcome = $" + strconv.Itoa(len(args))
	}
	if f.Key != "" {
		args = append(args, f.Key)
		sql += " AND key = $" + strconv.Itoa(len(args))
	}
	if !f.Until.IsZero() {
		args = append(args, Millis(f.Until))
		sql += " AND at <= $" + strconv.Itoa(len(args))
	}
	sql += " ORDER BY at DESC, key DESC"
	return limited(sql, args, f.Limit)
}

// FiringMoves tells what becomes of a firing whose stored outcome is was, "" for none, when it is
// noted with the outcome to: whether to write it, and whether its outcome changes. A final outcome
// stays.
func FiringMoves(was, to campaign.FiringOutcome) (write, changed bool) {
	if was != "" && !was.Open() {
		return false, false
	}
	return true, was != to
}

// ScanFiring reads campaign, key, at, missed, missed_since, since, outcome, detail and run.
func ScanFiring(scan func(...any) error) (f campaign.Firing, err error) {
	var at, missedSince, since int64
	err = scan(&f.Campaign, &f.Key, &at, &f.Missed, &missedSince, &since, &f.Outcome, &f.Detail, &f.Run)
	f.At, f.MissedSince, f.Since = TimeOf(at), TimeOf(missedSince), TimeOf(since)
	return f, err
}
