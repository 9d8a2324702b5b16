package sandbox

import "time"

// throughput is the limit of a number in messages per second, inbound and outbound together
// (docs/limits.md#throughput).
func throughput(c Connection) int {
	switch {
	case c.Rate > 0:
		return c.Rate
	case c.Coexistence:
		return 20
	case c.Throughput == "HIGH":
		return 1000
	}
	return 80
}

// paired applies the pair limit (docs/limits.md#pair-limit) as a generic cell rate algorithm: burst
// messages may come at once, and after them one message in each interval of length every. It
// reports whether the message is within the limit, and counts it if it is.
func (p *pair) paired(now int64, every time.Duration, burst int) bool {
	tat := max(p.tat, now)
	if tat-now > int64(every)*int64(burst-1) {
		return false
	}
	p.tat = tat + int64(every)
	return true
}

// portfolio counts the unique recipients of a rolling 24 hours. The numbers of one business share
// it (docs/limits.md#tier).
type portfolio struct {
	reached map[uint64]int64 // recipient -> last message, Unix nanoseconds
	queue   []reach          // in order of time
}

type reach struct {
	to uint64
	at int64
}

// reach reports whether the recipient is within the limit, and counts it if it is. A limit of 0
// means that there is no limit.
func (p *portfolio) reach(to uint64, now int64, limit int) bool {
	day := now - int64(24*time.Hour)
	n := 0
	for ; n < len(p.queue) && p.queue[n].at <= day; n++ {
		if r := p.queue[n]; p.reached[r.to] == r.at {
			delete(p.reached, r.to)
		}
	}
	p.queue = p.queue[n:]
	if _, known := p.reached[to]; !known && limit > 0 && len(p.reached) >= limit {
		return false
	}
	p.reached[to] = now
	p.queue = append(p.queue, reach{to, now})
	return true
}

// TierNotSet is the tier that the platform tells of a number that was never used (its page of the
// event phone_number_quality_update, November 2025). Others have null, or no such field.
const TierNotSet = "TIER_NOT_SET"

// tierLimits are the numbers of recipients of the tiers, the old ones and the new ones
// (docs/limits.md#tier).
//
// A portfolio begins with 250 (docs/limits.md#tier).
var tierLimits = map[string]int{
	"TIER_50": 50, "TIER_250": 250, TierNotSet: 250, "": 250,
	"TIER_1K": 1_000, "TIER_2K": 2_000,
	"TIER_10K": 10_000, "TIER_100K": 100_000,
	"TIER_UNLIMITED": 1 << 62,
}

// plan is a monthly allowance of messages (docs/limits.md#allowance).
type plan struct {
	limit, used int64 // limit 0: unlimited
	month       int   // the month of used, by monthOf
}

// left reports whether the plan accepts one more message in the month of now. If that month is not
// the month of used, it first sets used to 0.
func (p *plan) left(now time.Time) bool {
	if m := monthOf(now); m != p.month {
		p.month, p.used = m, 0
	}
	return p.limit == 0 || p.used < p.limit
}

func monthOf(t time.Time) int {
	t = t.UTC()
	return t.Year()*12 + int(t.Month())
}
