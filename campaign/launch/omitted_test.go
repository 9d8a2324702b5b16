package launch_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A recurring export without its line of totals would lose its last recipient each time.
func TestARecipientThatIsLeftOutStopsTheLaunch(t *testing.T) {
	const left = "list.csv:%d: recipients.%s leaves out line %d, which has a phone number; " +
		"lower it to the rows that are no recipients, or remove it; recipients.where leaves out recipients"
	said := func(line int, option string) string { return fmt.Sprintf(left, line, option, line) }
	row := func(n int) string { return fmt.Sprintf("+23480312345%02d,Ada,10,sale\n", n) }
	const totals = "Total,,2,\n"
	for name, c := range map[string]struct {
		options, list string
		want          []string
	}{
		"totals":             {"skip_last: 1", row(1) + row(2) + totals, nil},
		"no totals":          {"skip_last: 1", row(1) + row(2) + row(3), []string{said(4, "skip_last")}},
		"two lines":          {"skip_last: 2", row(1) + row(2) + row(3), []string{said(3, "skip_last")}},
		"no second header":   {"skip_below: 1", row(1) + row(2), []string{said(2, "skip_below")}},
		"neither":            {"skip_below: 1, skip_last: 1", row(1) + row(2) + row(3), []string{said(2, "skip_below"), said(4, "skip_last")}},
		"nobody to send to":  {"skip_last: 1, where: {slug: [sale]}", row(1) + strings.Replace(row(2), "sale", "test", 1), nil},
		"somebody, by where": {"skip_last: 1, where: {slug: [sale]}", row(1) + row(2), []string{said(3, "skip_last")}},
	} {
		text := strings.Replace(springFile, "recipients: {", "recipients: {"+c.options+", ", 1)
		p := preflight(t, springInput(t, text, "phone,first_name,discount,slug\n"+c.list))
		var got []string
		for _, f := range p.Errors() {
			got = append(got, f.String()[strings.LastIndex(f.String(), "list.csv:"):])
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: errors -want +got:\n%s", name, diff)
		}
		if p.OK() != (c.want == nil) || p.ListAtFault() != (c.want != nil) {
			t.Errorf("%s: got OK %v and the list at fault %v, want %v and %v", name, p.OK(), p.ListAtFault(), c.want == nil, c.want != nil)
		}
	}
}
