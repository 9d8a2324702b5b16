package file

import (
	"fmt"
	"net/url"
	"strings"

	"campaignd/campaign"
	"campaignd/internal/messaging"
)

// PaymentLink fills a variable of the template with the link to pay the order of a row
// (docs/commerce.md#payment-links).
type PaymentLink struct {
	// Variable is the name of the variable.
	Variable string `yaml:"variable" json:"variable"`
	// Strip is what the variable leaves out at the beginning of the link, because a URL button has it
	// already; "": nothing.
	Strip string `yaml:"strip,omitempty" json:"strip,omitempty"`
	// SuccessURL and CancelURL are where the payer goes afterwards; "": where the platform leads.
	SuccessURL string `yaml:"success_url,omitempty" json:"success_url,omitempty"`
	CancelURL  string `yaml:"cancel_url,omitempty" json:"cancel_url,omitempty"`
}

// LinkColumn is the column of an audience's list that has the whole links.
const LinkColumn = "payment_link"

// fills reports whether the link is the value of a variable.
func (p *PaymentLink) fills(variable string) bool { return p != nil && p.Variable == variable }

// Skip returns why a row with this link is left out, and a sentence; "" if it is not.
func (p *PaymentLink) Skip(link string) (campaign.SkipReason, string) {
	switch link = clean(link); {
	case p == nil:
	case link == "":
		return campaign.NoPaymentLink, "the commerce platform made no payment link for the order"
	case !strings.HasPrefix(link, p.Strip) || link == p.Strip:
		return campaign.NoPaymentLink, "the payment link does not begin with audience.payment_link.strip"
	}
	return "", ""
}

// Example is a link that leads nowhere, for checks.
func (p *PaymentLink) Example() string {
	if p.Strip == "" {
		return "https://example.invalid/pay"
	}
	return p.Strip + "EXAMPLE"
}

func (s *Source) checkLink(d *Definition) {
	p := d.Audience.PaymentLink
	if p == nil {
		return
	}
	const path = "audience.payment_link"
	if d.Audience.From != FromUnpaidOrders {
		s.at(path, "belongs to from: unpaid_orders", "take it out")
	}
	if !isIdentifier(p.Variable) {
		s.at(path+".variable", "not a name that a template can use", "want the variable of the template that gets the link, such as pay")
	} else if used := d.Template.variables(); !used[p.Variable] {
		s.at(path+".variable", fmt.Sprintf("the template does not use %q", shorten(p.Variable)),
			fmt.Sprintf(`fill a button with it, such as {type: url, text: "{{ .%s }}"}`, p.Variable))
	}
	if len(d.Recipients.Columns[p.Variable]) > 0 {
		s.at("recipients.columns."+p.Variable, "audience.payment_link fills this variable", "take one of them out")
	}
	for _, a := range []struct{ key, address string }{{"strip", p.Strip}, {"success_url", p.SuccessURL}, {"cancel_url", p.CancelURL}} {
		if u, err := url.Parse(a.address); a.address != "" && (err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http") {
			s.at(path+"."+a.key, fmt.Sprintf("%q is no web address", shorten(a.address)), "want https://host/path")
		}
	}
}

// variables are the names of the variables that the campaign fills.
func (t *TemplateUse) variables() map[string]bool {
	used := map[string]bool{}
	texts := append([]string{t.OTP}, t.Body...)
	for _, b := range t.Buttons {
		texts = append(texts, b.Text)
	}
	if _, m := t.Header.Media(); m != nil {
		texts = append(texts, m.Link)
	}
	for _, text := range texts {
		for _, name := range variables(text) {
			used[name] = true
		}
	}
	return used
}

// CheckLink compares payment_link.strip with the address of each button that the link fills: what
// the button has before the variable must be what the variable leaves out.
func CheckLink(d *Definition, t *messaging.TemplateRecord, connection string, say sayer) {
	if d.Audience == nil || d.Audience.PaymentLink == nil {
		return
	}
	on := ""
	if connection != "" {
		on = " on connection " + connection
	}
	p, addresses := d.Audience.PaymentLink, buttonAddresses(d, t)
	for i, b := range d.Template.Buttons {
		text, ok := textBefore(p.Variable, b.Text)
		if b.Type != "url" || !ok || addresses[i] == "" {
			continue
		}
		fixed, _, _ := strings.Cut(addresses[i], "{{")
		if fixed += text; fixed != p.Strip {
			say(Fault, "audience.payment_link.strip", fmt.Sprintf("%q is not the beginning of button %d%s, so links would lead elsewhere",
				shorten(p.Strip), i+1, on), fmt.Sprintf("the button begins with %q", shorten(fixed)))
		}
	}
}

// textBefore returns what a parameter has before a variable; false if it does not have the
// variable, or another one comes first.
func textBefore(variable, text string) (string, bool) {
	ps, err := parts(text)
	if err != nil || len(ps) == 0 {
		return "", false
	}
	first, rest := "", ps
	if !ps[0].variable {
		first, rest = ps[0].text, ps[1:]
	}
	return first, len(rest) > 0 && rest[0].text == variable
}
