package launch_test

import (
	"fmt"
	"strings"
	"testing"

	"campaignd/campaign"
	"campaignd/campaign/file"
	"campaignd/campaign/launch"
)

func TestAWrongAudienceIsRefused(t *testing.T) {
	for _, c := range []struct{ yaml, want string }{
		{"{}", "audience.from: missing"},
		{"{from: customer}", `did you mean "customers"?`},
		{"{from: top_customers}", "audience.product: belongs to from: top_customers, which needs it"},
		{"{from: customers, product: 01J8}", "audience.product:"},
		{"{from: customers, since: 1h}", "audience.since: belongs to"},
		{"{from: payments, since: 59s}", "audience.since: 59s is out of bounds"},
		{"{from: customers, consent: {field: consent, values: [y]}}", "audience.consent.field:"},
		{"{from: customers, consent: {field: metadata.a, values: []}}", "audience.consent.values:"},
		{"{from: customers, consent: {field: metadata.a, values: ['']}}", "audience.consent.values: an empty value is no consent"},
		{"{from: customers, language: {default: fr}}", `audience.language: no customer reads "en_US"`},
		{"{from: customers, payment_link: {variable: pay}}", "audience.payment_link: belongs to from: unpaid_orders"},
		{"{from: unpaid_orders, payment_link: {}}", "audience.payment_link.variable: not a name"},
		{"{from: unpaid_orders, payment_link: {variable: pay}}", `audience.payment_link.variable: the template does not use "pay"`},
		{"{from: unpaid_orders, payment_link: {variable: pay, strip: pay/}}", `"pay/" is no web address; want https://host/path`},
		{"{from: unpaid_orders, payment_link: {variable: pay, cancel_url: 'ftp://a'}}", "audience.payment_link.cancel_url:"},
		{"{from: unpaid_orders, payment_link: {variable: pay}}\nrecipients: {columns: {pay: A}}", "recipients.columns.pay: audience"},
		{"{from: customers}\nrecipients: {file: a.csv}", "recipients.file: stands beside audience"},
	} {
		_, err := file.Parse("a.yaml", []byte(minimal+"audience: "+c.yaml+"\n"))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v; want %q", c.yaml, err, c.want)
		}
	}
}

func TestRecordsThatCannotBeReadAreNamed(t *testing.T) {
	src := minimal + "audience: {from: customers}\n"
	p, err := launch.RunPreflight(t.Context(), launch.PreflightInput{Definition: parse(t, src), File: "c.yaml", Source: []byte(src),
		List: writeFile(t, "list.csv", "phone\n+237650000001\n"), Offer: &launch.Offer{Unread: 2, UnreadID: "01J8"}})
	if want := "audience: 2 records of the commerce platform cannot be read and are in no row, such as 01J8"; err != nil ||
		!strings.Contains(fmt.Sprint(p.Warnings()), want) {
		t.Errorf("got %v, %v; want the warning %q", p.Warnings(), err, want)
	}
}

func TestMarketingNeedsConsent(t *testing.T) {
	list := writeFile(t, "list.csv", "phone,consent,preferred_language\n+237650000001,Yes,fr\n+237650000002,no,en\n+237650000003,yes,en\n"+
		"+237650000002,yes,de\n")
	src := strings.Replace(minimal, "language: en_US", "language: en_US, category: MARKETING", 1)
	check := func(audience string) *launch.Preflight {
		p, err := launch.RunPreflight(t.Context(), launch.PreflightInput{Definition: parse(t, src+audience), File: "c.yaml",
			Source: []byte(src + audience), List: list})
		if err != nil {
			t.Fatalf("%s: %v; want no error", audience, err)
		}
		return p
	}
	if p := check("audience: {from: customers}\n"); p.OK() || !strings.Contains(fmt.Sprint(p.Errors()), "audience.consent: missing") {
		t.Errorf("got %v; want that consent is missing", p.Errors())
	}
	// The second customer of a phone may agree for it. A language that no map names is the default.
	p := check("audience: {from: customers, consent: {field: metadata.consent, values: ['yes']}, language: {default: en_US, map: {fr: fr}}}\n")
	if !p.OK() || p.Sendable != 2 || p.Skipped[campaign.NoConsent] != 1 || p.Skipped[campaign.OtherLanguage] != 1 || p.BadRows() != 0 {
		t.Errorf("got %d sendable, %v, %d bad, %v; want 2 sendable, and 1 skipped for each reason",
			p.Sendable, p.Skipped, p.BadRows(), p.Errors())
	}
	other := writeFile(t, "other.csv", "phone\n+237650000001\n")
	list = other
	if p := check("audience: {from: customers, consent: {field: metadata.consent, values: ['yes']}}\n"); p.OK() {
		t.Error("a list without the column of consent is taken; want it refused")
	}
}
