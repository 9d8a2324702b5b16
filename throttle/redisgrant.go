package throttle

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// grant is the script's reply.
type grant struct {
	n          int
	now, first time.Duration // since 1970, by Redis's clock
	cursor     string
	reset      bool
	part       float64
	stage      int64
}

func parseGrant(reply any) (grant, error) {
	bad := func() (grant, error) { return grant{}, fmt.Errorf("the script answered %v", reply) }
	parts, ok := reply.([]any)
	if !ok || len(parts) != 7 {
		return bad()
	}
	n, ok1 := parts[0].(int64)
	now, ok2 := micros(parts[1])
	first, ok3 := micros(parts[2])
	cursor, ok4 := parts[3].(string)
	reset, ok5 := parts[4].(int64)
	part, err1 := strconv.ParseFloat(fmt.Sprint(parts[5]), 64)
	stage, err2 := strconv.ParseInt(fmt.Sprint(parts[6]), 10, 64)
	if !ok1 || !ok2 || !ok3 || !ok4 || !ok5 || n < 0 || err1 != nil || err2 != nil || !(part > 0 && part <= 1) {
		return bad()
	}
	return grant{n: int(n), now: now, first: first, cursor: cursor, reset: reset == 1, part: part, stage: stage}, nil
}

// micros reads a time such as "1763694000123456.250" to the nanosecond; a float64 could not hold
// it.
func micros(v any) (time.Duration, bool) {
	s, ok := v.(string)
	if !ok {
		return 0, false
	}
	whole, part, _ := strings.Cut(s, ".")
	d, err := time.ParseDuration(whole + "us")
	if err != nil {
		return 0, false
	}
	if part != "" {
		ns, err := time.ParseDuration((part + "000")[:3] + "ns")
		if err != nil {
			return 0, false
		}
		d += ns
	}
	return d, true
}
