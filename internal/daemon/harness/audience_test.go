//go:build mutants

package harness

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"campaignd/internal/sandbox"
	"campaignd/internal/sandbox/shop/scenario"
	"campaignd/internal/sandbox/shop/value"
)

// invoices are the payment links and faults of the platform.
type invoices struct {
	Links []struct {
		Order string `json:"order_id"`
	} `json:"links"`
	Fired map[string]int `json:"fired"`
}

func (s *storefront) invoices() (i invoices) {
	s.t.Helper()
	if !s.request(http.MethodGet, "/sandbox/commerce/truth", "", &i) {
		s.t.Fatal("got no truth of the platform, want it")
	}
	return i
}

// due writes a campaign whose firing is due: every process that serves makes its audience.
func (s *storefront) due(name, text string) {
	s.t.Helper()
	s.write("campaigns/"+name+".yaml", fmt.Sprintf(`name: %s
connections: [conn_1, conn_2, conn_3, conn_4]
%s
schedule: {cron: "0 0 * * *", timezone: UTC, misfire: run, grace: 48h}
policies: {%s}
`, name, text, strings.Join(held, ", ")))
	yesterday := time.Now().AddDate(0, 0, -1)
	if err := os.Chtimes(s.path("campaigns/"+name+".yaml"), yesterday, yesterday); err != nil {
		s.t.Fatal(err)
	}
}

// A generated customer, and of a customer who owes something the reference of the oldest order.
type debtor struct {
	Phone    string
	Metadata struct{ Consent string }
	oldest   string
}

// debtors reads the generated customers of the platform by their ids, all or those with an order.
// list is the list and how it is asked for.
func (s *storefront) debtors(list string) map[string]*debtor {
	s.t.Helper()
	all := map[string]*debtor{}
	for page := 1; ; page++ {
		var got struct {
			Data []struct {
				debtor
				ID, Source, Reference string
				Customer              *struct {
					debtor
					ID string
				}
			}
		}
		if !s.request(http.MethodGet, fmt.Sprintf("/2023-11/admin/%s&page[size]=100&page[number]=%d", list, page), "", &got) {
			s.t.Fatalf("got no page %d of %s, want it", page, list)
		}
		if len(got.Data) == 0 {
			return all
		}
		for _, r := range got.Data {
			switch {
			case r.Customer == nil && r.Phone != "":
				all[r.ID] = &r.debtor
			case r.Source == "generated" && all[r.Customer.ID] == nil:
				all[r.Customer.ID] = &r.Customer.debtor
				all[r.Customer.ID].oldest = r.Reference
			}
		}
	}
}

// page is the page behind a payment link.
func (s *storefront) page(link string) string {
	s.t.Helper()
	resp, err := http.Get(link)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return string(text)
}

// balanced returns the rows of a run by customer, and how many of them were cut off before a byte
// of their message arrived: a kill leaves those in doubt. Each customer has one row, and each other
// who gave the consent and was not held out one message.
func (s *storefront) balanced(run string, customers map[string]*debtor, sent []sandbox.Message) (rows map[string]line, cut int) {
	s.t.Helper()
	want(s.t, append(twice(sent), s.audited(run)...))
	rows = map[string]line{}
	reached := map[string]bool{}
	for _, m := range sent {
		reached[m.To] = true
	}
	lines := s.lines(run)
	for _, l := range lines {
		rows[l["customer_id"]] = l
	}
	if len(rows) != len(lines) {
		s.t.Errorf("%s has %d rows of %d customers, want one row each", run, len(lines), len(rows))
	}
	messages := 0
	for id, c := range customers {
		l, ok := rows[id]
		agreed := c.Metadata.Consent == "yes" && l["reason"] != "holdout"
		if agreed && !reached[c.Phone] && l["status"] == "unknown" && l["reason"] == "interrupted" {
			cut++
			continue
		}
		if !ok || agreed != reached[c.Phone] || agreed == (l["status"] == "skipped") {
			s.t.Errorf("customer %s, consent %s: got %s (%s), a message %t, want a row, and a message with the consent", id, c.Metadata.Consent,
				l["status"], l["reason"], reached[c.Phone])
		}
		if agreed {
			messages++
		}
	}
	if messages != len(sent) {
		s.t.Errorf("%s: got %d messages, want %d", run, len(sent), messages)
	}
	s.t.Logf("%s: %d rows, %d messages, %d cut off before", run, len(lines), len(sent), cut)
	return rows, cut
}

// Processes that serve are killed while they fetch an audience, make payment links, import the list
// and send it, and the rows of the platform shift meanwhile. Each customer has one row, and each
// order one link, which its customer gets once.
func TestKilledServesSendEachOrderOneLink(t *testing.T) {
	t.Parallel()
	const people, linking, importing, anytime = 10_000, 8, 3, 9
	s := newStorefront(t, 5*standard, func(platform *scenario.Commerce) {
		platform.Faults = scenario.Faults{TooManyRequests: 0.001, LostAfter: 0.01, Shift: 0.02}
		c := &platform.Companies[0]
		c.Generate = scenario.Generate{Customers: people, Orders: people, Consent: 0.9}
		price := value.Amount{}
		if err := price.UnmarshalText([]byte("15")); err != nil {
			t.Fatal(err)
		}
		c.Products = []scenario.Product{{ID: "01HDEM00000000000000SCARF1", Title: "Scarf", Handle: "scarf",
			Variants: []scenario.Variant{{ID: "01HDEM00000000000000SCARF2", Title: "Wool", Price: price}}}}
		c.TreasuryAccounts = []scenario.TreasuryAccount{{ID: "01HDEM0000000000000000T1M1", Label: "Till", Type: "cash"}}
		yes := true
		c.PaymentMethods = []scenario.PaymentMethod{{ID: "01HDEM00000000000000CARD01", Name: "Cash", Processor: "cash", Links: &yes,
			TreasuryAccount: "01HDEM0000000000000000T1M1"}}
	})
	draw := drawOf(t)
	killed := 0
	crash := func(nth int) {
		p := s.serve(fmt.Sprintf("CAMPAIGND_CRASH=import_chunk:%d", nth))
		if p.wait(2 * time.Minute); !p.byItself() { // the first makes all links before
			t.Fatalf("%s: got its end, want it to die in chunk %d of an import\n%s", p, nth, tail(p.stderr.String(), 20))
		}
		killed++
	}
	random := func() {
		p := s.serve()
		time.Sleep(time.Duration(100+draw.IntN(3000)) * time.Millisecond)
		if p.kill() {
			killed++
		}
	}
	s.due("owing", `template: {name: order_update, language: en_US, body: ["{{ .first_name }}", "{{ .pay }}"]}
audience: {from: unpaid_orders, consent: {field: metadata.consent, values: ["yes"]}, payment_link: {variable: pay}}`)
	made := 0
	for range linking {
		p, goal := s.serve(), made+300+draw.IntN(300)
		s.waits(2*time.Minute, "links are made", func() bool { made = len(s.invoices().Links); return made >= goal })
		if p.kill() {
			killed++
		}
	}
	for range importing {
		crash(1 + draw.IntN(2))
	}
	s.due("winback", `template: {name: newsletter, language: en_US}
audience: {from: customers, consent: {field: metadata.consent, values: ["yes"]}}
holdout: {share: 0.1}`)
	for range anytime {
		random()
	}
	p := s.serve()
	s.waits(5*time.Minute, "both runs are finished", func() bool {
		runs := s.fired()
		return runs["owing"].State == "finished" && runs["winback"].State == "finished"
	})
	if code := s.stop(p); code != 0 && code != 130 {
		t.Errorf("%s: exit code %d after SIGTERM, want 0 or 130", p, code)
	}
	found := s.invoices()
	if !s.request(http.MethodPut, "/sandbox/commerce/faults", `{}`, nil) {
		t.Fatal("got other faults of the platform, want none")
	}

	customers := s.debtors("customers?")
	if len(customers) != people {
		t.Fatalf("the platform has %d generated customers, want %d", len(customers), people)
	}
	runs := s.fired()
	_, cut := s.balanced(runs["winback"].ID, customers, s.sent("newsletter"))
	owing, sent := s.debtors("orders?include=customer&sort=created_at"), s.sent("order_update")
	rows, unsent := s.balanced(runs["owing"].ID, owing, sent)
	if cut+unsent > 8*killed {
		t.Errorf("got %d rows in doubt without a message after %d kills, want at most 8 a kill", cut+unsent, killed)
	}
	by := map[string]string{} // the links that were sent, by phone
	once := map[string]bool{}
	for _, m := range sent {
		by[m.To], once[m.Values[1]] = m.Values[1], true
	}
	for id, c := range owing {
		l, link := rows[id], by[c.Phone]
		if l["reference"] != c.oldest || link != "" && !strings.Contains(s.page(link), "Order "+c.oldest+":") {
			t.Errorf("customer %s got the link %s for the order %s, want the oldest order, %s", id, link, l["reference"], c.oldest)
		}
	}
	orders := map[string]bool{}
	for _, l := range found.Links {
		orders[l.Order] = true
	}
	again, most := len(found.Links)-len(orders), 8*killed+found.Fired["lost_after"] // 8 are asked for at once
	if len(once) != len(sent) || len(orders) != len(sent)+unsent || again > most {
		t.Errorf("got %d links of %d orders in %d messages and %d doubts, %d made again, want one each, and at most %d made again, by kills",
			len(once), len(orders), len(sent), unsent, again, most)
	}
	t.Logf("seed %d: %d killed, %d links, %d made again", *seed, killed, len(found.Links), again)
}
