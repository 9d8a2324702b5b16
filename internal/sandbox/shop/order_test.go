package shop

import (
	"encoding/json"
	"strings"
	"testing"
)

// answerOf sends a request that must succeed, and decodes its answer.
func answerOf[T any](t *testing.T, p *Platform, method, path, body string, headers ...string) (out T) {
	t.Helper()
	status, text := ask(p, method, path, body, append(headers, "X-Company: "+wireCompany)...)
	if err := json.Unmarshal([]byte(text), &out); err != nil || status > 201 {
		t.Fatalf("%s %s: got %d %s (%v), want 200", method, path, status, text, err)
	}
	return out
}

const (
	wireCompany = "01J0000000000000000000ACME"
	wireOrders  = "/2023-11/customers/orders"
	fitting     = `"products":[{"product_id":"01J00000000000000000F1TT1N","quantity":2}]`
	wireTill    = "01J000000000000000000DRAWR"
)

type shown struct {
	Data struct {
		ID, Currency string
		Amount       json.Number
		Due          json.Number `json:"amount_due"`
		CustomerID   string      `json:"customer_id"`
		Metadata     map[string]any
		Invoices     int `json:"invoices_count"`
		Billing      struct{ Status, Method string }
		Shipping     struct {
			AddressID string `json:"address_id"`
			Address   *struct {
				Line1      string
				IsPrimary  bool `json:"is_primary"`
				IsShipping bool `json:"is_shipping"`
			}
		}
	}
	Link  *string `json:"payment_link"`
	Token string
}

// Payments raise the balance, the first one makes the invoice, and the last one pays the order.
func TestPaymentsPayAnOrderInParts(t *testing.T) {
	p := wirePlatform(t)
	id := answerOf[shown](t, p, "POST", wireOrders, `{"customer":{"phone":"9"},`+fitting+`}`).Data.ID
	pay := func(amount string) (int, string) {
		return ask(p, "POST", "/2023-11/admin/orders/"+id+"/payments",
			`{"amount":`+amount+`,"treasury_account_id":"`+wireTill+`"}`, "X-API-Key: key-live-0123456789")
	}
	for _, step := range []struct {
		amount string
		status int
		due    json.Number
		paid   string
	}{
		{"10.005", 422, "30", pending}, {"0", 422, "30", pending}, {"-1", 422, "30", pending}, {"10", 200, "20", pending},
		{"20.01", 422, "20", pending}, {`"20.00"`, 200, "0", paidState}, {"1", 500, "0", paidState},
	} {
		status, body := pay(step.amount)
		o := answerOf[shown](t, p, "GET", wireOrders+"/"+id, "").Data
		if status != step.status || o.Due != step.due || o.Billing.Status != step.paid {
			t.Errorf("paying %s: got %d %s, due %s, %s; want %d, due %s, %s", step.amount, status, body, o.Due, o.Billing.Status,
				step.status, step.due, step.paid)
		}
	}
	co := p.company[wireCompany]
	a, _ := co.treasury.Get(wireTill)
	if co.invoices.Len() != 1 || co.payments.Len() != 2 || a.Balance.String() != "130" {
		t.Errorf("got %d invoices, %d payments, a balance of %s; want 1, 2, 130", co.invoices.Len(), co.payments.Len(), a.Balance)
	}
}

// An update changes what its body has and nothing else, and may not go below what is paid.
func TestAnUpdateKeepsWhatItDoesNotName(t *testing.T) {
	p := wirePlatform(t)
	made := answerOf[shown](t, p, "POST", wireOrders, `{"customer":{"email":"ama@customers.example"},"authenticate":true,`+fitting+
		`,"billing":{"method":"cardpay"},"metadata":{"a":1},"discounts":[{"code":"TEN"}]}`)
	if made.Data.CustomerID != "01J00000000000000000000AMA" || made.Data.Amount != "27" || made.Link == nil {
		t.Fatalf("got %+v, want an order of the known customer for 27 with a link", made)
	}
	path, token := wireOrders+"/"+made.Data.ID, "Authorization: Bearer "+made.Token
	next := answerOf[shown](t, p, "PUT", path, `{"source":"desk","id":"x"}`, token).Data
	if next.ID != made.Data.ID || next.Amount != "27" || next.Metadata["a"] == nil || next.Billing.Method != "cardpay" {
		t.Errorf("got %+v, want all but the source as before", next)
	}
	if next = answerOf[shown](t, p, "PUT", path, `{"discounts":[]}`, token).Data; next.Amount != "30" {
		t.Errorf("without discounts: got %s, want 30", next.Amount)
	}
	answerOf[shown](t, p, "POST", "/sandbox/commerce/pay", `{"order":"`+made.Data.ID+`","amount":"20"}`)
	less := strings.Replace("{"+fitting+"}", `"quantity":2`, `"quantity":1`, 1)
	if status, body := ask(p, "PUT", path, less, token, "X-Company: "+wireCompany); status != 422 {
		t.Errorf("an order below what is paid: got %d %s, want 422", status, body)
	}
	if o := answerOf[shown](t, p, "GET", path, "").Data; o.Amount != "30" || o.Due != "10" {
		t.Errorf("after a refused update: got %s of which %s are due, want 30 and 10", o.Amount, o.Due)
	}
	login := answerOf[struct{ Token string }](t, p, "POST", "/2023-11/customers/register",
		`{"first_name":"K","phone":"8","password":"password-8"}`)
	if status, _ := ask(p, "PUT", path, `{}`, "X-Company: "+wireCompany, "Authorization: Bearer "+login.Token); status != 404 {
		t.Errorf("the order of another customer: got %d, want 404", status)
	}
}

// An address is stored for shipping, used again if it is the same, and overwritten if it is named.
func TestAnAddressIsUsedAgain(t *testing.T) {
	p := wirePlatform(t)
	token := "Authorization: Bearer " + answerOf[struct{ Token string }](t, p, "POST", "/2023-11/customers/login",
		`{"email":"ama@customers.example","password":"ama-password-1"}`).Token
	order := func(address, more string) shown {
		return answerOf[shown](t, p, "POST", wireOrders, `{`+fitting+`,"shipping":{"mode":"delivery","address":`+address+more+`}}`, token)
	}
	const home = `{"line1":"1 Hill","city":"Douala","country":"CM"}`
	gift := strings.Replace(home, "{", `{"first_name":"Ngozi",`, 1)
	first := order(home, "").Data.Shipping
	if first.Address == nil || !first.Address.IsPrimary || !first.Address.IsShipping {
		t.Fatalf("got the address %+v, want one for shipping that is primary", first.Address)
	}
	if again := order(home, "").Data.Shipping; again.AddressID != first.AddressID {
		t.Errorf("the same address: got the id %s, want %s", again.AddressID, first.AddressID)
	}
	if fresh := order(home, `,"is_new":true`).Data.Shipping; fresh.AddressID == first.AddressID {
		t.Error("with is_new: got the id of the first address, want another")
	}
	if other := order(gift, "").Data.Shipping; other.AddressID == first.AddressID || other.Address.IsPrimary {
		t.Errorf("a third person: got %+v, want another address that is not primary", other)
	}
	moved := order(strings.Replace(home, "1 Hill", "2 Hill", 1), `,"address_id":"`+first.AddressID+`"`).Data.Shipping
	a, _ := p.company[wireCompany].addresses.Get(first.AddressID)
	if moved.AddressID != first.AddressID || a.Line1 != "2 Hill" {
		t.Errorf("a named address: got the id %s and %q, want %s and 2 Hill", moved.AddressID, a.Line1, first.AddressID)
	}
}

// A discount of some customers is for them alone.
func TestADiscountOfACustomerIsForThatOneAlone(t *testing.T) {
	p := wirePlatform(t)
	for who, want := range map[string]int{"ama@customers.example": 200, "kwame@customers.example": 422, "new@customers.example": 422} {
		body := `{"customer":{"email":"` + who + `"},` + fitting + `,"discounts":[{"code":"welcome"}]}`
		if status, text := ask(p, "POST", wireOrders, body, "X-Company: "+wireCompany); status != want {
			t.Errorf("%s: got %d %s, want %d", who, status, text, want)
		}
	}
}
