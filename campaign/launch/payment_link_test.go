package launch_test

import (
	"fmt"
	"strings"
	"testing"

	"campaignd/campaign"
	"campaignd/campaign/launch"
	"campaignd/internal/messaging"
)

const linkCampaign = `name: reminder
connections: [conn_1]
template: {name: pay_now, language: en, category: UTILITY, buttons: [{type: url, text: "i/{{ .pay }}"}]}
audience: {from: unpaid_orders, payment_link: {variable: pay, strip: STRIP}}
`

// A button gets the link without its beginning. A row without a link, or with one that begins
// otherwise, is skipped, and a strip that is not the button's beginning is a fault of the campaign.
func TestAButtonGetsTheRestOfAPaymentLink(t *testing.T) {
	record := &messaging.TemplateRecord{Name: "pay_now", Language: "en", Status: "APPROVED", Components: []messaging.Component{
		{Type: "BODY", Text: "Pay"}, {Type: "BUTTONS", Buttons: []messaging.ComponentButton{{Type: "URL", URL: "https://pay.example/{{1}}"}}}}}
	list := writeFile(t, "list.csv", "phone,payment_link\n+237650000001,https://pay.example/i/abc?x=1\n+237650000002,\n"+
		"+237650000003,https://other.example/i/abc\n+237650000004,https://pay.example/i/\n+237650000002,https://pay.example/i/d\n")
	for _, c := range []struct{ strip, want string }{
		{"https://pay.example/i/", ""},
		{"https://pay.example/", `"https://pay.example/" is not the beginning of button 1, so links would lead elsewhere; ` +
			`the button begins with "https://pay.example/i/"`},
		{"https://shop.example/i/", "links would lead elsewhere"},
	} {
		source := strings.Replace(linkCampaign, "STRIP", c.strip, 1)
		d := parse(t, source)
		p, err := launch.RunPreflight(t.Context(), launch.PreflightInput{Definition: d, File: "c.yaml", Source: []byte(source), List: list,
			Template: record})
		if err != nil {
			t.Fatalf("%s: %v; want no error", c.strip, err)
		}
		if got := fmt.Sprint(p.Errors()); c.want == "" && len(p.Errors()) > 0 || !strings.Contains(got, c.want) {
			t.Errorf("%s: got %s; want %q", c.strip, got, c.want)
		}
		if c.want != "" {
			continue
		}
		if p.Sendable != 2 || p.Skipped[campaign.NoPaymentLink] != 3 || p.BadRows() != 0 {
			t.Errorf("got %d sendable, %v skipped and %d bad; want 2, 3 without a link and 0", p.Sendable, p.Skipped, p.BadRows())
		}
		render, err := d.Compile([]string{"phone", "payment_link"})
		if err != nil {
			t.Fatal(err)
		}
		m, err := render.Message("conn_1", "", &campaign.Delivery{To: "+237650000001",
			Cells: []string{"+237650000001", "https://pay.example/i/abc?x=1"}})
		if err != nil || m.Template.Buttons[0].Text != "i/abc?x=1" {
			t.Errorf("got %+v and %v; want the button i/abc?x=1", m, err)
		}
	}
}
