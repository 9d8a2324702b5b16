package ledger

import (
	"cmp"
	"slices"
	"time"
)

// quarter is the period of the counts that are kept of done segments, in milliseconds. In every
// time zone midnight begins one.
const quarter = int64(15 * time.Minute / time.Millisecond)

// SpentPage is how many segments one snapshot counts: a few milliseconds of reading.
const SpentPage = 16

// SentSegment is a segment of which something may have been sent.
type SentSegment struct {
	Key        int64
	From, To   int64 // row ids of the deliveries below its mark
	Done       bool
	Connection string
}

// ScanSentSegment reads key, lo, mark, hi and done of a segment, and its connection.
func ScanSentSegment(scan func(...any) error) (s SentSegment, err error) {
	var lo, mark, hi int64
	err = scan(&s.Key, &lo, &mark, &hi, &s.Done, &s.Connection)
	if s.Done {
		mark = hi
	}
	no := RunOf(s.Key)
	s.From, s.To = RowID(no, lo), RowID(no, mark)
	return s, err
}

// SpentGroup counts the outcomes of a segment of one quarter of an hour.
type SpentGroup struct {
	Connection string // "": that of the segment
	Quarter    int64
	Rows       int64
	// Sent counts those that were accepted or are in doubt, Retrying those that are posted again now,
	// and Twice those of which an earlier attempt may have been accepted too.
	Sent, Retrying, Twice int64
}

// ScanSpentGroup reads the columns of a group.
func ScanSpentGroup(scan func(...any) error) (g SpentGroup, err error) {
	err = scan(&g.Connection, &g.Quarter, &g.Rows, &g.Sent, &g.Retrying, &g.Twice)
	return g, err
}

// Folded is a row of the table spent.
type Folded struct {
	Segment, Quarter int64
	Connection       string
	N                int64
}

// spentCount adds up what was sent since a time, by connection.
type spentCount struct {
	since int64 // the quarter
	sum   map[string]int64
	folds []Folded
}

// CountSpent adds up what was sent since a time, by connection. kept reads, in one snapshot, the
// sums of the table spent from a quarter of an hour on, and the key of the last segment. page reads
// the next SpentPage segments behind the key after that are not in that table, and the groups of
// each. fold writes what it is given into the table.
func CountSpent(
	since time.Time, kept func(quarter int64) (sum map[string]int64, last int64, err error),
	page func(after, last int64) ([]SentSegment, map[int][]SpentGroup, error), fold func([]Folded) error,
) (map[string]int64, error) {
	c := spentCount{since: max(Millis(since), 0) / quarter}
	sum, last, err := kept(c.since)
	c.sum = sum
	for after := int64(0); err == nil; {
		var segments []SentSegment
		var groups map[int][]SpentGroup
		if segments, groups, err = page(after, last); err != nil {
			break
		}
		c.folds = nil
		for i, s := range segments {
			c.add(s, groups[i])
			after = s.Key
		}
		if len(c.folds) > 0 {
			err = fold(c.folds)
		}
		if err == nil && len(segments) < SpentPage {
			return c.sum, nil
		}
	}
	return nil, err
}

// add adds a segment with its groups. A delivery below the mark without an outcome is being posted,
// or its owner died. The count of a done segment is kept, unless it was moved.
func (c *spentCount) add(s SentSegment, groups []SpentGroup) {
	rows, kept := int64(0), len(c.folds)
	several := slices.ContainsFunc(groups, func(g SpentGroup) bool { return g.Connection != "" && g.Connection != s.Connection })
	for _, g := range groups {
		rows += g.Rows
		n := g.Sent + g.Twice
		by := cmp.Or(g.Connection, s.Connection)
		if g.Quarter >= c.since {
			c.sum[by] += n
		}
		if c.sum[by] += g.Retrying; s.Done && n > 0 && !several {
			c.folds = append(c.folds, Folded{s.Key, g.Quarter, s.Connection, n})
		}
	}
	if !s.Done {
		c.sum[s.Connection] += s.To - s.From - rows
	} else if len(c.folds) == kept && !several {
		c.folds = append(c.folds, Folded{s.Key, 0, s.Connection, 0}) // nothing was sent
	}
}
