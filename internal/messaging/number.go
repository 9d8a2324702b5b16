package messaging

import (
	"errors"
	"strconv"
	"strings"
)

// ErrNotOffered means that the service has no such endpoint. The configuration must then have the
// values that the endpoint would have returned.
var ErrNotOffered = errors.New("the service does not offer this endpoint")

// Number is the health of one connected number.
type Number struct {
	ConnectionID string
	Phone        string
	// Quality is GREEN, YELLOW, RED or UNKNOWN; "" if the service does not tell it.
	Quality string
	// Tier is the tier as the service writes it, from TIER_250 to TIER_UNLIMITED.
	Tier string
	// TierLimit is the number of unique recipients in a rolling 24 hours, Unlimited, or 0 if unknown.
	TierLimit int64
	// TierAssumed means that the service told no tier, and that TierLimit is that of a new number.
	TierAssumed bool
	// Level is STANDARD, HIGH or another word of the service; "" if it tells a rate or nothing.
	Level string
	// Throughput is in messages per second, inbound and outbound together; 0 if unknown.
	Throughput float64
	// Coexistence means that the platform's business app uses the number too. Such a number has at
	// most 20 messages/s (docs/limits.md#throughput).
	Coexistence bool
}

// Unlimited is the TierLimit of TIER_UNLIMITED.
const Unlimited = -1

// TierLimit reads a messaging limit tier: TIER_250, TIER_2K, TIER_100K, TIER_UNLIMITED, a bare
// number, or -1 for unlimited. It returns 0 for anything else. The platform's own example is the
// integer 2000 (docs/limits.md#tier).
func TierLimit(tier string) int64 {
	s := strings.ToUpper(strings.TrimSpace(tier))
	s = strings.TrimPrefix(s, "TIER_")
	if s == "UNLIMITED" || s == "-1" {
		return Unlimited
	}
	scale := int64(1)
	switch {
	case strings.HasSuffix(s, "K"):
		s, scale = s[:len(s)-1], 1000
	case strings.HasSuffix(s, "M"):
		s, scale = s[:len(s)-1], 1000000
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 0 || n > 1e12 {
		return 0
	}
	return n * scale
}
