package service

import (
	"context"
	"strconv"
	"strings"

	"campaignd/internal/messaging"
	"campaignd/internal/rawjson"
)

// The throughput of each level, in messages per second (docs/limits.md#throughput).
const (
	throughputStandard    = 80
	throughputHigh        = 1000
	throughputCoexistence = 20
)

// Numbers lists the health of the connected numbers (GET /api/v1/numbers). Path and fields are
// assumed (docs/service.md#assumptions). The error is ErrNotOffered if the service answers 404, 405
// or 501.
func (c *Client) Numbers(ctx context.Context) ([]messaging.Number, error) {
	items, err := c.list(ctx, "numbers", "", nil)
	if err != nil {
		return nil, err
	}
	out := make([]messaging.Number, 0, len(items))
	for _, v := range items {
		out = append(out, numberOf(v))
	}
	return out, nil
}

func numberOf(v rawjson.Value) messaging.Number {
	r := recordOf(numberFields, v)
	n := messaging.Number{
		ConnectionID: r.text("connectionId"), Phone: r.text("phoneNumber"),
		Quality: strings.ToUpper(r.text("qualityRating")), Tier: r.text("messagingLimitTier"),
	}
	n.TierLimit = messaging.TierLimit(n.Tier)
	n.Coexistence, _ = r.get("coexistence").Bool()
	n.Level, n.Throughput = throughput(r.get("throughput"))
	if n.Coexistence && (n.Throughput == 0 || n.Throughput > throughputCoexistence) {
		n.Throughput = throughputCoexistence
	}
	return n
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
