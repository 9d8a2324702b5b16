package ledger

import (
	"encoding/json"
	"fmt"

	"campaignd/campaign"
)

// Cells are the cells of a delivery as the ledger stores them. The error says that its seq is out
// of range.
func Cells(no campaign.RunNo, d *campaign.Delivery) (string, error) {
	if d.Seq < 0 || d.Seq >= MaxSeq {
		return "", fmt.Errorf("run %d: seq %d is out of range", no, d.Seq)
	}
	cells, err := json.Marshal(NonNil(d.Cells))
	if err != nil {
		return "", fmt.Errorf("run %d row %d: %w", no, d.Row, err)
	}
	return string(cells), nil
}

// Followed says whether a delivery of a follow-up run takes its recipient for that run.
func Followed(d *campaign.Delivery) bool { return d.Key != 0 && d.Skip == "" }

// CheckSegments refuses segments that do not lie where their index says.
func CheckSegments(no campaign.RunNo, segments []campaign.Segment) error {
	for _, s := range segments {
		if first := s.Index * campaign.SegmentSize; s.Lo != first || s.Hi < s.Lo || s.Hi > s.Lo+campaign.SegmentSize {
			return fmt.Errorf("run %d: segment %d covers %d to %d, want at most %d from %d", no, s.Index, s.Lo, s.Hi, campaign.SegmentSize, first)
		}
	}
	return nil
}

// CheckImportEnd refuses a state in which no import ends, and a list in which a phone key is queued
// twice: the importer looks for such keys in its memory, and this query for those that it missed.
// It reports false if the run is not importing any more. run reads the run, twice finds such keys.
func CheckImportEnd(
	no campaign.RunNo, to campaign.State, run func() (campaign.Run, error), twice func() ([]campaign.Problem, error),
) (importing bool, err error) {
	if to != campaign.Ready && to != campaign.WaitingApproval {
		return false, fmt.Errorf("run %d: an import ends as ready or waiting_approval, not %s", no, to)
	}
	r, err := run()
	if err != nil || r.State != campaign.Importing {
		return false, err
	}
	found, err := twice()
	if len(found) > 0 && err == nil {
		err = fmt.Errorf("run %d: row %d has the phone number of an earlier row and is not marked as a duplicate", no, found[0].Row)
	}
	return true, err
}

// CheckImportRows refuses the end of an import of fewer or more rows than the list has.
func CheckImportRows(no campaign.RunNo, have, rows int64) error {
	if have != rows {
		return fmt.Errorf("run %d has %d rows in the ledger, the list has %d: the import did not reach its end", no, have, rows)
	}
	return nil
}
