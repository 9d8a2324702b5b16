package messaging

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"campaignd/internal/rawjson"
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

// The throughput of each level, in messages per second (docs/limits.md#throughput).
const (
	throughputStandard    = 80
	throughputHigh        = 1000
	throughputCoexistence = 20
)

// Numbers lists the health of the connected numbers (GET /api/v1/numbers). Path and fields are
// assumed (docs/service.md#assumptions). The error is ErrNotOffered if the service answers 404, 405
// or 501.
func (c *Client) Numbers(ctx context.Context) ([]Number, error) {
	items, err := c.list(ctx, c.assumed.NumbersPath, "")
	if err != nil {
		return nil, notOffered(err)
	}
	out := make([]Number, 0, len(items))
	for _, v := range items {
		r := recordOf(numberFields, v)
		n := Number{
			ConnectionID: r.text("connectionId"), Phone: r.text("phoneNumber"),
			Quality: strings.ToUpper(r.text("qualityRating")), Tier: r.text("messagingLimitTier"),
		}
		n.TierLimit = TierLimit(n.Tier)
		n.Coexistence, _ = r.get("coexistence").Bool()
		n.Level, n.Throughput = throughput(r.get("throughput"))
		if n.Coexistence && (n.Throughput == 0 || n.Throughput > throughputCoexistence) {
			n.Throughput = throughputCoexistence
		}
		out = append(out, n)
	}
	return out, nil
}

// throughput reads a rate, a level, or {level}.
func throughput(v rawjson.Value) (level string, rate float64) {
	if v.IsObject() {
		v = v.Get("level")
	}
	text := v.Text()
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

// notOffered marks the 404, 405 or 501 of an endpoint that is only assumed to exist.
func notOffered(err error) error {
	var e *Error
	if !errors.As(err, &e) {
		return err
	}
	switch e.Status {
	case http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusNotImplemented:
		e.Err = ErrNotOffered
	}
	return err
}
