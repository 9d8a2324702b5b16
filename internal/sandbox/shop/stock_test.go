package shop

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"campaignd/internal/sandbox/shop/scenario"
	"campaignd/internal/sandbox/shop/value"
)

// lastUnit is a shop with one variant of which one unit is left.
func lastUnit(t testing.TB) *Platform {
	t.Helper()
	price := value.Amount{}
	_ = price.UnmarshalText([]byte("10"))
	p, err := New(scenario.Commerce{
		Apps: []scenario.App{{ClientID: "app", ClientSecret: "s", RedirectURI: "https://app.example/cb",
			Codes: []scenario.Code{{Code: "code-1", Company: unitCompany}}}},
		Companies: []scenario.Company{{ID: unitCompany, Name: "Acme", Handle: "acme",
			Shops: []scenario.Shop{{ID: unitShop, Name: "North", Slug: "north", Warehouses: []scenario.Warehouse{{ID: unitHall, Name: "Hall"}}}},
			Products: []scenario.Product{{ID: unitProduct, Title: "Boot", Handle: "boot",
				Variants: []scenario.Variant{{ID: unitVariant, Title: "Red", Price: price,
					FollowStock: true, Stocks: map[string]int{unitHall: 1}}}}},
		}},
	}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

const (
	unitCompany = "01J0000000000000000000ACME"
	unitShop    = "01J000000000000000000N0RTH"
	unitHall    = "01J0000000000000000WARENTH"
	unitProduct = "01J0000000000000000000B00T"
	unitVariant = "01J00000000000000000B00TRD"
	unitOrder   = `{"customer":{"phone":"+237650000001"},"shipping":{"mode":"other"},` +
		`"products":[{"product_id":"` + unitProduct + `","quantity":1}]}`
)

// atOnce calls do from 50 goroutines that start together, and counts the results.
func atOnce(do func(i int) int) map[int]int {
	start, results := make(chan struct{}), make(chan int, 50)
	var all sync.WaitGroup
	for i := range cap(results) {
		all.Go(func() {
			<-start
			results <- do(i)
		})
	}
	close(start)
	all.Wait()
	close(results)
	count := map[int]int{}
	for r := range results {
		count[r]++
	}
	return count
}

// One of 50 orders at once for the last unit succeeds, in each of 100 rounds.
func TestTheLastUnitIsSoldOnce(t *testing.T) {
	for range 100 {
		p := lastUnit(t)
		got := atOnce(func(int) int {
			status, _ := ask(p, "POST", "/2023-11/customers/orders", unitOrder, "X-Company: "+unitCompany)
			return status
		})
		if got[200] != 1 || got[422] != 49 {
			t.Fatalf("got the answers %v, want 200 once and 422 49 times", got)
		}
		v, _ := p.company[unitCompany].variants.Get(unitVariant)
		if n, orders := v.quantity(nil), p.company[unitCompany].orders.Len(); n != 0 || orders != 1 {
			t.Fatalf("got %d units and %d orders, want 0 and 1", n, orders)
		}
	}
}

// One of 50 exchanges at once of the same code succeeds, in each of 100 rounds.
func TestACodeIsExchangedOnce(t *testing.T) {
	form := "grant_type=authorization_code&code=code-1&client_id=app&client_secret=s&redirect_uri=https%3A%2F%2Fapp.example%2Fcb"
	for range 100 {
		p := lastUnit(t)
		got := atOnce(func(int) int {
			status, _ := ask(p, "POST", "/oauth/token", form, "Content-Type: application/x-www-form-urlencoded")
			return status
		})
		if got[200] != 1 || got[400] != 49 {
			t.Fatalf("got the answers %v, want 200 once and 400 49 times", got)
		}
	}
}

// An order of two lines of one variant takes the stock of both, or of none.
func TestStockIsTakenWholeOrNotAtAll(t *testing.T) {
	p := lastUnit(t)
	v, _ := p.company[unitCompany].variants.Get(unitVariant)
	two := strings.Replace(unitOrder, `"quantity":1}`, `"quantity":1},{"product_id":"`+unitProduct+`","quantity":1}`, 1)
	const path, company = "/2023-11/customers/orders", "X-Company: " + unitCompany
	if status, body := ask(p, "POST", path, two, company); status != 422 || v.quantity(nil) != 1 {
		t.Errorf("got %d with %d units left: %s; want 422 and 1", status, v.quantity(nil), body)
	}
	if status, body := ask(p, "POST", path, unitOrder, company); status != 200 || v.quantity(nil) != 0 {
		t.Errorf("got %d with %d units left: %s; want 200 and 0", status, v.quantity(nil), body)
	}
}

// A cancelled or refunded order gives back its stock, once, and takes no payment and no change.
func TestAnEndedOrderGivesItsStockBack(t *testing.T) {
	for _, status := range []string{"cancelled", "refunded"} {
		p := lastUnit(t)
		v, _ := p.company[unitCompany].variants.Get(unitVariant)
		id := orderID(t, p, unitOrder)
		path := "/sandbox/commerce/orders/" + id + "/status"
		if code, body := ask(p, "POST", path, `{"status":"`+status+`"}`); code != 200 || v.quantity(nil) != 1 {
			t.Errorf("%s: got %d with %d units: %s; want 200 and 1", status, code, v.quantity(nil), body)
		}
		if code, body := ask(p, "POST", path, `{"status":"refunded"}`); code != 422 || v.quantity(nil) != 1 {
			t.Errorf("%s again: got %d with %d units: %s; want 422 and 1", status, code, v.quantity(nil), body)
		}
		if code, body := ask(p, "POST", "/sandbox/commerce/pay", `{"order":"`+id+`"}`); code != 422 {
			t.Errorf("paying a %s order: got %d %s, want 422", status, code, body)
		}
	}
}

// orderID makes an order of the unit shop and returns its id.
func orderID(t *testing.T, p http.Handler, body string) string {
	t.Helper()
	r := httptest.NewRequest("POST", "/2023-11/customers/orders", strings.NewReader(body))
	r.Header.Set("X-Company", unitCompany)
	w := httptest.NewRecorder()
	p.ServeHTTP(w, r)
	var out struct{ Data struct{ ID string } }
	if err := json.Unmarshal(w.Body.Bytes(), &out); err != nil || out.Data.ID == "" {
		t.Fatal(fmt.Errorf("the order: %d %s (%w), want 200", w.Code, w.Body, err))
	}
	return out.Data.ID
}
