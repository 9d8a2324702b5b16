//go:build mutants

package harness

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"campaignd/internal/sandbox"
	"campaignd/internal/sandbox/shop/scenario"
)

// commerceKills is how many processes each half of the test kills.
const commerceKills = 30

// storefront is a world with a commerce platform whose records shift while they are read.
type storefront struct {
	*world
	url string // of the platform
}

const ordersSecret = "a secret of order events"

// newStorefront starts a world whose four numbers have a rate. change alters the platform.
func newStorefront(t *testing.T, rate int, change func(*scenario.Commerce)) *storefront {
	t.Helper()
	w := newWorld(t, rate, func(o *sandbox.Options) {
		hooks := strings.Replace(o.WebhookURL, "/webhooks/messaging", "/webhooks/commerce", 1)
		o.Commerce = &scenario.Commerce{
			Companies: []scenario.Company{{ID: sandbox.DemoCompany, Name: "Shop", Handle: "shop", Currency: "EUR",
				Keys:     []scenario.Key{{Key: sandbox.DemoCommerceKey, PublicKey: "public"}},
				Webhooks: []scenario.Webhook{{URL: hooks, Secret: ordersSecret}}}},
		}
		change(o.Commerce)
	})
	text, err := os.ReadFile(w.path("campaignd.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	url := regexp.MustCompile(`http://[0-9.:]+`).FindString(string(text))
	w.write("campaignd.yaml", string(text)+fmt.Sprintf(`commerce: {base_url: "%s", company: %s, api_key: %s,
  rate: 1000, poll: 10s, timeout: 2s,
  webhooks: {path: /webhooks/commerce, secrets: [%s]}}
`, url, sandbox.DemoCompany, sandbox.DemoCommerceKey, ordersSecret))
	return &storefront{w, url}
}

// request makes a request of the platform and reports whether it was answered with 200.
func (s *storefront) request(method, path, body string, into any) bool {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), method, s.url+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("X-Company", sandbox.DemoCompany)
	r.Header.Set("X-API-Key", sandbox.DemoCommerceKey)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return false // a fault: the answer is lost
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return err == nil && resp.StatusCode == http.StatusOK && (into == nil || json.Unmarshal(text, into) == nil)
}

// orders counts the orders of the platform.
func (s *storefront) orders() int {
	s.t.Helper()
	var truth struct{ Orders []struct{ ID string } }
	if !s.request(http.MethodGet, "/sandbox/commerce/truth", "", &truth) {
		s.t.Fatal("got no truth of the platform, want it")
	}
	return len(truth.Orders)
}

// conversions are the orders that the report counts, and the people who placed them.
func (s *storefront) conversions() (orders, people int) {
	s.t.Helper()
	var report struct{ Conversions struct{ Orders, People int } }
	if code, out := s.world.ask("report", "latest", "--format", "json"); code != 0 || json.Unmarshal([]byte(out), &report) != nil {
		s.t.Fatalf("report: exit code %d, want 0 and JSON\n%s", code, out)
	}
	return report.Conversions.Orders, report.Conversions.People
}

// Processes are killed 60 times: while they fetch the customers, import and send them, and while
// they take events of orders and match them. Nobody is sent to twice or lost, and each order counts
// once.
func TestKilledProcessesCountEachOrderOnce(t *testing.T) {
	t.Parallel()
	s := newStorefront(t, standard, func(platform *scenario.Commerce) {
		platform.Faults = scenario.Faults{TooManyRequests: 0.02, LostAfter: 0.01, ServerError: 0.002, Shift: 0.05}
		platform.Companies[0].Generate = scenario.Generate{Customers: 2000, Consent: 0.9}
	})
	s.write("winback.yaml", fmt.Sprintf(`name: winback
connections: [conn_1, conn_2, conn_3, conn_4]
template: {name: newsletter, language: en_US}
audience: {from: customers, consent: {field: metadata.consent, values: ["yes"]}}
holdout: {share: 0.1}
conversions: {within: 24h, count: created}
policies: {%s}
`, strings.Join(held, ", ")))
	draw := rand.New(rand.NewPCG(*seed, 0x73686f70)) // "shop"
	begin := func() *process {
		return start(t, s.dir, s.env, "run", "winback.yaml", "--config", "campaignd.yaml", "--settle", "2s")
	}
	killed := 0
	for range commerceKills {
		p := begin()
		timer := time.AfterFunc(time.Duration(100+draw.IntN(1200))*time.Millisecond, func() { p.kill() })
		<-p.done
		timer.Stop()
		if p.killed() {
			killed++
		}
	}
	s.waits(3*time.Minute, "the run is finished", func() bool {
		p := begin()
		code := p.wait(2 * time.Minute)
		return code == 0 || code == 3
	})
	lines, sent := s.lines("latest"), s.sent("newsletter")
	customers := map[string]bool{}
	reached := 0
	for _, l := range lines {
		customers[l["customer_id"]] = true
		if l["message_id"] != "" {
			reached++
		}
	}
	want(t, append(twice(sent), s.audited("latest")...))
	if len(customers) != len(lines) || len(lines) < 2000 || reached != len(sent) {
		t.Errorf("got %d rows of %d customers, %d with a receipt, and %d messages; want 2,000 rows or more, a customer each, and a message each",
			len(lines), len(customers), reached, len(sent))
	}

	if !s.request(http.MethodPut, "/sandbox/commerce/faults", `{"too_many_requests": 0.05, "lost_after": 0.02}`, nil) {
		t.Fatal("got no other faults of the platform, want them")
	}
	shifted := s.orders() // of customers who got no message
	for i := range commerceKills {
		p := s.serve()
		timer := time.AfterFunc(time.Duration(150+draw.IntN(1200))*time.Millisecond, func() { p.kill() })
		for range 2 {
			s.request(http.MethodPost, "/2023-11/admin/orders", fmt.Sprintf(`{"currency": "EUR", "customer": {"last_name": "Eze", "phone": %q},
				"billing": {"method": "cash"}, "shipping": {"mode": "other"},
				"products": [{"title": "Scarf", "price": 2, "quantity": 1}]}`, sent[i].To), nil)
		}
		<-p.done
		timer.Stop()
		if p.killed() {
			killed++
		}
	}
	p := s.serve()
	total := s.orders() - shifted
	s.waits(3*lifeLimit, "every order is counted", func() bool { orders, _ := s.conversions(); return orders >= total })
	if code := s.stop(p); code != 0 && code != 130 {
		t.Errorf("%s: exit code %d after SIGTERM, want 0 or 130", p, code)
	}
	if orders, people := s.conversions(); orders != total || people > commerceKills || total < commerceKills {
		t.Errorf("got %d orders of %d people, want the %d orders of the platform by at most %d people", orders, people, total, commerceKills)
	}
	want(t, append(twice(s.sent("newsletter")), s.audited("latest")...))
	if killed < commerceKills*3/2 {
		t.Errorf("%d processes were killed, want %d or more: the others had ended before", killed, commerceKills*3/2)
	}
	t.Logf("seed %d: %d killed, %d rows, %d messages, %d orders", *seed, killed, len(lines), len(sent), total)
}
