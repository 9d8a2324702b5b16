package launch

import (
	"campaignd/campaign/file"
	"campaignd/internal/sentence"
)

// purchases refuses what needs a commerce platform if none is configured.
func (c *check) purchases() {
	if c.in.Commerce {
		return
	}
	for _, k := range []struct {
		key  string
		used bool
	}{{"holdout", c.d.Holdout != nil}, {"conversions", c.d.Conversions != nil}} {
		if k.used {
			c.say(file.Fault, k.key, "needs the orders of a commerce platform, and none is configured", "set commerce.base_url, or take it out")
		}
	}
}

// unread warns of records of the commerce platform that cannot be read: their people are not in the
// list.
func (c *check) unread() {
	o := c.in.Offer
	if o == nil || o.Unread == 0 {
		return
	}
	what := sentence.Count(o.Unread, "record", "records") + " of the commerce platform cannot be read and are in no row"
	if o.UnreadID != "" {
		what += ", such as " + o.UnreadID
	}
	c.sayOf(o.Unread, file.KindAudience, "audience", what, "correct it there, and launch again to reach these people too")
}

// unagreed refuses a marketing campaign that takes being a customer for consent.
func (c *check) unagreed() {
	if a := c.d.Audience; a != nil && a.Consent == nil && c.p.Marketing {
		c.say(file.Fault, "audience.consent", "missing: a template of marketing needs the customers' consent, and being a customer is none",
			`name where they gave it, such as consent: {field: metadata.consent, values: ["yes"]}`)
	}
}
