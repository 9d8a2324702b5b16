package shop

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"campaignd/internal/sandbox/shop/scenario"
	"campaignd/internal/sandbox/shop/value"
)

// placed is an order that the test made, as the test knows it.
type placed struct {
	id, reference    string
	customer         scenario.Customer
	shop, status     string
	created, updated value.Stamp
}

// received is a payment that the test made. All amounts are whole.
type received struct {
	id, reference   string
	order           *placed
	method, account string
	amount          int
	at              value.Stamp
}

// orderWorld is a world with orders of several customers, shops, instants and states, which are
// paid in parts. Each change goes through a route.
type orderWorld struct {
	*world
	placed   []*placed
	received []received
	token    string // of the first customer
}

// orderTotal is what each order costs, in the currency of its shop.
const orderTotal = 30

func clock() value.Stamp { return value.Stamp{Time: time.Now().UTC()} }

// newOrderWorld needs a bubble of synctest, in which no time passes but where it sleeps.
func newOrderWorld(t *testing.T) *orderWorld {
	t.Helper()
	s := &orderWorld{world: newWorld(t)}
	till, bank := testID("T111", 0), testID("T111", 1)
	s.c.Products = []scenario.Product{{ID: testID("PR0D", 0), Title: "Boot", Handle: "boot", Variants: []scenario.Variant{
		{ID: testID("VARX", 0), Title: "Red", Price: amountOf(fmt.Sprint(orderTotal))}}}}
	s.c.TreasuryAccounts = []scenario.TreasuryAccount{{ID: till, Label: "Till", Type: "cash"}, {ID: bank, Label: "Bank", Type: "bank"}}
	s.c.PaymentMethods = []scenario.PaymentMethod{{ID: testID("PAYM", 0), Name: "Card", Processor: "cardpay", TreasuryAccount: bank}}
	s.c.Customers[0].Password = "password-0"
	var err error
	s.p, err = New(scenario.Commerce{Companies: []scenario.Company{s.c}}, Options{})
	must(t, err)

	for i := range 24 {
		time.Sleep(time.Until(day(i / 2).Time)) // two orders at each instant
		s.place(t, i)
	}
	for i, o := range s.placed {
		if i%3 == 1 {
			continue
		}
		time.Sleep(time.Until(day(12 + i/4).Time))
		part, account, method := 5+5*(i%2), []string{till, bank}[i%2], []string{"cash", "transfer"}[i%2] // cash is the type of the till
		body := fmt.Sprintf(`{"amount": %d, "treasury_account_id": %q, "method": %q}`, part, account, []string{"", method}[i%2])
		s.pay(t, "/2023-11/admin/orders/"+o.id+"/payments", body, received{order: o, method: method, account: account, amount: part})
		// The method of the order decides where the sandbox's own path pays into: cash is not configured.
		method, account = "cardpay", bank
		if i%4 < 2 {
			method, account = "cash", ""
		}
		if i%6 < 3 {
			s.pay(t, "/sandbox/commerce/pay", fmt.Sprintf(`{"order": %q}`, o.id),
				received{order: o, method: method, account: account, amount: orderTotal - part})
		} else {
			s.pay(t, "/sandbox/commerce/pay", fmt.Sprintf(`{"order": %q, "amount": "10"}`, o.id),
				received{order: o, method: method, account: account, amount: 10})
		}
	}
	login := `{"email": "c0@customers.example", "password": "password-0"}`
	s.token = "Authorization: Bearer " + s.send(t, "POST", "/2023-11/customers/login", login).Token
	for i, o := range s.placed {
		time.Sleep(time.Until(day(20 + i/3).Time))
		switch {
		case i%2 == 0:
			o.status, o.updated = orderStates[i/2%len(orderStates)], clock()
			s.send(t, "POST", "/sandbox/commerce/orders/"+o.id+"/status", fmt.Sprintf(`{"status": %q}`, o.status))
		case o.customer.ID == s.c.Customers[0].ID:
			o.updated = clock()
			s.send(t, "PUT", "/2023-11/customers/orders/"+o.id, `{"source": "desk"}`, s.token)
		}
	}
	return s
}

// answered is what the routes of orders answer, as far as it is read here.
type answered struct {
	ID, Token string
	Data      struct {
		ID       string
		Payments []struct{ ID string }
	}
}

func (s *orderWorld) send(t *testing.T, method, path, body string, headers ...string) (out answered) {
	t.Helper()
	status, text := ask(s.p, method, path, body, append(headers, "X-API-Key: k", "X-Company: "+s.c.ID)...)
	if err := json.Unmarshal([]byte(text), &out); err != nil || status != 200 {
		t.Fatalf("%s %s: got %d %s, want 200", method, path, status, text)
	}
	return out
}

// place makes the i-th order. The business makes each third one, with a time of creation.
func (s *orderWorld) place(t *testing.T, i int) {
	t.Helper()
	who := s.c.Customers[i*i%7]
	o := &placed{reference: fmt.Sprintf("#ORDER_%d", i+1), customer: who, status: "pending", created: clock(), updated: clock()}
	var headers []string
	if i%4 > 0 {
		o.shop = s.c.Shops[i%4-1].ID
		headers = append(headers, "X-ShopId: "+o.shop)
	}
	path, line, more := "/2023-11/customers/orders", fmt.Sprintf(`"product_id": %q`, s.c.Products[0].ID), ""
	if i%3 == 0 {
		o.created = day(20 - i)
		path, line = "/2023-11/admin/orders", fmt.Sprintf(`"title": "Repair", "price": %d`, orderTotal)
		more = fmt.Sprintf(`, "created_at": %q`, o.created.Format(time.RFC3339))
	}
	method := "cardpay"
	if i%4 < 2 {
		method = "cash"
	}
	made := s.send(t, "POST", path, fmt.Sprintf(`{"customer": {"email": %q}, "products": [{%s, "quantity": 1}], "billing": {"method": %q}%s}`,
		who.Email, line, method, more), headers...)
	o.id = cmp.Or(made.Data.ID, made.ID)
	s.placed = append(s.placed, o)
}

// pay makes a payment, and reads its id from its order.
func (s *orderWorld) pay(t *testing.T, path, body string, m received) {
	t.Helper()
	s.send(t, "POST", path, body)
	all := s.send(t, "GET", "/2023-11/customers/orders/"+m.order.id, "").Data.Payments
	m.id, m.reference, m.at = all[len(all)-1].ID, fmt.Sprintf("PAY_%d", len(s.received)+1), clock()
	m.order.updated = m.at
	s.received = append(s.received, m)
}

// instants are the filters of an instant: as within has them, to the second, in another zone, and
// with no record.
func instants(name string, at func(*placed) value.Stamp, from, to int) []naive[*placed] {
	after := func(o *placed) bool { return at(o).Unix() >= day(from).Unix() }
	zone := day(from).In(time.FixedZone("", 3600)).Format(time.RFC3339)
	return append(within(name, at, from, to),
		is(name+"][end", day(to).Format(time.RFC3339), func(o *placed) bool { return at(o).Unix() <= day(to).Unix() }),
		is(name+"][start", zone, after),
		is(name+"][start", day(99).Format(time.DateOnly), func(*placed) bool { return false }))
}

// orders is a naive reading of a list of orders.
func (s *orderWorld) orders(path string, rows []*placed, headers ...string) reading[*placed] {
	created, updated := func(o *placed) value.Stamp { return o.created }, func(o *placed) value.Stamp { return o.updated }
	r := reading[*placed]{path: path, rows: rows, headers: headers, id: func(o *placed) string { return o.id },
		sorts: map[string]func(a, b *placed) int{"created_at": compareTimes(created), "updated_at": compareTimes(updated)},
		filters: map[string][]naive[*placed]{
			"created_at": instants("created_at", created, 4, 9), "updated_at": instants("updated_at", updated, 13, 22),
		},
	}
	add := func(name, value string, fits func(*placed) bool) {
		r.filters[name] = append(r.filters[name], is(name, value, fits))
	}
	second := s.c.Customers[1]
	for _, part := range []string{"order_1", "#ORDER_20", "Kofi", second.FirstName + " " + second.LastName, "C2@", "+237650004", "nobody"} {
		add("search", part, func(o *placed) bool {
			c := o.customer
			return has(strings.Join([]string{o.reference, c.FirstName + " " + c.LastName, c.Email, c.Phone}, "\n"), strings.ToLower(part))
		})
	}
	for _, status := range append(slices.Clone(orderStates), "lost") {
		add("status", status, func(o *placed) bool { return o.status == status })
	}
	for _, id := range []string{second.ID, s.c.Customers[2].ID, testID("CVST", 99)} {
		add("customer_id", id, func(o *placed) bool { return o.customer.ID == id })
	}
	for _, id := range []string{s.c.Shops[0].ID, s.c.Shops[2].ID, testID("SH0P", 99)} {
		add("shop", id, func(o *placed) bool { return o.shop == id })
	}
	both := is("status", "pending", func(o *placed) bool { return o.status == "pending" && o.shop == s.c.Shops[0].ID })
	both.query += "&filter[shop]=" + s.c.Shops[0].ID
	r.filters["shop"] = append(r.filters["shop"], both)
	return r
}

// mine are the orders of the first customer.
func (s *orderWorld) mine() []*placed {
	return slices.DeleteFunc(slices.Clone(s.placed), func(o *placed) bool { return o.customer.ID != s.c.Customers[0].ID })
}

func TestAListOfOrdersEqualsANaiveReading(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newOrderWorld(t)
		filters, sorts := slices.Collect(maps.Keys(orderList.Filters)), slices.Collect(maps.Keys(orderList.Sorts))
		s.orders("admin/orders", s.placed).check(t, s.world, filters, sorts)
		if n := len(s.mine()); n < 2 || n == len(s.placed) {
			t.Fatalf("got %d orders of the first customer, want some of %d", n, len(s.placed))
		}
		s.orders("customers/orders", s.mine(), s.token).check(t, s.world, filters, sorts)
	})
}

func TestAListOfPaymentsEqualsANaiveReading(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newOrderWorld(t)
		at, amount := func(m received) value.Stamp { return m.at }, func(a, b received) int { return cmp.Compare(a.amount, b.amount) }
		r := reading[received]{path: "admin/payments", rows: s.received, id: func(m received) string { return m.id },
			sorts: map[string]func(a, b received) int{"created_at": compareTimes(at), "paid_at": compareTimes(at), "amount": amount},
			filters: map[string][]naive[received]{"type": {
				is("type", "inbound", func(received) bool { return true }), is("type", "outbound", func(received) bool { return false }),
			}},
		}
		for _, part := range []string{"pay_1", "#ORDER_2", "CARDPAY", "transfer", "cash", "nothing"} {
			r.filters["search"] = append(r.filters["search"], is("search", part, func(m received) bool {
				return has(m.reference+"\n"+m.order.reference+"\n"+m.method, strings.ToLower(part))
			}))
		}
		for _, id := range []string{s.placed[0].id, s.placed[1].id, s.placed[5].id, "x"} { // the second order has no payment
			r.filters["order_id"] = append(r.filters["order_id"], is("order_id", id, func(m received) bool { return m.order.id == id }))
		}
		r.check(t, s.world, slices.Collect(maps.Keys(paymentList.Filters)), slices.Collect(maps.Keys(paymentList.Sorts)))

		both := slices.Clone(s.received)
		slices.SortStableFunc(both, func(a, b received) int { return cmp.Or(amount(b, a), compareTimes(at)(a, b)) })
		r.compare(t, s.world, "sort=-amount,paid_at", both)
	})
}

// A value that a filter cannot read, and a name that the list does not have, are 400.
func TestOrdersRefuseWhatTheirListsCannotRead(t *testing.T) {
	s := &orderWorld{world: newWorld(t)}
	every := []string{"filter[nope]=1", "filter[search]x=1", "filter[search][middle]=1", "filter[search][start]=x", "sort=nope",
		"sort=--created_at", "sort=created_at,nope", "include=nope", "per_page=-1", "page[size]=x", "page=0", "page[number]=1.5"}
	for _, list := range []struct {
		path    string
		filters []string
		queries []string
	}{
		{"admin/orders", slices.Collect(maps.Keys(orderList.Filters)), append([]string{
			"filter[created_at]=2026-01-01", "filter[created_at][start]=soon", "filter[updated_at][end]=2026-13-01",
			"filter[status][start]=pending", "filter[customer_id][end]=x", "filter[shop][start]=x", "filter[shop]=x&filter[shop][end]=x",
			"include=customer,payable", "sort=amount"}, every...)},
		{"admin/payments", slices.Collect(maps.Keys(paymentList.Filters)), append([]string{
			"filter[type][start]=inbound", "filter[order_id][end]=x", "filter[created_at][start]=2026-01-01", "include=customer", "sort=updated_at",
		}, every...)},
	} {
		for _, name := range list.filters {
			if !slices.ContainsFunc(list.queries, func(q string) bool { return strings.Contains(q, "filter["+name+"]") }) {
				t.Errorf("%s: got no wrong value of filter %s, want one", list.path, name)
			}
		}
		for _, query := range list.queries {
			status, body := ask(s.p, "GET", "/2023-11/"+list.path+"?"+query, "", "X-API-Key: k", "X-Company: "+s.c.ID)
			if _, err := shape(status, body); status != 400 || err != nil {
				t.Errorf("%s?%s: got %d %.200s (%v), want 400 with a message", list.path, query, status, body, err)
			}
		}
	}
}

// checkIncludes compares the id of each member that an include adds to a row, with each include,
// with none and with all. Those of always are there without it too.
func (s *orderWorld) checkIncludes(t *testing.T, path string, n int, includes, always []string, id map[string]func(i int) string,
	headers ...string) {
	t.Helper()
	for _, include := range append([]string{"", strings.Join(includes, ",")}, includes...) {
		status, body := ask(s.p, "GET", "/2023-11/"+path+"?per_page=100&include="+include, "",
			append(headers, "X-API-Key: k", "X-Company: "+s.c.ID)...)
		var got struct{ Data []map[string]json.RawMessage }
		if err := json.Unmarshal([]byte(body), &got); err != nil || status != 200 || len(got.Data) != n {
			t.Fatalf("%s with %q: got %d with %d rows, want 200 with %d", path, include, status, len(got.Data), n)
		}
		for _, name := range includes {
			if id[name] == nil {
				t.Fatalf("%s: got no naive reading of include %s, want one", path, name)
			}
			want := slices.Contains(strings.Split(include, ","), name) || slices.Contains(always, name)
			for i, row := range got.Data {
				raw, there := row[name]
				var member struct{ ID string }
				if there {
					must(t, json.Unmarshal(raw, &member))
				}
				if there != want || there && member.ID != id[name](i) {
					t.Errorf("%s with %q, row %d: got %s %v %q, want %v %q", path, include, i, name, there, member.ID, want, id[name](i))
				}
			}
		}
	}
}

func TestEachIncludeOfOrdersAddsItsMember(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newOrderWorld(t)
		buyer := func(of []*placed) map[string]func(int) string {
			return map[string]func(int) string{"customer": func(i int) string { return of[i].customer.ID }}
		}
		s.checkIncludes(t, "admin/orders", len(s.placed), orderList.Includes, nil, buyer(s.placed))
		s.checkIncludes(t, "customers/orders", len(s.mine()), orderList.Includes, nil, buyer(s.mine()), s.token)

		invoices := map[string]string{} // by order
		for _, co := range s.p.companies {
			for i := range co.invoices.All() {
				invoices[i.order.id] = i.id
			}
		}
		s.checkIncludes(t, "admin/payments", len(s.received), paymentList.Includes, []string{"payable", "company"}, map[string]func(int) string{
			"treasuryAccount": func(i int) string { return s.received[i].account }, // null without an account
			"payable":         func(i int) string { return invoices[s.received[i].order.id] },
			"company":         func(int) string { return s.c.ID },
		})
	})
}
