package shop

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"campaignd/internal/sandbox/shop/records"
	"campaignd/internal/sandbox/shop/scenario"
)

func TestACompanyIsKeptWithinItsRate(t *testing.T) {
	sc := scenario.Demo()
	sc.RateLimit = scenario.RateLimit{Requests: 3, Per: 1 << 40} // 18 minutes
	p, err := New(sc, Options{})
	must(t, err)
	for i, want := range []int{200, 200, 200, 429} {
		r := request("GET", "/2023-11/shops", "", "X-Company: "+scenario.DemoCompany)
		w := httptest.NewRecorder()
		p.ServeHTTP(w, r)
		if w.Code != want || (want == 429) != (w.Header().Get("Retry-After") != "") {
			t.Errorf("request %d: got %d with Retry-After %q, want %d", i, w.Code, w.Header().Get("Retry-After"), want)
		}
	}
	if status, body := ask(p, "GET", "/2023-11/companies/"+scenario.DemoCompany, ""); status != 200 {
		t.Errorf("outside the company: got %d %s, want 200", status, body)
	}
}

func TestBodiesAndRecordsHaveALimit(t *testing.T) {
	p := demo(t)
	large := `{"email": "` + strings.Repeat("a", maxBody) + `"}`
	status, body := ask(p, "POST", "/2023-11/customers/login", large, "X-Company: "+scenario.DemoCompany)
	if status != 413 || !strings.Contains(body, `"message"`) {
		t.Errorf("a large body: got %d %.100s, want 413 with a message", status, body)
	}
	p.room.Used = records.MaxRecords
	customer := `{"first_name": "A", "phone": "+237650000009"}`
	if status, body := ask(p, "POST", "/2023-11/admin/customers", customer, "X-API-Key: "+scenario.DemoKey); status != 507 {
		t.Errorf("a full sandbox: got %d %s, want 507", status, body)
	}
}

// A body of 1 MiB is taken, and one of a byte more is refused and changes nothing.
func TestTheLimitOfABodyIsExact(t *testing.T) {
	p := lastUnit(t)
	v, _ := p.company[unitCompany].variants.Get(unitVariant)
	stock := `{"variant":"` + unitVariant + `","warehouse":"` + unitHall + `","quantity":7}`
	for _, c := range []struct {
		path, body   string
		size         int
		status, rest int
	}{
		{"/2023-11/customers/orders", unitOrder, 1<<20 + 1, 413, 1}, {"/2023-11/customers/orders", unitOrder, 1 << 20, 200, 0},
		{"/sandbox/commerce/stock", stock, 1<<20 + 1, 413, 0}, {"/sandbox/commerce/stock", stock, 1 << 20, 200, 7},
	} {
		body := c.body + strings.Repeat(" ", c.size-len(c.body))
		status, answer := ask(p, "POST", c.path, body, "X-Company: "+unitCompany)
		if status != c.status || v.quantity(nil) != c.rest {
			t.Errorf("%s with %d bytes: got %d %.100s and %d units, want %d and %d", c.path, len(body), status, answer, v.quantity(nil),
				c.status, c.rest)
		}
	}
}

// The platform does what is asked and closes the connection without an answer.
func TestALostAnswerIsOfADoneRequest(t *testing.T) {
	sc := scenario.Demo()
	sc.Faults.LostAfter = 1
	p, err := New(sc, Options{})
	must(t, err)
	func() {
		defer func() {
			if got := recover(); got != http.ErrAbortHandler {
				t.Errorf("got %v, want an aborted answer", got)
			}
		}()
		ask(p, "POST", "/2023-11/admin/customers", `{"email": "new@customers.example"}`, "X-API-Key: "+scenario.DemoKey)
	}()
	if p.companies[0].holder("new@customers.example", "") == nil {
		t.Error("got no customer, want the one whose answer was lost")
	}
}

// Rows that appear between pages are counted in the total, and none of the others is left out.
func TestRowsShiftBetweenPages(t *testing.T) {
	p := large(t)
	before := p.companies[0].customers.Len()
	if status, body := ask(p, "PUT", "/sandbox/commerce/faults", `{"shift": 1}`); status != 200 {
		t.Fatalf("got %d %s, want 200", status, body)
	}
	var last string
	repeated := 0
	for n := range 20 {
		_, body := ask(p, "GET", "/2023-11/admin/customers?sort=created_at&page="+string(rune('1'+n%9)), "", "X-API-Key: "+scenario.DemoKey)
		var got struct {
			Data []struct{ ID string }
			Meta struct{ Total int }
		}
		must(t, json.Unmarshal([]byte(body), &got))
		if got.Meta.Total != before+n+1 {
			t.Fatalf("page %d: got a total of %d, want %d", n, got.Meta.Total, before+n+1)
		}
		if got.Data[0].ID == last {
			repeated++
		}
		last = got.Data[len(got.Data)-1].ID
	}
	if repeated == 0 {
		t.Error("got no row twice, want some that moved to the next page")
	}
}

// The truth names no key, password or secret.
func TestTheTruthHasNoSecret(t *testing.T) {
	p := demo(t)
	body := `{"email": "ama@customers.example", "password": "ama-password"}`
	_, login := ask(p, "POST", "/2023-11/customers/login", body, "X-Company: "+scenario.DemoCompany)
	var session struct{ Token string }
	must(t, json.Unmarshal([]byte(login), &session))
	for _, target := range []string{"/sandbox/commerce/truth", "/2023-11/companies/" + scenario.DemoCompany} {
		_, body := ask(p, "GET", target, "")
		for _, secret := range []string{scenario.DemoKey, scenario.DemoPublicKey, "ama-password", "demo-app-secret", "demo-code", "card-private",
			session.Token} {
			if secret == "" || strings.Contains(body, secret) {
				t.Errorf("%s: got %q in it, want it absent", target, secret)
			}
		}
	}
}
