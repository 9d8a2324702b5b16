package ledger

import "campaignd/campaign"

// The bits of the kind of an outcome above its place: whether it has the times sent and failed.
const (
	kindSent   = 4
	kindFailed = 8
)

// kindOf splits the kind of an outcome: its place, state and rank. The flags are kind / 2048.
func kindOf(kind int64) (place int, state Outcome, rank Rank) {
	return int(kind & 3), Outcome(kind >> 7 & 15), Rank(kind >> 4 & 7)
}

// Counting counts the outcomes of a segment.
type Counting struct {
	Groups []Group
	at     map[groupKey]int // where a group is in Groups
	course *courseSum
}

type groupKey struct {
	place            int
	state            Outcome
	rank             Rank
	connection, code string
}

// NewCounting returns the count of nothing.
func NewCounting() *Counting {
	return &Counting{at: map[groupKey]int{}, course: newCourseSum(segmentPoints)}
}

// Outcomes reads N outcomes that agree in what a summary tells of them: their kind, connection and
// code, the minutes of Course.Series, the bucket of the latency, and N.
func (c *Counting) Outcomes(scan func(...any) error) error {
	var k groupKey
	var kind, bucket, n int64
	var minutes [CourseLines]int64
	if err := scan(&kind, &k.connection, &k.code, &minutes[CourseAccepted], &minutes[CourseDelivered], &minutes[CourseRead],
		&minutes[CourseFailed], &bucket, &n); err != nil {
		return err
	}
	k.place, k.state, k.rank = kindOf(kind)
	i, known := c.at[k]
	if !known {
		i = len(c.Groups)
		c.at[k] = i
		c.Groups = append(c.Groups, Group{Place: k.place, Connection: k.connection, State: k.state, Rank: k.rank, Code: k.code})
	}
	g := &c.Groups[i]
	g.N += n
	flags := int(kind / 2048)
	for _, f := range [...]struct {
		n  *int64
		is bool
	}{{&g.Sent, kind&kindSent != 0}, {&g.Failed, kind&kindFailed != 0}, {&g.Adopted, flags&FlagAdopted != 0},
		{&g.MaybeDuplicate, flags&FlagMaybeDuplicate != 0}, {&g.Ambiguous, flags&FlagAmbiguous != 0}} {
		if f.is {
			*f.n += n
		}
	}
	for line, minute := range minutes {
		if minute >= 0 {
			c.course.count(line, minute, n)
		}
	}
	if bucket >= 0 {
		c.course.latency[bucket] += n
	}
	return nil
}

// Course returns the course of the outcomes, with the countries of their deliveries.
func (c *Counting) Course(countries []campaign.CountryCount) Course {
	c.course.add(&Course{Countries: countries})
	return c.course.course()
}
