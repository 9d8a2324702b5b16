package shop

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/big"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"campaignd/internal/sandbox/draw"
	"campaignd/internal/sandbox/shop/scenario"
	"campaignd/internal/sandbox/shop/value"
)

// world is a scenario with products, shops, fees and customers that differ in everything that a
// list filters or sorts by. The tests read the scenario itself, not the records.
type world struct {
	p      *Platform
	c      scenario.Company
	orders map[string]int // by product and by fee, of the orders that were sent
}

func testID(kind string, i int) string { return fmt.Sprintf("01J%s%019d", kind, i) }

// amountOf is the amount of a scenario.
func amountOf(text string) (a value.Amount) {
	_ = a.UnmarshalText([]byte(text))
	return a
}

func day(i int) value.Stamp { return value.Stamp{Time: time.Date(2026, 1, 1+i, 8, 0, 0, 0, time.UTC)} }

func newWorld(t *testing.T) *world {
	t.Helper()
	of := func(i, n int) int { return int(draw.Mix(uint64(i), uint64(n)) % uint64(n)) }
	c := scenario.Company{ID: testID("C0MP", 0), Name: "Acme", Handle: "acme", Currency: "EUR", Keys: []scenario.Key{{Key: "k"}}}
	for i, name := range []string{"South", "east", "North"} {
		c.Shops = append(c.Shops, scenario.Shop{
			ID: testID("SH0P", i), Name: name, Slug: fmt.Sprint("s", i), Currency: []string{"USD", "EUR", "XAF"}[i], CreatedAt: day(5 - i),
			Warehouses: []scenario.Warehouse{{ID: testID("WARE", i), Name: name}},
		})
	}
	for i := range 3 {
		c.Collections = append(c.Collections,
			scenario.Collection{ID: testID("C0XX", i), Name: fmt.Sprint("Collection ", i), Slug: fmt.Sprint("c", i)})
	}
	for i := range 40 {
		published := of(i, 3) > 0
		p := scenario.Product{
			ID: testID("PR0D", i), Title: fmt.Sprint([]string{"Boot ", "hat ", "Scarf ", "Glove "}[of(i, 4)], i), Handle: fmt.Sprint("p", i),
			Type: []string{"physical_goods", "services"}[of(i, 2)], Vendor: []string{"Alpine", "Borea"}[of(i+50, 2)], Published: &published,
			CreatedAt: day(of(i, 20)), UpdatedAt: day(20 + of(i+7, 20)),
		}
		p.Tags = []string{"new", "winter", "sale"}[:of(i+3, 4)]
		p.Collections = []string{c.Collections[of(i+9, 3)].ID}
		if of(i+11, 3) == 0 {
			p.Shops = []string{c.Shops[of(i+13, 3)].ID}
		}
		for v := range 1 + of(i+17, 3) {
			p.Variants = append(p.Variants, scenario.Variant{
				ID: testID("VARX", i*10+v), Title: fmt.Sprint("V", v), SKU: fmt.Sprintf("SKU-%d-%d", i, v), Barcode: fmt.Sprint(1000*i + v),
				Price: amountOf(fmt.Sprintf("%d.%02d", 1+of(i*3+v, 30), of(i+v, 100))), FollowStock: of(i+v*5, 2) == 0,
				Stocks:  map[string]int{c.Shops[of(i+v, 3)].Warehouses[0].ID: of(i+v+23, 3)},
				Options: map[string]string{"color": []string{"red", "blue"}[of(i+v, 2)]},
			})
		}
		c.Products = append(c.Products, p)
	}
	for i := range 12 {
		active := of(i, 2) == 0
		f := scenario.ShippingFee{
			ID: testID("FEEX", i), Name: fmt.Sprint([]string{"City ", "away "}[of(i, 2)], i), Amount: amountOf(fmt.Sprint(i)),
			Active: &active, CreatedAt: day(of(i, 9)), UpdatedAt: day(10 + of(i, 9)),
		}
		l := scenario.PickupLocation{ShippingFee: f, Address: scenario.Address{Line1: "Road", City: "Douala"}}
		l.ID = testID("PKVP", i)
		if of(i+31, 2) == 0 {
			f.Shop, l.Shop = c.Shops[of(i, 3)].ID, c.Shops[of(i, 3)].ID
		}
		c.ShippingFees, c.PickupLocations = append(c.ShippingFees, f), append(c.PickupLocations, l)
	}
	for i := range 30 {
		c.Customers = append(c.Customers, scenario.Customer{
			ID: testID("CVST", i), FirstName: fmt.Sprint([]string{"Ama ", "Kofi "}[of(i, 2)], i%5), LastName: fmt.Sprint("M", of(i, 7)),
			Email: fmt.Sprintf("c%d@customers.example", i), Phone: fmt.Sprint("+23765000", i), CreatedAt: day(of(i, 15)),
		})
	}
	w := &world{c: c, orders: map[string]int{}}
	var err error
	w.p, err = New(scenario.Commerce{Companies: []scenario.Company{c}}, Options{})
	must(t, err)
	// An order takes no stock and has a fee that applies everywhere.
	products := slices.DeleteFunc(slices.Clone(c.Products),
		func(p scenario.Product) bool { return p.Variants[0].FollowStock || !*p.Published })
	fees := slices.DeleteFunc(slices.Clone(c.ShippingFees), func(f scenario.ShippingFee) bool { return !*f.Active || f.Shop != "" })
	for i := range 60 {
		p, fee := products[of(i, len(products))], fees[of(i+41, len(fees))]
		body := fmt.Sprintf(`{"customer": {"email": "c%d@customers.example"}, "products": [{"product_id": %q, "variant_id": %q, "quantity": 1}],
			"billing": {"method": "cash"}, "shipping": {"mode": "other"}, "shipping_fee_id": %q}`, i%30, p.ID, p.Variants[0].ID, fee.ID)
		if status, answer := ask(w.p, "POST", "/2023-11/customers/orders", body, "X-Company: "+c.ID); status != 200 {
			t.Fatalf("order %d: got %d %s, want 200", i, status, answer)
		}
		w.orders[p.ID]++
		w.orders[fee.ID]++
	}
	if len(w.orders) < 8 {
		t.Fatalf("got orders of %d products and fees, want 8 or more", len(w.orders))
	}
	return w
}

// ids reads all pages of a list with a page size of 7.
func (w *world) ids(t *testing.T, path, query string, headers ...string) (all []string) {
	t.Helper()
	for n := 1; ; n++ {
		target := fmt.Sprintf("/2023-11/%s?%s&per_page=7&page=%d", path, query, n)
		status, body := ask(w.p, "GET", target, "", append(slices.Clone(headers), "X-API-Key: k", "X-Company: "+w.c.ID)...)
		var got struct {
			Data  []struct{ ID string }
			Links struct{ Next *string }
			Meta  struct{ Total int }
		}
		if err := json.Unmarshal([]byte(body), &got); err != nil || status != 200 {
			t.Fatalf("%s?%s: got %d %s, want a page", path, query, status, body)
		}
		for _, r := range got.Data {
			all = append(all, r.ID)
		}
		if got.Links.Next == nil {
			if got.Meta.Total != len(all) {
				t.Errorf("%s?%s: got a total of %d, want %d", path, query, got.Meta.Total, len(all))
			}
			return all
		}
	}
}

// reading is a naive reading of one list.
type reading[T any] struct {
	path    string
	rows    []T
	id      func(T) string
	filters map[string][]naive[T] // each filter has some
	sorts   map[string]func(a, b T) int
	headers []string
}

// naive is a filter with a value, such as search]=x or created_at][start]=y, and what it should
// keep.
type naive[T any] struct {
	query string
	fits  func(T) bool
}

// check compares each filter, each sort in both directions, and each pair of both.
func (r reading[T]) check(t *testing.T, w *world, filters, sorts []string) {
	t.Helper()
	for _, name := range filters {
		if len(r.filters[name]) == 0 {
			t.Errorf("%s: got no naive reading of filter %s, want one", r.path, name)
		}
	}
	for _, name := range sorts {
		if r.sorts[name] == nil {
			t.Errorf("%s: got no naive reading of sort %s, want one", r.path, name)
		}
	}
	cases := []naive[T]{{"", func(T) bool { return true }}}
	for _, of := range r.filters {
		cases = append(cases, of...)
	}
	for _, c := range cases {
		var kept []T
		for _, row := range r.rows {
			if c.fits(row) {
				kept = append(kept, row)
			}
		}
		r.compare(t, w, c.query, kept)
		for name, order := range r.sorts {
			up, down := slices.Clone(kept), slices.Clone(kept)
			slices.SortStableFunc(up, order)
			slices.SortStableFunc(down, func(a, b T) int { return order(b, a) })
			r.compare(t, w, c.query+"&sort="+name, up)
			r.compare(t, w, c.query+"&sort=-"+name, down)
		}
	}
}

func (r reading[T]) compare(t *testing.T, w *world, query string, want []T) {
	t.Helper()
	var ids []string
	for _, row := range want {
		ids = append(ids, r.id(row))
	}
	if got := w.ids(t, r.path, strings.TrimPrefix(query, "&"), r.headers...); !slices.Equal(got, ids) {
		t.Errorf("%s?%s: got %v, want %v", r.path, query, got, ids)
	}
}

// is is the naive filter name=value.
func is[T any](name, value string, fits func(T) bool) naive[T] {
	return naive[T]{"&filter[" + name + "]=" + url.QueryEscape(value), fits}
}

// within are the naive filters of an instant: from, to, and both, with a date as the end.
func within[T any](name string, at func(T) value.Stamp, from, to int) []naive[T] {
	start, end := "&filter["+name+"][start]="+day(from).Format(time.RFC3339), "&filter["+name+"][end]="+day(to).Format(time.DateOnly)
	after := func(r T) bool { return at(r).Unix() >= day(from).Unix() }
	before := func(r T) bool { return at(r).Format(time.DateOnly) <= day(to).Format(time.DateOnly) }
	return []naive[T]{{start, after}, {end, before}, {start + end, func(r T) bool { return after(r) && before(r) }}}
}

func has(text, part string) bool { return strings.Contains(strings.ToLower(text), part) }

func compareTimes[T any](at func(T) value.Stamp) func(a, b T) int {
	return func(a, b T) int { return cmp.Compare(at(a).Unix(), at(b).Unix()) }
}

// lowest is the price of the cheapest variant.
func lowest(p scenario.Product) *big.Rat {
	var least *big.Rat
	for _, v := range p.Variants {
		if price, _ := new(big.Rat).SetString(v.Price.Text); least == nil || price.Cmp(least) < 0 {
			least = price
		}
	}
	return least
}
