package shop

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"campaignd/internal/sandbox/shop/scenario"
)

// readScenario reads a section as the sandbox does, strictly.
func readScenario(text string) (sc scenario.Commerce, err error) {
	if err := yaml.UnmarshalWithOptions([]byte(text), &sc, yaml.Strict()); err != nil {
		return sc, err
	}
	return sc, sc.Validate()
}

// Each mistake in a section is an error of one line with its place.
func TestAMistakeInAScenarioNamesItsPlace(t *testing.T) {
	const id, other = "01HZX3V7Q8R9S0T1V2W3X4Y5Z6", "01HZX3V7Q8R9S0T1V2W3X4Y5Z7"
	company := func(rest string) string {
		return "companies: [{id: " + id + ", name: A, handle: a" + rest + "}]"
	}
	for _, c := range []struct{ text, want string }{
		{"mode: test", "commerce.mode"},
		{"rate_limit: {requests: -1}", "commerce.rate_limit.requests"},
		{"faults: {shift: 2}", "commerce.faults.shift"},
		{"companies: [{id: x, name: A, handle: a}]", "commerce.companies[0].id"},
		{"companies: [{id: " + id + ", handle: a}]", "commerce.companies[0].name: is missing"},
		{company(", currency: euro"), "companies[0].currency"},
		{company(", shops: [{id: " + id + ", name: N, slug: n}]"), "given twice"},
		{company(", shops: [{id: " + other + ", name: N}]"), "shops[0].slug: is missing"},
		{company(", products: [{id: " + other + ", title: T, handle: t, taxes: [" + id + "]}]"), "products[0].taxes[0]: no tax"},
		{company(", customers: [{id: " + other + ", created_at: today}]"), "customers[0].created_at"},
		{company(", discounts: [{id: " + other + ", name: D, type: half}]"), "discounts[0].type"},
		{company(", discounts: [{id: " + other + ", name: D, value: 1e9}]"), "discounts[0].value"},
		{company(", shipping_fees: [{id: " + other + ", name: F, warehouses: [" + id + "]}]"), "warehouses[0]: no warehouse"},
		{company(", keys: [{key: k}, {key: k}]"), "keys[1].key: the same value"},
		{company(", webhooks: [{url: nowhere, secret: s}]"), "webhooks[0].url"},
		{company(", generate: {consent: -1}"), "generate.consent"},
		{company(", generate: {orders: 10000000}"), "companies[0].generate: generates more than"},
		{company(", customers: [{id: " + other + ", metadata: {n: .nan}}]"), "customers[0].metadata"},
		{"apps: [{client_id: a, client_secret: s, codes: [{code: c, company: " + id + "}]}]", "apps[0].codes[0].company: no company"},
	} {
		_, err := readScenario(c.text)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: got %v, want one line with %q", c.text, err, c.want)
		}
		if _, ok := errors.AsType[*scenario.Flaw](err); err != nil && !ok {
			t.Errorf("%s: got %T, want a flaw", c.text, err)
		}
	}
	const price = "products: [{id: " + other + ", title: T, handle: t, variants: [{id: 01HZX3V7Q8R9S0T1V2W3X4Y5Z8, title: V"
	if _, err := readScenario(company(", " + price + "}]}]")); err == nil || !strings.Contains(err.Error(), "variants[0].price: is missing") {
		t.Errorf("got %v, want the price missing", err)
	}
}

func TestAScenarioHasItsDefaults(t *testing.T) {
	sc, err := readScenario("companies: [{id: 01HZX3V7Q8R9S0T1V2W3X4Y5Z6, name: A, handle: a, keys: [{key: k}]}]")
	must(t, err)
	key := sc.Companies[0].Keys[0]
	if sc.Mode != "live" || sc.RateLimit.Per.String() != "1s" || key.Kind != "live" || key.State != "active" {
		t.Errorf("got %+v, want mode live, 1s, and a live, active key", sc)
	}
}

// A scenario that is read makes a platform, whatever it says.
func FuzzCommerceScenario(f *testing.F) {
	text, err := os.ReadFile("../../../testdata/commerce/scenario.yaml")
	if err != nil {
		f.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "commerce:\n")
	f.Add(section)
	f.Add("mode: live\nfaults: {shift: 1}\n")
	f.Fuzz(func(t *testing.T, text string) {
		sc, err := readScenario(text)
		if err != nil {
			return
		}
		sc.Companies = sc.Companies[:min(len(sc.Companies), 3)]
		if _, err := New(sc, Options{}); err != nil && !strings.Contains(err.Error(), "commerce.") {
			t.Errorf("got %v, want a platform", err)
		}
	})
}

// No query string gets more than a 4xx.
func FuzzQuery(f *testing.F) {
	for _, seed := range []string{
		"per_page=-1", "page=0", "page[size]=1000&page[number]=99999999999999999999", "filter[created_at][start]=x", "filter[=1",
		"sort=-title,price&include=variants.stocks,shops", "filter[priceRange]=1,2", "filter[published]=2", "%zz;", "limit=x", "sort=--title",
	} {
		f.Add(seed)
	}
	p, err := New(scenario.Demo(), Options{})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, query string) {
		for _, path := range []string{
			"products", "products/count", "shops", "shipping-fees", "admin/customers", "admin/orders", "products/handle/boot/similar",
		} {
			r := request("GET", "/2023-11/"+path, "", "X-API-Key: "+scenario.DemoKey, "X-Company: "+scenario.DemoCompany)
			r.URL.RawQuery = query
			if status, body := answerTo(p, r); status != 200 && (status < 400 || status > 499 || !strings.Contains(body, `"message":`)) {
				t.Errorf("%s?%s: got %d %s, want 200 or a 4xx with a message", path, query, status, body)
			}
		}
	})
}
