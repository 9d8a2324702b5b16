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
	unused := c.d.Recipients.UnusedConsent(header)
	if a := c.d.Audience; a != nil && a.Consent != nil {
		unused = slices.DeleteFunc(unused, func(name string) bool { return name == file.ConsentColumn })
	}
	for _, name := range unused {
		c.p.Findings = append(c.p.Findings, file.Warning(file.KindConsent, 0, c.in.List,
			fmt.Sprintf("column %q looks like consent or an opt-out and is not used", sentence.Shorten(name, 60)),
			"name it in recipients.where ({COLUMN: [VALUE]}) or in recipients.ignore"))
	}
}
