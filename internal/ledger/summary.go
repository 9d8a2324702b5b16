package ledger

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"campaignd/campaign"
)

// SummaryPage is how many segments one snapshot counts: some 3 ms of reading for each, if nothing
// of them is kept.
const SummaryPage = 8

// CountedSegment is a segment whose rows are counted.
type CountedSegment struct {
	Segment
	Connection  string
	done, alive bool // it is done, its lease is live
}

// ScanCountedSegment reads id, lo, hi, mark and connection of a segment, whether it is done, and
// whether its lease is live.
func ScanCountedSegment(scan func(...any) error) (s CountedSegment, err error) {
	err = scan(&s.Key, &s.Lo, &s.Hi, &s.Mark, &s.Connection, &s.done, &s.alive)
	return s, err
}

// KeptSegment is a counted segment with its summary, if that is kept.
type KeptSegment struct {
	CountedSegment
	Retired        bool   // retention deleted its deliveries
	counts, course string // JSON; "" when it is not kept, or not asked for
}

// ScanKeptSegment reads what ScanCountedSegment reads, then counts and course of the summary, and
// whether its deliveries were deleted.
func ScanKeptSegment(scan func(...any) error) (s KeptSegment, err error) {
	err = scan(&s.Key, &s.Lo, &s.Hi, &s.Mark, &s.Connection, &s.done, &s.alive, &s.counts, &s.course, &s.Retired)
	return s, err
}

// Kept returns the summary that is kept.
func (s *KeptSegment) Kept() (sum SegmentSummary, kept bool, err error) {
	if s.counts == "" {
		return sum, false, nil
	}
	err = json.Unmarshal([]byte(s.counts), &sum.Groups)
	if err == nil && s.course != "" {
		err = json.Unmarshal([]byte(s.course), &sum.Course)
	}
	if err != nil {
		err = fmt.Errorf("summary of segment %d of run %d: %w", s.Key&0xffffffff, RunOf(s.Key), err)
	}
	return sum, true, err
}

// Group is N outcomes of a segment with the same place, connection, state, rank and code.
type Group struct {
	Place      int     `json:"p,omitempty"` // the sum of PlaceAbove and PlaceUnposted
	Connection string  `json:"c,omitempty"` // "": that of the segment
	State      Outcome `json:"s"`
	Rank       Rank    `json:"r,omitempty"`
	Code       string  `json:"e,omitempty"` // of deferred, refused and skipped deliveries; of failed ones the code of the failure
	N          int64   `json:"n"`

	// How many of them have the time or the flag.
	Sent           int64 `json:"sent,omitempty"`
	Failed         int64 `json:"failed,omitempty"`
	Adopted        int64 `json:"adopted,omitempty"`
	MaybeDuplicate int64 `json:"dup,omitempty"`
	Ambiguous      int64 `json:"amb,omitempty"`
}

// The places of outcomes in a segment.
const (
	PlaceAbove    = 1 // at or above the mark
	PlaceUnposted = 2 // skipped before an attempt
)

// ScanGroup reads the columns of a group.
func ScanGroup(scan func(...any) error) (g Group, err error) {
	err = scan(&g.Place, &g.Connection, &g.State, &g.Rank, &g.Code, &g.N, &g.Sent, &g.Failed, &g.Adopted, &g.MaybeDuplicate, &g.Ambiguous)
	return g, err
}

// SegmentSummary is what the rows of a segment add up to.
type SegmentSummary struct {
	Groups []Group
	Course Course
}

// Equal reports whether two summaries of a segment count the same.
func (s *SegmentSummary) Equal(o *SegmentSummary) bool {
	groups := func(s *SegmentSummary) map[Group]bool {
		all := map[Group]bool{}
		for _, g := range s.Groups {
			all[g] = true
		}
		return all
	}
	a, b := &s.Course, &o.Course
	return maps.Equal(groups(s), groups(o)) && a.Step == b.Step && slices.Equal(a.Series, b.Series) &&
		slices.Equal(a.Latency, b.Latency) && slices.Equal(a.Countries, b.Countries)
}

// Summing adds up the summaries of segments.
type Summing struct {
	connections map[string]*connectionSum
	course      *courseSum
}

type connectionSum struct {
	tallies []campaign.Tally
	funnel  campaign.Funnel
}

// NewSumming returns the sum of nothing.
func NewSumming() *Summing {
	return &Summing{map[string]*connectionSum{}, newCourseSum(runPoints)}
}

func (s *Summing) of(connection string) *connectionSum {
	c := s.connections[connection]
	if c == nil {
		c = &connectionSum{}
		s.connections[connection] = c
	}
	return c
}

// Add adds a segment. A delivery without an outcome is queued at or above the mark, and dispatched
// below it. In a segment that is done each delivery has an outcome, unless the ledger is damaged;
// Audit finds the others.
func (s *Summing) Add(c *CountedSegment, sum *SegmentSummary) {
	alive := c.alive && !c.done
	below, above := c.Mark-c.Lo, c.Hi-c.Mark
	for _, g := range sum.Groups {
		if g.Place&PlaceAbove != 0 {
			above -= g.N
		} else {
			below -= g.N
		}
		connection := cmp.Or(g.Connection, c.Connection)
		if g.Place&PlaceUnposted != 0 {
			connection = ""
		}
		s.of(connection).fold(g, alive)
	}
	if c.done {
		s.of(c.Connection).add(campaign.InDoubt, "", below+above)
	} else {
		s.of(c.Connection).add(Dispatched(alive), "", below)
		s.of("").add(campaign.Queued, "", above)
	}
	s.course.add(&sum.Course)
}

// Merge adds another sum.
func (s *Summing) Merge(o *Summing) {
	for name, c := range o.connections {
		to := s.of(name)
		to.tallies = campaign.SumTallies(append(to.tallies, c.tallies...))
		to.funnel = to.funnel.Plus(c.funnel)
	}
	course := o.course.course()
	s.course.add(&course)
}

func (c *connectionSum) add(s campaign.Status, reason string, n int64) {
	if n != 0 {
		c.tallies = append(c.tallies, campaign.Tally{Status: s, Reason: reason, N: n})
	}
}

// fold adds a group. alive tells whether the lease of its segment is live.
func (c *connectionSum) fold(g Group, alive bool) {
	c.add(shown(g.State, g.Rank, alive), g.Code, g.N)
	f := campaign.Funnel{Adopted: g.Adopted, MaybeDuplicate: g.MaybeDuplicate, Ambiguous: g.Ambiguous}
	if g.State == Accepted {
		// A later status implies the earlier ones: a message that was read was delivered and sent.
		f.Accepted, f.Failed, f.Sent = g.N, g.Failed, g.Sent
		if g.Rank >= RankDelivered {
			f.Delivered, f.Sent = g.N, g.N
		}
		if g.Rank == RankRead {
			f.Read = g.N
		}
	}
	c.funnel = c.funnel.Plus(f)
}

// Summary returns the sum as a report tells it.
func (s *Summing) Summary(at time.Time) (sum campaign.Summary) {
	sum = s.course.summary()
	sum.At = at
	for _, name := range slices.Sorted(maps.Keys(s.connections)) {
		c := s.connections[name]
		if tallies := campaign.SumTallies(c.tallies); len(tallies) > 0 {
			sum.Connections = append(sum.Connections, campaign.ConnectionCount{Connection: name, Tallies: tallies, Funnel: c.funnel})
		}
	}
	return sum
}
