package console

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"campaignd/internal/operator"
)

// given returns the cookies that an answer sets, by name.
func given(got *httptest.ResponseRecorder) map[string]*http.Cookie {
	out := map[string]*http.Cookie{}
	for _, c := range got.Result().Cookies() { //nolint:bodyclose // a recorder's
		out[c.Name] = c
	}
	return out
}

func TestAKeyIsExchangedForASession(t *testing.T) {
	w := newWorld(t)
	secret := w.keys["read"].Secret
	got := w.request("/console/sign-in", "", url.Values{"key": {" " + secret + "\n"}, "to": {"/console/holds"}})
	c := given(got)[cookie]
	if got.Code != http.StatusSeeOther || got.Header().Get("Location") != "/console/holds" || c == nil {
		t.Fatalf("got %d to %s with the cookie %v, want one and /console/holds", got.Code, got.Header().Get("Location"), c)
	}
	if !c.HttpOnly || !c.Secure || c.SameSite != http.SameSiteStrictMode || c.Path != "/" || c.Domain != "" || c.MaxAge != 12*3600 {
		t.Errorf("got the cookie %+v, want it for this host alone, for 12 hours, not for scripts", c)
	}
	if len(c.Value) != 64 || strings.Contains(secret, c.Value) {
		t.Errorf("got the secret %q, want 256 random bits", c.Value)
	}
	w.cookies["new"] = c.Value
	if got := w.request("/console/overview", "new", nil); got.Code != 200 || !strings.Contains(got.Body.String(), "(read)") {
		t.Errorf("with the cookie: got %d, want the overview of the key read", got.Code)
	}
	for _, wrong := range []string{"", "x", secret[1:], w.cookies["read"]} {
		got := w.request("/console/sign-in", "", url.Values{"key": {wrong}})
		if got.Code != http.StatusUnauthorized || given(got)[cookie] != nil {
			t.Errorf("%.8q: got %d and a cookie %v, want 401 and none", wrong, got.Code, given(got)[cookie])
		}
	}
}

// A session that somebody else put into the browser ends with the sign-in.
func TestASignInTakesNoSessionOver(t *testing.T) {
	w := newWorld(t)
	w.cookies["fixed"] = w.cookies["other"]
	got := w.request("/console/sign-in", "fixed", url.Values{"key": {w.keys["admin"].Secret}})
	c := given(got)[cookie]
	if c == nil || c.Value == w.cookies["fixed"] {
		t.Fatalf("got the cookie %v, want a new one", c)
	}
	if got := w.request("/console/overview", "fixed", nil); got.Code != http.StatusSeeOther {
		t.Errorf("the session before: got %d, want 303 to the sign-in", got.Code)
	}
	made := strings.Repeat("ab", 32)
	w.cookies["made up"] = made
	if c := given(w.request("/console/sign-in", "made up", url.Values{"key": {w.keys["admin"].Secret}}))[cookie]; c == nil || c.Value == made {
		t.Errorf("a session that was made up: got the cookie %v, want a new one", c)
	}
}

func TestASessionEndsAtOnce(t *testing.T) {
	w := newWorld(t)
	got := w.request("/console/sign-out", "read", url.Values{})
	if c := given(got)[cookie]; got.Code != http.StatusSeeOther || c == nil || c.MaxAge >= 0 {
		t.Errorf("sign-out: got %d and the cookie %v, want it removed", got.Code, c)
	}
	if _, err := w.session.RevokeKey(t.Context(), w.keys["operate"].ID); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"read", "operate"} {
		if got := w.request("/console/runs", name, nil); got.Code != http.StatusSeeOther {
			t.Errorf("%s: got %d after its end, want 303 to the sign-in", name, got.Code)
		}
		if got := w.request("/console/runs/spring-1/pause", name, url.Values{}); got.Code != http.StatusUnauthorized {
			t.Errorf("%s: got %d for an action after its end, want 401", name, got.Code)
		}
	}
	// Another site can end no session: its form has no cookie, and is refused.
	if got := w.request("/console/sign-out", "admin", url.Values{}, "Sec-Fetch-Site", "cross-site"); got.Code != http.StatusForbidden {
		t.Errorf("sign-out from another site: got %d, want 403", got.Code)
	}
	if got := w.request("/console/runs", "admin", nil); got.Code != 200 {
		t.Errorf("after it: got %d, want that the session goes on", got.Code)
	}
}

func TestWithoutTLSOnlyThisMachineSignsIn(t *testing.T) {
	w := newWorld(t)
	behind, err := New(t.Context(), w.process, Options{BehindTLS: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, host string
		server     *Server
		want       int
	}{
		{"this machine", "127.0.0.1:8081", w.Server, 303}, {"by name", "localhost:8081", w.Server, 303}, {"IPv6", "[::1]:8081", w.Server, 303},
		{"the network", "10.0.0.7:8081", w.Server, 403}, {"a name", "console.internal", w.Server, 403},
		{"a name that begins alike", "localhost.evil.example", w.Server, 403}, {"behind a proxy with TLS", "console.internal", behind, 303},
	} {
		form := url.Values{"key": {w.keys["read"].Secret}}
		r := httptest.NewRequest(http.MethodPost, "/console/sign-in", strings.NewReader(form.Encode()))
		r.Host = tt.host
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		got := httptest.NewRecorder()
		tt.server.ServeHTTP(got, r)
		if got.Code != tt.want {
			t.Errorf("%s: got %d, want %d", tt.name, got.Code, tt.want)
		}
		if hsts := got.Header().Get("Strict-Transport-Security") != ""; hsts != (tt.server == behind) {
			t.Errorf("%s: told to use https: %v", tt.name, hsts)
		}
	}
}

func TestWrongKeysOfASignInAreLimited(t *testing.T) {
	w := newWorld(t)
	for range operator.WrongBurst {
		w.request("/console/sign-in", "", url.Values{"key": {"x"}})
	}
	got := w.request("/console/sign-in", "", url.Values{"key": {"x"}})
	if got.Code != http.StatusTooManyRequests {
		t.Errorf("got %d, want 429", got.Code)
	}
	if _, err := w.process.Guard.Admit(t.Context(), "192.0.2.1:9", "y"); err == nil {
		t.Error("the API admits a wrong key, want that it counts with the console")
	}
}

func TestASignInLeadsToTheConsoleAlone(t *testing.T) {
	for asked, want := range map[string]string{"/console/runs?x=1": "/console/runs?x=1", "": "/console/overview",
		"https://evil.example": "/console/overview", "//evil.example": "/console/overview", "/console/\\evil": "/console/overview",
		"/api/v1/keys": "/console/overview"} {
		if got := target(asked); got != want {
			t.Errorf("%q: got %s, want %s", asked, got, want)
		}
	}
}

func TestTheTokenOfACommandOpensTheConsole(t *testing.T) {
	w := newWorld(t)
	token, err := w.session.ConsoleToken(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // to look at the page does not use it up
		if got := w.request("/console/enter?token="+token, "", nil); !strings.Contains(got.Body.String(), token) || len(given(got)) > 0 {
			t.Errorf("the page: got %s, want a form with the token and no cookie", got.Body)
		}
	}
	for i, want := range []int{http.StatusSeeOther, http.StatusUnauthorized} {
		if got := w.request("/console/sign-in", "", url.Values{"token": {token}}); got.Code != want || (given(got)[cookie] != nil) != (i == 0) {
			t.Errorf("use %d: got %d, want %d", i+1, got.Code, want)
		}
	}
}
