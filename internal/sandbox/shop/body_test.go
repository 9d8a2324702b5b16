package shop

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"campaignd/internal/sandbox/shop/scenario"
)

// shape says which of the document's five bodies of errors a body is, or what is wrong with it
// (docs/commerce.md#errors).
func shape(status int, body string) (string, error) {
	var m map[string]json.RawMessage
	if err := json.Unmarshal([]byte(body), &m); err != nil {
		return "", err
	}
	has := func(names ...string) bool {
		for _, n := range names {
			if _, ok := m[n]; !ok {
				return false
			}
		}
		return len(m) == len(names)
	}
	switch {
	case status < 300:
		return "answer", nil
	case has("code", "message"), has("message"), has("errors", "message"), has("exception", "file", "line", "message", "trace"):
		return "error", nil
	}
	return "", fmt.Errorf("the members of %.200s are of no shape of the document", body)
}

// refused sends a body that is wrong, and wants a 4xx of the document's shape.
func refused(t *testing.T, p *Platform, name, method, path, body string) {
	t.Helper()
	status, answer := ask(p, method, path, body, "X-Company: "+unitCompany)
	if _, err := shape(status, answer); status < 400 || status > 499 || err != nil {
		t.Errorf("%s: got %d %.300s (%v), want a 4xx of the document's shape", name, status, answer, err)
	}
}

// Bodies of orders that are wrong in any way are refused as the document says, and change nothing.
func TestWrongOrdersAreRefused(t *testing.T) {
	p := lastUnit(t)
	const path = "/2023-11/customers/orders"
	line := func(members string) string {
		return `{"customer":{"phone":"1"},"shipping":{"mode":"other"},"products":[{"product_id":"` + unitProduct + `",` + members + `}]}`
	}
	for name, body := range map[string]string{
		"no JSON": `{"products":[`, "a list": `[]`, "a text": `"x"`, "a number": `1`, "null": `null`, "two objects": `{} {}`,
		"an empty object": `{}`, "nothing": ``, "no UTF-8": "{\"source\":\"\xff\"}",
		"products is a text": `{"products":"x"}`, "products is an object": `{"products":{}}`, "a line is null": `{"products":[null]}`,
		"quantity 0": line(`"quantity":0`), "quantity -1": line(`"quantity":-1`), "quantity 1e9": line(`"quantity":1e9`),
		"quantity 1000000000": line(`"quantity":1000000000`), "quantity of 30 digits": line(`"quantity":` + strings.Repeat("9", 30)),
		"quantity 1.5": line(`"quantity":1.5`), "quantity is a text": line(`"quantity":"1"`), "quantity is absent": line(`"price":1`),
		"price of 40 digits":   line(`"quantity":1,"price":` + strings.Repeat("9", 40)),
		"price of 40 decimals": line(`"quantity":1,"price":0.` + strings.Repeat("1", 40)), "price -1": line(`"quantity":1,"price":-1`),
		"price 1e999999999": line(`"quantity":1,"price":1e999999999`), "price is an object": line(`"quantity":1,"price":{}`),
		"price is no number": line(`"quantity":1,"price":"NaN"`), "price with 3 decimals": line(`"quantity":1,"price":"1.001"`),
		"a discount that is nobody's": line(`"quantity":1,"discounts":[{"code":"X"}]`),
		"discounts is a text":         line(`"quantity":1,"discounts":"X"`),
		"a mode that is unknown":      `{"customer":{"phone":"1"},"shipping":{"mode":"teleport"},"products":[]}`,
		"shipping is a list":          `{"shipping":[]}`, "metadata is a list": `{"metadata":[]}`, "customer is a text": `{"customer":"Ama"}`,
		"force is a text":      `{"customer":{"phone":"1","force":"yes"}}`,
		"a time that is none":  `{"shipping":{"scheduled_at":"tomorrow"}}`,
		"a currency of 40":     strings.Replace(unitOrder, "{", `{"currency_code":"`+strings.Repeat("E", 40)+`",`, 1),
		"10,000 lines":         `{"customer":{"phone":"1"},"products":[` + strings.Repeat(`{"quantity":1},`, 9999) + `{"quantity":1}]}`,
		"10,000 discounts":     strings.Replace(unitOrder, "{", `{"discounts":[`+strings.Repeat(`{"code":"X"},`, 9999)+`{}],`, 1),
		"deep nesting":         strings.Repeat(`{"metadata":`, 20_000) + `1` + strings.Repeat(`}`, 20_000),
		"2 MiB":                `{"source":"` + strings.Repeat("x", 2<<20) + `"}`,
		"an amount too exact":  strings.Replace(unitOrder, `"mode":"other"`, `"mode":"other","amount":"0.001"`, 1),
		"a negative amount":    strings.Replace(unitOrder, `"mode":"other"`, `"mode":"other","amount":-1`, 1),
		"delivery to nowhere":  strings.Replace(unitOrder, "other", "delivery", 1),
		"pickup from nowhere":  strings.Replace(unitOrder, "other", "pickup", 1),
		"nobody":               strings.Replace(unitOrder, "phone", "telephone", 1),
		"an unknown address":   strings.Replace(unitOrder, `"mode":"other"`, `"mode":"other","address_id":"x"`, 1),
		"a billing address":    strings.Replace(unitOrder, "{", `{"billing":{"address_id":"x"},`, 1),
		"an address of a list": strings.Replace(unitOrder, `"mode":"other"`, `"mode":"other","address":[]`, 1),
	} {
		refused(t, p, name, "POST", path, body)
	}
	co := p.company[unitCompany]
	if v, _ := co.variants.Get(unitVariant); co.orders.Len() != 0 || co.customers.Len() != 0 || v.quantity(nil) != 1 {
		t.Errorf("got %d orders, %d customers, %d units; want 0, 0, 1", co.orders.Len(), co.customers.Len(), v.quantity(nil))
	}
}

// Names in any script are kept as they are.
func TestNamesOfAnyScriptAreKept(t *testing.T) {
	for _, name := range []string{"Ngũgĩ", "محمد", "李小龙", "Ⲁⲛⲛⲁ", "a\u0300\u0301\u0302", "👩‍👩‍👧", "<b>&'\"", "\u202eeman"} {
		p := lastUnit(t)
		quoted, err := json.Marshal(name)
		must(t, err)
		body := strings.Replace(unitOrder, `"phone"`, `"first_name":`+string(quoted)+`,"phone"`, 1)
		orderID(t, p, body)
		for who := range p.company[unitCompany].customers.All() {
			if who.FirstName != name {
				t.Errorf("got the name %q, want %q", who.FirstName, name)
			}
		}
	}
}

// FuzzOrder sends any body to the route of orders: the answer has the document's shape, and is
// never a 500.
func FuzzOrder(f *testing.F) {
	for _, seed := range []string{unitOrder, `{}`, `{"products":[{"quantity":1e9}]}`, `{"discounts":[{}],"billing":{"address":{}}}`,
		strings.Replace(unitOrder, `"other"`, `"delivery","address":{"line1":"1","city":"c","country":"CM"}`, 1)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, body string) {
		p := lastUnit(t)
		status, answer := ask(p, "POST", "/2023-11/customers/orders", body, "X-Company: "+unitCompany)
		if _, err := shape(status, answer); status >= 500 || err != nil {
			t.Errorf("%q: got %d %.300s (%v), want the document's shape and no 500", body, status, answer, err)
		}
		v, _ := p.company[unitCompany].variants.Get(unitVariant)
		if (status == 200) != (v.quantity(nil) == 0) {
			t.Errorf("%q: got %d with %d units left, want stock to go with orders only", body, status, v.quantity(nil))
		}
	})
}

// FuzzControl sends any body to the control routes of orders, payments and stock, and to the other
// routes that take a body.
func FuzzControl(f *testing.F) {
	for _, seed := range []string{`{}`, `{"order":"x","amount":"-1"}`, `{"status":"cancelled"}`, `{"amount":1,"treasury_account_id":"x"}`,
		`{"variant":"` + unitVariant + `","warehouse":"` + unitHall + `","quantity":1e9}`, `{"amount_due":"1","success_url":"x"}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, body string) {
		p := lastUnit(t)
		p.keys["key"] = &credential{company: p.company[unitCompany], kind: admin, key: &scenario.Key{State: "active"}}
		id := orderID(t, p, unitOrder)
		for _, path := range []string{
			"/sandbox/commerce/pay", "/sandbox/commerce/stock", "/sandbox/commerce/orders/" + id + "/status",
			"/2023-11/customers/orders/" + id + "/payments", "/2023-11/discounts/automatic", "/2023-11/admin/orders",
			"/2023-11/admin/orders/" + id + "/payments",
		} {
			headers := []string{"X-Company: " + unitCompany}
			if strings.Contains(path, "/admin/") {
				headers = append(headers, "X-API-Key: key")
			}
			status, answer := ask(p, "POST", path, body, headers...)
			if _, err := shape(status, answer); status >= 500 || err != nil {
				t.Errorf("%s %q: got %d %.300s (%v), want the document's shape and no 500", path, body, status, answer, err)
			}
		}
	})
}
