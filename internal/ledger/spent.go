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

// SpentSegment is a segment of which something may have been sent, and whose count is not kept yet.
type SpentSegment struct {
	Key        int64
	From, To   int64 // row ids of the deliveries below its mark
	Done       bool
	Connection string
}

// ScanSpentSegment reads key, lo, mark, hi and done of a segment, and its connection.
func ScanSpentSegment(scan func(...any) error) (s SpentSegment, err error) {
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

// ScanSpentGroup reads the columns of a group behind those of lead.
func ScanSpentGroup(scan func(...any) error, lead ...any) (g SpentGroup, err error) {
	err = scan(append(lead, &g.Connection, &g.Quarter, &g.Rows, &g.Sent, &g.Retrying, &g.Twice)...)
	return g, err
}

// Folded is a row of the table spent.
type Folded struct {
	Segment, Quarter int64
	Connection       string
	N                int64
}

// SpentCount adds up what was sent since a time.
type SpentCount struct {
	since int64 // the quarter
	sum   map[string]int64
	folds []Folded
}

// NewSpent begins a count.
func NewSpent(since time.Time) *SpentCount {
	return &SpentCount{since: max(Millis(since), 0) / quarter, sum: map[string]int64{}}
}

// Kept adds a sum of the table spent.
func (c *SpentCount) Kept(connection string, n int64) { c.sum[connection] += n }

// Since is the first quarter of an hour that counts.
func (c *SpentCount) Since() int64 { return c.since }

// Add adds a segment with its groups. A delivery below the mark without an outcome is being posted,
// or its owner died. The count of a done segment is kept, unless it was moved.
func (c *SpentCount) Add(s SpentSegment, groups []SpentGroup) {
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

// Folds returns what is to be kept, and forgets it.
func (c *SpentCount) Folds() []Folded {
	folds := c.folds
	c.folds = nil
	return folds
}

// Sum returns the messages by connection.
func (c *SpentCount) Sum() map[string]int64 { return c.sum }
