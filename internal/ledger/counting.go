package ledger

import "campaignd/recipients"

// CountedRow is a delivery with its outcome. A column costs a server as much CPU as the join of
// both, so two of them have several values. Times are Unix milliseconds; 0 is none.
type CountedRow struct {
	// Delivery is the number (NoDelivery: there is only an outcome), then 4 bits of the outcome's
	// state (0: there is no outcome), 3 of its rank and 5 of its flags.
	Delivery int64
	// Result is result_at, then the bits resultSent, resultInitial and resultAbove.
	Result                        int64
	DeliveredAt, ReadAt, FailedAt int64
	Connection                    string // "": that of the segment
	Code                          string // why it is not accepted, or why an accepted message failed
}

// HasOutcome reports whether the row has an outcome.
func (r *CountedRow) HasOutcome() bool { return r.state() != 0 }

func (r *CountedRow) state() Outcome { return Outcome(r.Delivery >> 8 & 15) }

// NoDelivery stands for the number of an outcome without a delivery. No number has 16 digits.
const NoDelivery = 1<<50 - 1

const (
	resultAbove   = 1 // the row is at or above the mark
	resultInitial = 2 // the outcome is of attempt 0
	resultSent    = 4 // the outcome has sent_at
)

// Counting counts the rows of a segment.
type Counting struct {
	Groups  []Group
	usual   map[int]int      // where a group without connection and code is in Groups
	at      map[groupKey]int // the same of the other groups
	course  *courseSum
	latency [latencyBuckets]int64
	areas   map[int64]*area
}

type groupKey struct {
	kind             int
	connection, code string
}

// NewCounting returns the count of nothing.
func NewCounting() *Counting {
	return &Counting{usual: map[int]int{}, at: map[groupKey]int{}, course: newCourseSum(segmentPoints), areas: map[int64]*area{}}
}

// Row counts a row.
func (c *Counting) Row(r *CountedRow) {
	number, state, rank := r.Delivery>>12, r.state(), Rank(r.Delivery>>5&7)
	if number != NoDelivery {
		c.countArea(number, state, rank, r.FailedAt > 0)
	}
	if state == 0 {
		return
	}
	c.group(r, state, rank).add(r)
	for line, at := range [...]int64{CourseDelivered: r.DeliveredAt, CourseRead: r.ReadAt, CourseFailed: r.FailedAt} {
		if at > 0 {
			c.course.count(line, at/60000, 1)
		}
	}
	if state == Accepted {
		at := r.Result >> 3
		c.course.count(CourseAccepted, at/60000, 1)
		if r.DeliveredAt > 0 {
			c.latency[bucketOf(r.DeliveredAt-at)]++
		}
	}
}

// group returns the group of an outcome.
func (c *Counting) group(r *CountedRow, state Outcome, rank Rank) *Group {
	place, code := int(r.Result&resultAbove), "" // PlaceAbove is the same bit
	if state == Skipped && r.Result&resultInitial != 0 {
		place |= PlaceUnposted
	}
	if state == Deferred || state >= Refused || rank == RankFailed {
		code = r.Code
	}
	kind := place<<8 | int(state)<<4 | int(rank)
	key := groupKey{kind, r.Connection, code}
	rare := key.connection != "" || key.code != ""
	var i int
	var known bool
	if rare {
		i, known = c.at[key]
	} else {
		i, known = c.usual[kind]
	}
	if known {
		return &c.Groups[i]
	}
	i = len(c.Groups)
	if rare {
		c.at[key] = i
	} else {
		c.usual[kind] = i
	}
	c.Groups = append(c.Groups, Group{Place: place, Connection: r.Connection, State: state, Rank: rank, Code: code})
	return &c.Groups[i]
}

// add counts an outcome of the group.
func (g *Group) add(r *CountedRow) {
	g.N++
	if r.Result&resultSent != 0 {
		g.Sent++
	}
	if r.FailedAt > 0 {
		g.Failed++
	}
	flags := r.Delivery & 31
	if flags == 0 {
		return
	}
	if flags&FlagAdopted != 0 {
		g.Adopted++
	}
	if flags&FlagMaybeDuplicate != 0 {
		g.MaybeDuplicate++
	}
	if flags&FlagAmbiguous != 0 {
		g.Ambiguous++
	}
}

// Summary returns what the rows add up to.
func (c *Counting) Summary(where *recipients.Countries) SegmentSummary {
	for bucket, n := range c.latency {
		if n > 0 {
			c.course.latency[int64(bucket)] += n
		}
	}
	c.course.add(&Course{Countries: c.countries(where)})
	return SegmentSummary{c.Groups, c.course.course()}
}
