package messaging

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
)

// ErrNotOffered: the service has no such endpoint; use what the configuration says.
var ErrNotOffered = errors.New("the service does not offer this endpoint")

// Number is the health of one connected number.
type Number struct {
	ConnectionID string
	Phone        string
	Quality      string  // GREEN, YELLOW, RED, UNKNOWN
	Tier         string  // as written: TIER_250 ... TIER_UNLIMITED
	TierLimit    int64   // unique recipients in a rolling 24 hours; Unlimited; 0 unknown
	Level        string  // STANDARD or HIGH, where the service says so
	Throughput   float64 // messages per second, inbound and outbound; 0 unknown
	Coexistence  bool    // also used in the platform's business app: 20 messages/s at most (platform.md 1)
}

// Unlimited is the TierLimit of TIER_UNLIMITED.
const Unlimited = -1

// The throughput of a level, messages per second (platform.md 1).
const (
	throughputStandard    = 80
	throughputHigh        = 1000
	throughputCoexistence = 20
)

// Numbers lists the health of the connected numbers (GET /api/v1/numbers; path and fields are assumed).
// errors.Is(err, ErrNotOffered) when the service answers 404.
func (c *Client) Numbers(ctx context.Context) ([]Number, error) {
	items, err := c.list(ctx, c.assumed.NumbersPath, "")
	if err != nil {
		return nil, notOffered(err)
	}
	out := make([]Number, 0, len(items))
	for _, v := range items {
		r := c.assumed.record("numbers", numberFields, v)
		n := Number{
			ConnectionID: r.text("connectionId"), Phone: r.text("phoneNumber"),
			Quality: strings.ToUpper(r.text("qualityRating")), Tier: r.text("messagingLimitTier"),
		}
		n.TierLimit = TierLimit(n.Tier)
		n.Coexistence, _ = r.get("coexistence").flag()
		n.Level, n.Throughput = throughput(r.get("throughput"))
		if n.Coexistence && (n.Throughput == 0 || n.Throughput > throughputCoexistence) {
			n.Throughput = throughputCoexistence
		}
		out = append(out, n)
	}
	return out, nil
}

// throughput reads a number, a level, or {level}.
func throughput(v value) (level string, rate float64) {
	if v.isObject() {
		v = v.get("level")
	}
	text := v.text()
	if f, err := strconv.ParseFloat(text, 64); err == nil && f > 0 && f < 1e6 {
		return "", f
	}
	switch level = strings.ToUpper(text); level {
	case "STANDARD":
		rate = throughputStandard
	case "HIGH":
		rate = throughputHigh
	}
	return level, rate
}

// TierLimit reads a messaging limit tier: TIER_250, TIER_2K, TIER_100K, TIER_UNLIMITED,
// a bare number (platform.md 2; the platform's own example is the integer 2000), -1 for
// unlimited. 0 when it says nothing.
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

// notOffered marks a 404 of an endpoint whose existence is only assumed.
func notOffered(err error) error {
	var e *Error
	if errors.As(err, &e) && (e.Status == http.StatusNotFound || e.Status == http.StatusMethodNotAllowed || e.Status == http.StatusNotImplemented) {
		e.Err = ErrNotOffered
	}
	return err
}
