package file

import (
	"fmt"
	"strings"

	"campaignd/internal/messaging"
)

// QuickReply is a quick reply of a template.
type QuickReply struct {
	Title string `json:"title"`
	// OptsOut means that a press on it opts the recipient out of marketing.
	OptsOut bool `json:"opts_out"`
}

// String says what a press does.
func (q QuickReply) String() string {
	if q.OptsOut {
		return fmt.Sprintf("%q opts out", shorten(q.Title))
	}
	return fmt.Sprintf("%q does not opt out", shorten(q.Title))
}

// QuickReplies returns the quick replies of the template, and which of them opt out. The campaign
// may give each a payload, in their order.
func QuickReplies(use *TemplateUse, t *messaging.TemplateRecord, o messaging.OptOut) (all []QuickReply) {
	var payloads []string
	for _, b := range use.Buttons {
		if b.Type == "quick_reply" {
			payloads = append(payloads, b.Text)
		}
	}
	for _, b := range t.Component("BUTTONS").Buttons {
		if b.Type != "QUICK_REPLY" {
			continue
		}
		payload := ""
		if len(all) < len(payloads) {
			payload = payloads[len(all)]
		}
		all = append(all, QuickReply{Title: b.Text, OptsOut: o.Pressed(b.Text, payload)})
	}
	return all
}

// CheckOptOut warns of a marketing template without a quick reply that opts out, if its text speaks
// of stopping, or if one of its quick replies may be the platform's own opt-out button, whose title
// is in the language of the template (docs/service.md#opt-outs).
func CheckOptOut(use *TemplateUse, t *messaging.TemplateRecord, o messaging.OptOut, say sayer) {
	if category := strings.ToUpper(t.Category); category != "MARKETING" && (category != "" || use.Category != "MARKETING") {
		return
	}
	var titles []string
	for _, q := range QuickReplies(use, t, o) {
		if q.OptsOut {
			return
		}
		titles = append(titles, fmt.Sprintf("%q", shorten(q.Title)))
	}
	remedy := "if one of them is to opt out, add its title to suppressions.words"
	if len(titles) == 0 {
		remedy = "add a quick reply such as \"Stop promotions\" to the template; people can type the words that docs/service.md#opt-outs lists"
	}
	var text []string
	for _, c := range t.Components {
		text = append(text, c.Text)
	}
	switch said := o.Mentions(strings.Join(text, " . ")); {
	case said != "":
		what := fmt.Sprintf("the marketing text speaks of stopping (%q), and no quick reply opts out", said)
		if len(titles) > 0 {
			what += ": " + strings.Join(titles, ", ")
		}
		say(KindOptOut, "template.name", what, remedy)
	case len(titles) > 0 && !messaging.TitleConfirmed(t.Language):
		say(KindOptOut, "template.name", fmt.Sprintf("no press on a quick reply of this marketing template opts out (%s), and the title of the "+
			"platform's own opt-out button in %s is not known for certain", strings.Join(titles, ", "), t.Language), remedy)
	}
}
