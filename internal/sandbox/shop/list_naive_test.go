package shop

import (
	"cmp"
	"encoding/json"
	"maps"
	"math/big"
	"slices"
	"strings"
	"testing"

	"campaignd/internal/sandbox/shop/scenario"
	"campaignd/internal/sandbox/shop/value"
)

// stockOf is the stock in the warehouse of a shop, or in all. The bool reports whether some variant
// can be bought.
func (w *world) stockOf(p scenario.Product, in *scenario.Shop) (sum int, buyable bool) {
	for _, v := range p.Variants {
		n := 0
		for _, s := range w.c.Shops {
			if in == nil || in.ID == s.ID {
				n += v.Stocks[s.Warehouses[0].ID]
			}
		}
		if !v.FollowStock {
			buyable = true
			continue
		}
		sum, buyable = sum+n, buyable || n > 0
	}
	return sum, buyable
}

func (w *world) products(in *scenario.Shop) reading[scenario.Product] {
	r := reading[scenario.Product]{path: "products", id: func(p scenario.Product) string { return p.ID }}
	for _, p := range w.c.Products {
		if in == nil || len(p.Shops) == 0 || slices.Contains(p.Shops, in.ID) {
			r.rows = append(r.rows, p)
		}
	}
	if in != nil {
		r.headers = []string{"X-ShopId: " + in.ID}
	}
	text := func(p scenario.Product) string {
		all := p.Title + "\n" + p.Handle + "\n" + p.Vendor
		for _, v := range p.Variants {
			all += "\n" + v.Title + "\n" + v.SKU + "\n" + v.Barcode
		}
		return all
	}
	created := func(p scenario.Product) value.Stamp { return p.CreatedAt }
	updated := func(p scenario.Product) value.Stamp { return p.UpdatedAt }
	search := func(part string) naive[scenario.Product] {
		return is("search", strings.ToUpper(part), func(p scenario.Product) bool { return has(text(p), part) })
	}
	stocked := func(want bool) func(scenario.Product) bool {
		return func(p scenario.Product) bool { _, ok := w.stockOf(p, in); return ok == want }
	}
	shop := w.c.Shops[1].ID
	r.filters = map[string][]naive[scenario.Product]{
		"search": {search("boot"), search("sku-1"), search("borea"), search("p3"), search("2001"), search("v2")},
		"published": {
			is("published", "1", func(p scenario.Product) bool { return *p.Published }),
			is("published", "0", func(p scenario.Product) bool { return !*p.Published }),
		},
		"type":       {is("type", "services", func(p scenario.Product) bool { return p.Type == "services" })},
		"has_stocks": {is("has_stocks", "1", stocked(true)), is("has_stocks", "0", stocked(false))},
		"priceRange": {
			is("priceRange", "5,12.5", func(p scenario.Product) bool {
				return lowest(p).Cmp(big.NewRat(5, 1)) >= 0 && lowest(p).Cmp(big.NewRat(25, 2)) <= 0
			}),
			is("priceRange", "10,", func(p scenario.Product) bool { return lowest(p).Cmp(big.NewRat(10, 1)) >= 0 }),
		},
		"collections": {is("collections", w.c.Collections[0].ID+","+w.c.Collections[2].ID, func(p scenario.Product) bool {
			return p.Collections[0] != w.c.Collections[1].ID
		})},
		"shops": {is("shops", shop, func(p scenario.Product) bool { return len(p.Shops) == 0 || p.Shops[0] == shop })},
		"tags": {is("tags", "winter,sale", func(p scenario.Product) bool {
			return slices.Contains(p.Tags, "winter") || slices.Contains(p.Tags, "sale")
		})},
		"optionValues": {is("optionValues", "red", func(p scenario.Product) bool {
			return slices.ContainsFunc(p.Variants, func(v scenario.Variant) bool { return v.Options["color"] == "red" })
		})},
		"created_at": within("created_at", created, 4, 12),
		"updated_at": within("updated_at", updated, 24, 32),
	}
	r.sorts = map[string]func(a, b scenario.Product) int{
		"price":      func(a, b scenario.Product) int { return lowest(a).Cmp(lowest(b)) },
		"created_at": compareTimes(created), "updated_at": compareTimes(updated),
		"title": func(a, b scenario.Product) int {
			return cmp.Compare(strings.ToLower(a.Title), strings.ToLower(b.Title))
		},
		"has_stock_first": func(a, b scenario.Product) int {
			_, x := w.stockOf(a, in)
			_, y := w.stockOf(b, in)
			switch {
			case x == y:
				return 0
			case x:
				return -1
			}
			return 1
		},
		"total_orders": func(a, b scenario.Product) int { return cmp.Compare(w.orders[a.ID], w.orders[b.ID]) },
		"stocks": func(a, b scenario.Product) int {
			x, _ := w.stockOf(a, in)
			y, _ := w.stockOf(b, in)
			return cmp.Compare(x, y)
		},
		"tags": func(a, b scenario.Product) int { return cmp.Compare(len(a.Tags), len(b.Tags)) }, // each has the first of the same tags
	}
	return r
}

func TestEachListEqualsANaiveReading(t *testing.T) {
	w := newWorld(t)
	filters, sorts := slices.Collect(maps.Keys(productList(nobody).Filters)), slices.Collect(maps.Keys(productList(nobody).Sorts))
	w.products(nil).check(t, w, filters, sorts)
	w.products(&w.c.Shops[2]).check(t, w, filters, sorts)

	reading[scenario.Shop]{path: "shops", rows: w.c.Shops, id: func(s scenario.Shop) string { return s.ID },
		filters: map[string][]naive[scenario.Shop]{"search": {is("search", "ORTH", func(s scenario.Shop) bool { return has(s.Name, "orth") })}},
		sorts: map[string]func(a, b scenario.Shop) int{
			"name":          func(a, b scenario.Shop) int { return cmp.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name)) },
			"currency_code": func(a, b scenario.Shop) int { return cmp.Compare(a.Currency, b.Currency) },
			"created_at":    compareTimes(func(s scenario.Shop) value.Stamp { return s.CreatedAt }),
		},
	}.check(t, w, slices.Collect(maps.Keys(shopList.Filters)), slices.Collect(maps.Keys(shopList.Sorts)))

	reading[scenario.ShippingFee]{path: "shipping-fees", rows: w.c.ShippingFees, id: func(f scenario.ShippingFee) string { return f.ID },
		filters: map[string][]naive[scenario.ShippingFee]{
			"active":     {is("active", "1", func(f scenario.ShippingFee) bool { return *f.Active })},
			"search":     {is("search", "AWAY", func(f scenario.ShippingFee) bool { return has(f.Name, "away") })},
			"created_at": within("created_at", func(f scenario.ShippingFee) value.Stamp { return f.CreatedAt }, 2, 6),
			"updated_at": within("updated_at", func(f scenario.ShippingFee) value.Stamp { return f.UpdatedAt }, 12, 16),
		},
		sorts: map[string]func(a, b scenario.ShippingFee) int{
			"name": func(a, b scenario.ShippingFee) int {
				return cmp.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name))
			},
			"orders_count": func(a, b scenario.ShippingFee) int { return cmp.Compare(w.orders[a.ID], w.orders[b.ID]) },
		},
	}.check(t, w, slices.Collect(maps.Keys(feeList(nobody).Filters)), slices.Collect(maps.Keys(feeList(nobody).Sorts)))

	first := w.c.Shops[0].ID
	reading[scenario.PickupLocation]{path: "pickup-locations", rows: w.c.PickupLocations,
		id: func(l scenario.PickupLocation) string { return l.ID },
		filters: map[string][]naive[scenario.PickupLocation]{
			"active": {is("active", "0", func(l scenario.PickupLocation) bool { return !*l.Active })},
			"search": {is("search", "away", func(l scenario.PickupLocation) bool { return has(l.Name, "away") })},
			"shop":   {is("shop", first, func(l scenario.PickupLocation) bool { return l.Shop == "" || l.Shop == first })},
		},
	}.check(t, w, slices.Collect(maps.Keys(pickupList.Filters)), slices.Collect(maps.Keys(pickupList.Sorts)))
}

func TestAListOfCustomersEqualsANaiveReading(t *testing.T) {
	w := newWorld(t)
	created := func(c scenario.Customer) value.Stamp { return c.CreatedAt }
	text := func(c scenario.Customer) string {
		return strings.Join([]string{c.FirstName + " " + c.LastName, c.Email, c.Phone, c.ID}, "\n")
	}
	search := func(part string) naive[scenario.Customer] {
		return is("search", part, func(c scenario.Customer) bool { return has(text(c), strings.ToLower(part)) })
	}
	fold := func(text func(scenario.Customer) string) func(a, b scenario.Customer) int {
		return func(a, b scenario.Customer) int {
			return cmp.Compare(strings.ToLower(text(a)), strings.ToLower(text(b)))
		}
	}
	reading[scenario.Customer]{path: "admin/customers", rows: w.c.Customers, id: func(c scenario.Customer) string { return c.ID },
		filters: map[string][]naive[scenario.Customer]{
			"search":     {search("Kofi"), search("c2@"), search("+2376500012"), search(w.c.Customers[7].ID)},
			"created_at": within("created_at", created, 3, 9), "updated_at": within("updated_at", created, 3, 9),
		},
		sorts: map[string]func(a, b scenario.Customer) int{
			"created_at": compareTimes(created), "updated_at": compareTimes(created),
			"first_name": fold(func(c scenario.Customer) string { return c.FirstName }),
			"last_name":  fold(func(c scenario.Customer) string { return c.LastName }),
			"email":      fold(func(c scenario.Customer) string { return c.Email }),
		},
	}.check(t, w, slices.Collect(maps.Keys(customerList(nobody).Filters)), slices.Collect(maps.Keys(customerList(nobody).Sorts)))
}

// Each include adds its member, and nothing else adds it.
func TestEachIncludeOfAProductAddsItsMember(t *testing.T) {
	w := newWorld(t)
	member := map[string]string{
		"variants": "/variants", "variants.stocks": "/variants/stocks",
		"variants.warehouseQuantities": "/variants/estimated_quantity_by_warehouse",
		"collections":                  "/collections", "shops": "/shops", "options": "/options", "supplier": "/supplier",
		"service.professionals": "/service",
		"tags":                  "/tags", // which is there without it too
	}
	for _, include := range append([]string{""}, productList(nobody).Includes...) {
		status, body := ask(w.p, "GET", "/2023-11/products?include="+include, "", "X-Company: "+w.c.ID)
		var got struct{ Data []map[string]any }
		must(t, json.Unmarshal([]byte(body), &got))
		if status != 200 || include != "" && member[include] == "" {
			t.Fatalf("include %s: got %d, want 200 and a member of its own", include, status)
		}
		for name, path := range member {
			at := strings.Split(path, "/")
			value, there := got.Data[0][at[1]]
			if variants, ok := value.([]any); ok && len(at) == 3 {
				_, there = variants[0].(map[string]any)[at[2]]
			} else if len(at) == 3 {
				there = false
			}
			want := name == include || name == "tags" || name == "variants" && strings.HasPrefix(include, "variants")
			if there != want {
				t.Errorf("include %q: got %s %v, want %v", include, path, there, want)
			}
		}
	}
}

// The addresses of a customer are those that the customer made.
func TestTheIncludeOfCustomersAddsTheirAddresses(t *testing.T) {
	w := newWorld(t)
	call := func(out any, method, path, body string, headers ...string) {
		t.Helper()
		status, text := ask(w.p, method, "/2023-11/"+path, body, append(headers, "X-Company: "+w.c.ID)...)
		if err := json.Unmarshal([]byte(text), out); err != nil || status > 201 {
			t.Fatalf("%s: got %d %s, want 200", path, status, text)
		}
	}
	var registered struct{ Token string }
	call(&registered, "POST", "customers/register", `{"first_name": "Abla", "email": "abla@customers.example", "password": "long enough"}`)
	var made struct{ ID string }
	call(&made, "POST", "customers/addresses", `{"line1": "1 Hill Road", "city": "Lome", "country": "TG"}`,
		"Authorization: Bearer "+registered.Token)
	type row struct {
		Email     string
		Addresses *[]struct{ ID string }
	}
	for include, want := range map[string]bool{"": false, "&include=addresses": true} {
		var list struct{ Data []row }
		call(&list, "GET", "admin/customers?per_page=100"+include, "", "X-API-Key: k")
		if len(list.Data) != len(w.c.Customers)+1 {
			t.Fatalf("got %d customers, want %d", len(list.Data), len(w.c.Customers)+1)
		}
		for _, r := range list.Data {
			if (r.Addresses != nil) != want {
				t.Errorf("%q: %s has addresses: %v, want %v", include, r.Email, r.Addresses != nil, want)
			} else if want && r.Email == "abla@customers.example" && (len(*r.Addresses) != 1 || (*r.Addresses)[0].ID != made.ID) {
				t.Errorf("got the addresses %v, want %s", *r.Addresses, made.ID)
			}
		}
	}
}

// nobody is a request for the names that a list knows.
var nobody = &call{company: &company{}}
