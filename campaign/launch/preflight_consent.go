package launch

import (
	"fmt"
	"slices"

	"campaignd/campaign/file"
	"campaignd/internal/sentence"
)

// consent warns of a marketing campaign whose list says who agreed, which the campaign does not
// read.
func (c *check) consent(header []string) {
	if !c.p.Marketing {
		return
	}
	c.p.Consent = c.d.Recipients.UnusedConsent(header)
	if a := c.d.Audience; a != nil && a.Consent != nil {
		c.p.Consent = slices.DeleteFunc(c.p.Consent, func(name string) bool { return name == file.ConsentColumn })
	}
	for _, name := range c.p.Consent {
		c.p.Findings = append(c.p.Findings, file.Finding{Level: file.LevelWarning, Where: c.in.List,
			What:   fmt.Sprintf("column %q looks like consent or an opt-out and is not used", sentence.Shorten(name, 60)),
			Remedy: "name it in recipients.where ({COLUMN: [VALUE]}) or in recipients.ignore"})
	}
}
