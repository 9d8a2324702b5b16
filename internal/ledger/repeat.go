package ledger

import (
	"strings"

	"campaignd/campaign"
)

// The conditions, in the SQL of both databases, for the delivery of a person in another run. o is
// its outcome, where it has one. In a flagged row an earlier attempt may have been sent.
const (
	wasSent = `(o.state IN (2 /* retrying */, 3 /* in doubt */, 4 /* unknown */) OR o.state = 5 /* accepted */ AND o.rank <> 2 /* failed */
		OR o.flags & 2 /* may be a duplicate */ <> 0)`
	isQueued = `(o.rid IS NULL OR o.state = 1 /* deferred */)`

	// IsRepeated is true if the delivery p.other, of the run r and the segment s, was sent or may have
	// been. One that is still to be sent counts if its run was launched before that of p.rid: of two
	// runs that leave out each other's people, one then sends to them.
	IsRepeated = `(` + wasSent + ` OR o.rid IS NULL AND (p.other & 4294967295) < s.mark
		OR ` + isQueued + ` AND p.other < p.rid AND r.ended_at = 0 AND r.wanted <> 'cancel')`

	// SentRows reads the deliveries [$1, $2) of a segment that campaign.SentFilter selects, as
	// ReadSentRows does: $3 is the row id of the mark, $4 and $5 are 1 for Queued and Failed, $6 is
	// Since.
	SentRows = `SELECT coalesce(string_agg(d.key || ' ' || (d.rid & 4294967295), ','), '') FROM delivery d
		LEFT JOIN outcome o ON o.rid = d.rid AND o.rid >= $1 AND o.rid < $2
		WHERE d.rid >= $1 AND d.rid < $2 AND d.key > 0
		AND (` + wasSent + ` OR o.rid IS NULL AND d.rid < $3 OR ` + isQueued + ` AND $4 = 1 OR o.state = 5 /* accepted */ AND $5 = 1)
		AND (o.rid IS NULL OR o.state IN (1 /* deferred */, 2 /* retrying */) OR o.result_at >= $6)`
)

// ReadSentRows reads the text of SentRows. lo is the first seq of the segment.
func ReadSentRows(text string, lo int64) (rows []campaign.SentRow, err error) {
	var all []KeyRow
	if all, err = readKeys(make([]KeyRow, 0, strings.Count(text, ",")+1), text); err != nil {
		return nil, err
	}
	for _, r := range all { // a segment lies in one part
		rows = append(rows, campaign.SentRow{Key: r.Key, Seq: lo/partRows*partRows + r.Row})
	}
	return rows, nil
}
