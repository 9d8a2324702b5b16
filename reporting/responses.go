package reporting

import (
	"fmt"

	"campaignd/campaign"
	"campaignd/internal/sentence"
)

// ResponsesSentence says what recipients did after a message; "" if that is not known, or if nobody
// did anything.
func ResponsesSentence(r *campaign.Responses) string {
	if r == nil || r.Replied+r.OptedOut == 0 {
		return ""
	}
	return fmt.Sprintf("%s replied to it, and %s opted out after it", sentence.Count(r.Replied, "person", "people"),
		sentence.Count(r.OptedOut, "person", "people"))
}

// responses writes what recipients did after the messages.
func (p page) responses(r *Report) {
	if n := r.Responses; ResponsesSentence(n) != "" {
		p.block("responses (people who wrote after their message)", []entry{
			{"replied", count(n.Replied), share(n.Replied, r.Funnel.Delivered, "delivered")},
			{"opted out", count(n.OptedOut), share(n.OptedOut, r.Funnel.Delivered, "delivered")},
		})
	}
}
