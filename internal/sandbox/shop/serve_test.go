package shop

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"campaignd/internal/sandbox/shop/scenario"
)

// must stops the test.
func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// demo is a platform with the demo shop.
func demo(t *testing.T) *Platform {
	t.Helper()
	p, err := New(scenario.Demo(), Options{})
	must(t, err)
	return p
}

// ask sends a request with headers such as "X-Company: ID", and returns status and body.
func ask(p http.Handler, method, target, body string, headers ...string) (int, string) {
	return answerTo(p, request(method, target, body, headers...))
}

func request(method, target, body string, headers ...string) *http.Request {
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Set(name, value)
	}
	return r
}

func answerTo(p http.Handler, r *http.Request) (int, string) {
	w := httptest.NewRecorder()
	p.ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

// The checks run in the order credential, company, route, body (docs/commerce.md#authentication).
func TestTheChecksOfARequestHaveAnOrder(t *testing.T) {
	p := demo(t)
	for _, c := range []struct {
		name, target string
		headers      []string
		status       int
		want         string
	}{
		{"wrong key, no company, no route", "/2023-11/nothing", []string{"X-API-Key: x"}, 401, "Invalid API key"},
		{"no company, no route", "/2023-11/nothing", nil, 422, "Please provide a Company Id"},
		{"no route", "/2023-11/nothing", []string{"X-Company: " + scenario.DemoCompany}, 404, "not shown in the document"},
		{"no credential of an admin route", "/2023-11/admin/nothing", nil, 401, "API key is missing"},
		{"a public key on an admin route", "/2023-11/admin/products", []string{"Authorization: " + scenario.DemoPublicKey}, 403, "Access denied"},
		{"an admin route without X-Company", "/2023-11/admin/products", []string{"X-API-Key: " + scenario.DemoKey}, 200, "Boot"},
		{"an unknown company", "/2023-11/products", []string{"X-Company: x"}, 404, "Company not found"},
		{"the key of another company", "/2023-11/products", []string{"X-Company: x", "X-API-Key: " + scenario.DemoKey}, 403, "Access denied"},
		{"an unknown shop", "/2023-11/products", []string{"X-Company: " + scenario.DemoCompany, "X-Shop: x"}, 404, "Shop not found"},
		{"an older prefix", "/v1/products", nil, 404, "not shown in the document"},
	} {
		status, body := ask(p, "GET", c.target, "", c.headers...)
		if status != c.status || !strings.Contains(body, c.want) {
			t.Errorf("%s: got %d %.200s, want %d %s", c.name, status, body, c.status, c.want)
		}
	}
}
