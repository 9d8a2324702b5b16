package launch

import "campaignd/campaign/file"

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
			c.say(file.LevelError, k.key, "needs the orders of a commerce platform, and none is configured", "set commerce.base_url, or take it out")
		}
	}
}

// unagreed refuses a marketing campaign that takes being a customer for consent.
func (c *check) unagreed() {
	if a := c.d.Audience; a != nil && a.Consent == nil && c.p.Marketing {
		c.say(file.LevelError, "audience.consent", "missing: a template of marketing needs the customers' consent, and being a customer is none",
			`name where they gave it, such as consent: {field: metadata.consent, values: ["yes"]}`)
	}
}
