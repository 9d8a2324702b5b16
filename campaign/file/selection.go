package file

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"campaignd/campaign"

	"github.com/invopop/jsonschema"
)

// Selection chooses customers of the commerce platform. internal/audience makes a list of them
// (docs/commerce.md#audiences).
type Selection struct {
	// From is FromCustomers, FromTopCustomers, FromPayments or FromUnpaidOrders.
	From string `yaml:"from" json:"from"`
	// Product is the id of the product of FromTopCustomers.
	Product string `yaml:"product,omitempty" json:"product,omitempty"`
	// Since is how old payments or orders may be; 0: any age.
	Since campaign.Duration `yaml:"since,omitempty" json:"since,omitempty"`
	// Consent says who agreed to messages. Marketing requires it.
	Consent *ConsentRule `yaml:"consent,omitempty" json:"consent,omitempty"`
	// Language leaves out the people of another language than the template's.
	Language *LanguageRule `yaml:"language,omitempty" json:"language,omitempty"`
	// Discount is a code that must be valid when the list is made; "": none.
	Discount string `yaml:"discount,omitempty" json:"discount,omitempty"`
	// PaymentLink fills a variable with a link that pays an unpaid order; nil: no link is made.
	PaymentLink *PaymentLink `yaml:"payment_link,omitempty" json:"payment_link,omitempty"`
}

// The values of Selection.From.
const (
	FromCustomers    = "customers"     // all
	FromTopCustomers = "top_customers" // the best of one product
	FromPayments     = "payments"      // who paid
	FromUnpaidOrders = "unpaid_orders" // who has an order of which an amount is due
)

// ConsentRule says which customers agreed.
type ConsentRule struct {
	// Field is metadata.NAME of the customer.
	Field string `yaml:"field" json:"field"`
	// Values are those that mean consent. They are compared without case.
	Values []string `yaml:"values" json:"values"`
}

// LanguageRule says which language of a template a customer reads.
type LanguageRule struct {
	// Default is that of customers whose preferred language is not in Map.
	Default string `yaml:"default" json:"default"`
	// Map maps preferred languages to those of templates.
	Map map[string]string `yaml:"map,omitempty" json:"map,omitempty"`
}

// The columns of an audience's list that decide whether a row is sent.
const (
	ConsentColumn  = "consent"
	LanguageColumn = "preferred_language"
)

const metadataField = "metadata."

// Member returns the name of the member of a customer's metadata.
func (c *ConsentRule) Member() string { return strings.TrimPrefix(c.Field, metadataField) }

// gives reports whether a value means consent.
func (c *ConsentRule) gives(value string) bool {
	return slices.ContainsFunc(c.Values, func(v string) bool { return strings.EqualFold(clean(v), clean(value)) })
}

// reads returns the language of templates for a preferred language.
func (l *LanguageRule) reads(preferred string) string {
	for from, to := range l.Map {
		if strings.EqualFold(clean(from), clean(preferred)) {
			return to
		}
	}
	return l.Default
}

// Skip returns why a person is left out who has these values, and a sentence; "" for somebody who
// is not. language is that of the template.
func (s *Selection) Skip(consent, preferred, language string) (campaign.SkipReason, string) {
	switch {
	case s.Consent != nil && !s.Consent.gives(consent):
		return campaign.NoConsent, "the customer has no value of audience.consent.values in " + s.Consent.Field
	case s.Language != nil && s.Language.reads(preferred) != language:
		return campaign.OtherLanguage, fmt.Sprintf("the customer reads %q, and the template is in %q",
			shorten(s.Language.reads(preferred)), language)
	}
	return "", ""
}

// choice is a Selection with the columns of a list; -1 where nothing is judged.
type choice struct {
	s                       *Selection
	consent, language, link int
	template                string
}

// choice finds the columns that the selection judges by; nil if there is no selection.
func (d *Definition) choice(header []string) (c *choice, missing []MissingColumn) {
	s := d.Audience
	if s == nil {
		return nil, nil
	}
	find := func(used bool, path, name string) int {
		if !used {
			return -1
		}
		at, twice := columnNamed(name, header)
		switch {
		case twice:
			missing = append(missing, MissingColumn{path, fmt.Sprintf("the list has several columns %q", name), "rename all but one"})
		case at < 0:
			missing = append(missing, MissingColumn{path, fmt.Sprintf("the list has no column %q", name),
				"make the list with `campaignd commerce audience`"})
		}
		return at
	}
	c = &choice{s: s, template: d.Template.Language,
		consent:  find(s.Consent != nil, "audience.consent", ConsentColumn),
		language: find(s.Language != nil, "audience.language", LanguageColumn),
		link:     find(s.PaymentLink != nil, "audience.payment_link", LinkColumn)}
	return c, missing
}

// skip returns why a row is left out.
func (c *choice) skip(cells []string) (campaign.SkipReason, string) {
	if c == nil {
		return "", ""
	}
	cell := func(i int) string {
		if i < 0 || i >= len(cells) {
			return ""
		}
		return cells[i]
	}
	if reason, why := c.s.Skip(cell(c.consent), cell(c.language), c.template); reason != "" {
		return reason, why
	}
	return c.s.PaymentLink.Skip(cell(c.link))
}

// LeftOut returns why the selection of the campaign leaves a row out, and a sentence; "" if it does
// not.
func (r *Renderer) LeftOut(cells []string) (campaign.SkipReason, string) { return r.choice.skip(cells) }

func selections() []string {
	return []string{FromCustomers, FromTopCustomers, FromPayments, FromUnpaidOrders}
}

const maxSince = 87600 * time.Hour // ten years

func (s *Source) checkSelection(d *Definition) {
	a := d.Audience
	if a == nil {
		return
	}
	if a.From == "" {
		s.at("audience.from", "missing", "want one of "+strings.Join(selections(), ", "))
	}
	s.oneOf("audience.from", a.From, selections())
	if (a.From == FromTopCustomers) != (a.Product != "") {
		s.at("audience.product", "belongs to from: top_customers, which needs it", "give the id of a product, or take it out")
	}
	if a.Since != 0 {
		s.between("audience.since", a.Since, time.Minute, maxSince)
		if a.From != FromPayments && a.From != FromUnpaidOrders {
			s.at("audience.since", "belongs to from: payments and from: unpaid_orders", "take it out")
		}
	}
	if c := a.Consent; c != nil {
		if !strings.HasPrefix(c.Field, metadataField) || c.Member() == "" {
			s.at("audience.consent.field", fmt.Sprintf("%q is no member of a customer's metadata", shorten(c.Field)), "want metadata.NAME")
		}
		if len(c.Values) == 0 || slices.ContainsFunc(c.Values, func(v string) bool { return clean(v) == "" }) {
			s.at("audience.consent.values", "an empty value is no consent", `want the values that mean consent, such as ["yes"]`)
		}
	}
	if l := a.Language; l != nil {
		reached := l.Default == d.Template.Language
		for _, to := range l.Map {
			reached = reached || to == d.Template.Language
		}
		if !reached {
			s.at("audience.language", fmt.Sprintf("no customer reads %q, the template's language", shorten(d.Template.Language)),
				"let default or a value of map be that language")
		}
	}
	s.checkLink(d)
	if d.Recipients.File != "" {
		s.at("recipients.file", "stands beside audience, which makes the list", "take one of them out")
	}
}

// selectionNotes describe the key audience in the JSON Schema.
func selectionNotes() []note {
	return []note{
		{path: "audience", text: "Customers of the commerce platform, instead of recipients.file."},
		{path: "audience.from", text: "Which customers: all, the best of a product, those who paid, or those with an unpaid order.",
			oneOf: selections()},
		{path: "audience.product", text: "The id of the product; top_customers only."},
		{path: "audience.since", text: "How old payments or orders may be; default any age."},
		{path: "audience.consent", text: "Who agreed to messages; a marketing template requires it."},
		{path: "audience.consent.field", text: "A member of the customer's metadata.", pattern: `^metadata\..+$`,
			examples: []any{"metadata.consent"}},
		{path: "audience.consent.values", text: "The values that mean consent, without regard to case."},
		{path: "audience.language", text: "Leave out the people of another language than the template's."},
		{path: "audience.language.default", text: "The language of customers whose preferred language is not in map."},
		{path: "audience.language.map", text: "Preferred languages, and the languages of templates that they mean."},
		{path: "audience.discount", text: "The code of a discount, which must be valid when the list is made.",
			more: func(s *jsonschema.Schema) { s.MinLength = ptr(1) }},
		{path: "audience.payment_link", text: "Fill a variable with a link to pay the order; unpaid_orders only."},
		{path: "audience.payment_link.variable", text: "The variable of the template."},
		{path: "audience.payment_link.strip", text: "The beginning of the links, which the button of the template has.",
			examples: []any{"https://pay.example/"}},
		{path: "audience.payment_link.success_url", text: "Where the payer goes after the payment."},
		{path: "audience.payment_link.cancel_url", text: "Where the payer goes who cancels."},
	}
}
