package reporting

import (
	"cmp"
	"strings"

	"campaignd/internal/sentence"
)

// cost shows the messages whose price was told, and what they cost.
func (p page) cost(r *Report) {
	if r.Cost == nil {
		return
	}
	var lines []entry
	for _, b := range r.Cost.Messages {
		name := strings.TrimSpace(cmp.Or(b.Category, "?") + " " + cmp.Or(b.Type, "?") + " " + b.Market)
		lines = append(lines, entry{name, count(b.Delivered), "delivered of " + sentence.Count(b.Messages, "message", "messages")})
	}
	for _, a := range r.Cost.Amounts {
		lines = append(lines, entry{"cost in " + a.Currency, a.Amount.String(), "of what was delivered, by the rates of prices"})
	}
	if n := r.Cost.Unrated; n > 0 {
		lines = append(lines, entry{"without a rate", count(n), "delivered; prices has no rate for them"})
	}
	p.block("prices that the platform told", lines)
}
