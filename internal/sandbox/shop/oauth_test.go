package shop

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"campaignd/internal/sandbox/shop/scenario"
)

// exchange posts a code and returns status and body.
func exchange(p http.Handler, code string) (int, string) {
	form := url.Values{
		"grant_type": {"authorization_code"}, "code": {code}, "client_id": {"demo-app"}, "client_secret": {"demo-app-secret"},
		"redirect_uri": {"http://127.0.0.1:8080/commerce/callback"},
	}
	return ask(p, "POST", "/oauth/token", form.Encode(), "Content-Type: application/x-www-form-urlencoded")
}

func TestACodeWorksOnceHoweverManyUseIt(t *testing.T) {
	for range 100 {
		p := demo(t)
		var all sync.WaitGroup
		var granted, refused atomic.Int64
		for range 50 {
			all.Go(func() {
				switch status, _ := exchange(p, "demo-code"); status {
				case 200:
					granted.Add(1)
				case 400:
					refused.Add(1)
				}
			})
		}
		all.Wait()
		if granted.Load() != 1 || refused.Load() != 49 {
			t.Fatalf("got %d tokens and %d refusals, want 1 and 49", granted.Load(), refused.Load())
		}
	}
}

// The callback of an installation is signed over its decoded parameters, and its code works once.
func TestAnInstallationIsSignedAndItsCodeWorks(t *testing.T) {
	p := demo(t)
	body := fmt.Sprintf(`{"client_id": "demo-app", "company": %q, "redirect_to": "https://app.example/a b&c"}`, scenario.DemoCompany)
	status, answer := ask(p, "POST", "/sandbox/commerce/install", body)
	at := strings.Index(answer, "http://")
	if status != 200 || at < 0 {
		t.Fatalf("got %d %s, want an address", status, answer)
	}
	text := strings.ReplaceAll(strings.TrimRight(answer[at:], "\"}"), `\u0026`, "&")
	to, err := url.Parse(text)
	must(t, err)
	query := to.Query()
	for _, name := range []string{"company_id", "code", "timestamp", "hmac", "redirect_to"} {
		if query.Get(name) == "" {
			t.Errorf("got no %s in %s, want it", name, text)
		}
	}
	if got, want := query.Get("hmac"), sign(query, "demo-app-secret"); got != want {
		t.Errorf("got the hmac %s, want %s", got, want)
	}
	for _, want := range []int{200, 400} {
		if status, answer := exchange(p, query.Get("code")); status != want {
			t.Errorf("got %d %s, want %d", status, answer, want)
		}
	}
}
