package main

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"
)

const (
	company   = "01J0000000000000000000ACME"
	appSecret = "app-secret-0123456789" //nolint:gosec // of no application
)

// platform is a commerce platform with one company and one application, whose codes work once. It
// knows the tokens and keys that it answers to.
func platform(t *testing.T, keys map[string]int) string {
	t.Helper()
	used := map[string]bool{}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /oauth/token", func(w http.ResponseWriter, r *http.Request) {
		code := r.PostFormValue("code")
		if r.PostFormValue("client_secret") != appSecret || used[code] || !strings.HasPrefix(code, "code-") {
			w.WriteHeader(400)
			io.WriteString(w, `{"message":"the code CANARY is not valid"}`)
			return
		}
		used[code] = true
		fmt.Fprintf(w, `{"access_token":"token-of-%s"}`, code)
	})
	mux.HandleFunc("GET /2023-11/companies/"+company, func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, `{"id":"`+company+`","name":"Acme"}`)
	})
	mux.HandleFunc("GET /2023-11/admin/payments", func(w http.ResponseWriter, r *http.Request) {
		key := r.Header.Get("X-API-Key") + strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
		switch status := keys[key]; {
		case status == 0:
			w.WriteHeader(401)
			io.WriteString(w, `{"code":401,"message":"Invalid API key"}`)
		case status == 403:
			w.WriteHeader(403)
			io.WriteString(w, `{"code":403,"message":"Sandbox key not allowed for live operation"}`)
		default:
			io.WriteString(w, `{"data":[],"links":{"next":null},"meta":{"total":0}}`)
		}
	})
	mux.HandleFunc("GET /2023-11/admin/orders", func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, `{"data":[],"links":{"next":null},"meta":{"total":0}}`)
	})
	mux.HandleFunc("GET /2023-11/admin/customers", func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, `{"data":[{"id":"01J8","phone":"+237650000001","metadata":{"consent":"yes"}}],
			"links":{"next":null},"meta":{"total":1}}`)
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server.URL
}

// shopper returns a fixture without a sandbox whose platform is there.
func shopper(t *testing.T, keys map[string]int) *fixture {
	t.Helper()
	d := &fixture{t: t, dir: t.TempDir(), public: freePort(t), env: map[string]string{}}
	d.env["CAMPAIGND_LEDGER"] = "sqlite:" + d.path("campaignd.db")
	d.env["CAMPAIGND_DATA_DIR"] = d.dir
	d.env["CAMPAIGND_LISTEN_PUBLIC"] = d.public
	d.env["CAMPAIGND_COMMERCE_BASE_URL"] = platform(t, keys)
	d.env["CAMPAIGND_COMMERCE_COMPANY"] = company
	return d
}

// callback returns the query of a callback, with the hmac of a secret unless it is "".
func callback(secret, code string, at time.Time, more ...string) string {
	members := []string{"code=" + code, "company_id=" + company}
	members = append(members, more...)
	members = append(members, fmt.Sprintf("timestamp=%d", at.Unix()))
	values := url.Values{}
	for _, m := range members {
		name, value, _ := strings.Cut(m, "=")
		values.Set(name, value)
	}
	if secret != "" {
		mac := hmac.New(sha256.New, []byte(secret))
		io.WriteString(mac, strings.Join(members, "&"))
		values.Set("hmac", hex.EncodeToString(mac.Sum(nil)))
	}
	return values.Encode()
}

// visit opens the callback's address as the browser of the person who installs the application. It
// follows no redirect.
func (d *fixture) visit(query string) (status int, location, text string) {
	d.t.Helper()
	req, err := http.NewRequestWithContext(d.t.Context(), http.MethodGet, "http://"+d.public+"/cb?"+query, nil)
	if err != nil {
		d.t.Fatal(err)
	}
	resp, err := (&http.Transport{}).RoundTrip(req)
	if err != nil {
		return 0, "", err.Error()
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body)
	return resp.StatusCode, resp.Header.Get("Location"), string(body)
}

// connecting runs `campaignd commerce connect` while do runs.
func (d *fixture) connecting(do func()) result {
	d.t.Helper()
	ctx, stop := context.WithTimeout(d.t.Context(), longWait)
	defer stop()
	ended := make(chan result, 1)
	go func() { ended <- d.runIn(ctx, "commerce", "connect", "https://app.example/cb") }()
	d.eventually("the listener answers", func() bool { status, _, _ := d.visit(""); return status == 400 })
	do()
	return <-ended
}

// The walk is that of docs/commerce.md#installation.
func TestAnInstallationIsWalkedThrough(t *testing.T) {
	t.Parallel()
	d := shopper(t, map[string]int{"token-of-code-1": 200})
	d.env["CAMPAIGND_COMMERCE_CLIENT_ID"], d.env["CAMPAIGND_COMMERCE_CLIENT_SECRET"] = "app-1", appSecret
	if r := d.want(1, "commerce", "status"); !strings.Contains(r.stdout, "no company has installed the application yet") {
		t.Errorf("before: got %q, want that nothing is connected", r.stdout)
	}
	r := d.connecting(func() {
		for _, c := range []struct{ query, want string }{
			{callback("", "code-1", time.Now()), "the callback has no hmac"},
			{callback("another secret", "code-1", time.Now()), "the hmac of the callback does not match"},
			{callback(appSecret, "code-1", time.Now()) + "&x=1", "the hmac of the callback does not match"},
			{callback(appSecret, "code-1", time.Now().Add(-6*time.Minute)), "more than 5 minutes from now"},
		} {
			if status, _, text := d.visit(c.query); status != 400 || !strings.Contains(text, c.want) {
				t.Errorf("got %d %q, want 400 %q", status, text, c.want)
			}
		}
		status, location, text := d.visit(callback(appSecret, "code-1", time.Now(), "redirect_to=https://shop.example/apps"))
		if status != 303 || location != "https://shop.example/apps" {
			t.Errorf("a right callback: got %d to %q %q, want 303 to where the platform says", status, location, text)
		}
	})
	file := d.path("commerce.token")
	info, err := os.Stat(file)
	if r.code != 0 || !strings.Contains(r.stdout, "is connected; its token is in "+file) ||
		strings.Count(r.stderr, "a callback was refused") < 4 || err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("got exit code %d, %q, %q, %v; want the token in a file of mode 0600", r.code, r.stdout, r.stderr, err)
	}
	if r := d.want(0, "commerce", "status"); !strings.HasSuffix(r.stdout,
		"answers for the company Acme with the token of the installed application\n") {
		t.Errorf("after: got %q, want that the platform answers", r.stdout)
	}

	// The code works once. A refusal ends the command, and the token of before stays.
	r = d.connecting(func() {
		if status, _, text := d.visit(callback(appSecret, "code-1", time.Now())); status != 502 || !strings.Contains(text, "it was used") {
			t.Errorf("a code used twice: got %d %q, want 502 and the sentence", status, text)
		}
	})
	if r.code != 1 || !strings.Contains(r.stderr, "exchange_refused") || strings.Contains(r.stderr, "CANARY") {
		t.Errorf("a refused exchange: got exit code %d, %q; want 1 and exchange_refused", r.code, r.stderr)
	}
	if kept, err := os.ReadFile(file); err != nil || string(kept) != "token-of-code-1\n" {
		t.Errorf("got the token %q, %v; want the one of before", kept, err)
	}
	r = d.connecting(func() {
		if status, _, text := d.visit(callback(appSecret, "code-2", time.Now())); status != 200 || !strings.Contains(text, "can be closed") {
			t.Errorf("a callback without redirect_to: got %d %q, want a page", status, text)
		}
	})
	if r.code != 0 {
		t.Errorf("a second installation: got exit code %d, %q; want 0", r.code, r.stderr)
	}
	if r := d.want(1, "commerce", "status"); !strings.Contains(r.stdout, "key_invalid") { // the platform does not know code-2's
		t.Errorf("got %q, want that the platform refuses the token", r.stdout)
	}
}

func TestConnectSaysWhatItLacks(t *testing.T) {
	t.Parallel()
	d := shopper(t, nil)
	d.env["CAMPAIGND_COMMERCE_API_KEY"] = "key"
	d.oneLineOf(1, []string{"commerce.client_id is empty"}, "commerce", "connect", "https://app.example/cb")
	delete(d.env, "CAMPAIGND_COMMERCE_API_KEY")
	d.env["CAMPAIGND_COMMERCE_CLIENT_ID"], d.env["CAMPAIGND_COMMERCE_CLIENT_SECRET"] = "app-1", appSecret
	for _, address := range []string{"http://app.example/cb", "https://app.example/", "https://app.example", "cb",
		"https://u:p@app.example/cb", "https://app.example/cb?x=1"} {
		d.want(1, "commerce", "connect", address)
	}
	d.want(2, "commerce", "connect")
	d.want(2, "commerce", "connect", "https://app.example/cb", "--wait", "0s")
	r := d.want(1, "commerce", "connect", "https://app.example/cb", "--wait", "50ms")
	if !strings.Contains(r.stderr, "no callback came within 50ms") {
		t.Errorf("got %q, want that no callback came", r.stderr)
	}
	d.env["CAMPAIGND_DATA_DIR"] = d.path("none")
	d.oneLineOf(2, []string{"the token could not be kept"}, "commerce", "connect", "https://app.example/cb")
}

// Doctor looks at the orders, too: a platform whose company answers may have orders that nobody can
// read.
func TestTheDoctorReadsTheNewestOrders(t *testing.T) {
	t.Parallel()
	for orders, want := range map[string]string{
		`{"data":[{"id":"01J1"},{"id":"01J2"}]}`: "with the API key\n",
		`{"data":[{"id":"01J1"},{"id":"01J2","deleted_at":false}]}`: "1 of its 2 newest orders cannot be read and count for no campaign, " +
			"such as 01J2",
		``: "its orders cannot be read: the commerce platform has no such record or route",
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch {
			case strings.HasSuffix(r.URL.Path, "/orders") && orders == "":
				http.NotFound(w, r)
			case strings.HasSuffix(r.URL.Path, "/orders"):
				io.WriteString(w, orders)
			case strings.HasSuffix(r.URL.Path, "/payments"):
				io.WriteString(w, `{"data":[]}`)
			default:
				io.WriteString(w, `{"id":"`+company+`","name":"Acme"}`)
			}
		}))
		d := shopper(t, nil)
		d.env["CAMPAIGND_COMMERCE_BASE_URL"], d.env["CAMPAIGND_COMMERCE_API_KEY"] = server.URL, "good"
		code, line := 0, "ok commerce"
		switch {
		case orders == "":
			code, line = 1, "fail commerce"
		case strings.Contains(orders, "false"):
			line = "warn commerce"
		}
		r, doctor := d.want(code, "commerce", "status"), d.run("doctor")
		if said := strings.Join(strings.Fields(doctor.stdout), " "); !strings.Contains(said, line) {
			t.Errorf("%s: got the doctor %q, want %q in it", orders, said, line)
		}
		if !strings.Contains(r.stdout, want) || !strings.Contains(strings.Join(strings.Fields(doctor.stdout), " "), strings.TrimSpace(want)) {
			t.Errorf("%s: got %q, and the doctor %q; want %q in both", orders, r.stdout, doctor.stdout, want)
		}
		server.Close()
	}
}

func TestTheStatusIsOneSentence(t *testing.T) {
	t.Parallel()
	d := shopper(t, map[string]int{"good": 200, "sandbox": 403})
	for key, want := range map[string]string{
		"good":    "answers for the company Acme with the API key",
		"sandbox": "the key is one of the commerce platform's sandbox",
		"wrong":   "the commerce platform refuses the key or the token",
	} {
		d.env["CAMPAIGND_COMMERCE_API_KEY"] = key
		code := 1
		if key == "good" {
			code = 0
		}
		r := d.want(code, "commerce", "status")
		doctor := d.run("doctor")
		if !strings.Contains(r.stdout, want) || strings.Count(r.stdout, "\n") != 1 || !strings.Contains(doctor.stdout, want) {
			t.Errorf("%s: got %q, and the doctor %q; want one line with %q in both", key, r.stdout, doctor.stdout, want)
		}
		if r := d.want(code, "commerce", "status", "-o", "json"); !strings.Contains(r.stdout, fmt.Sprintf(`"connected": %v`, key == "good")) {
			t.Errorf("%s: got %s, want whether it is connected", key, r.stdout)
		}
	}
	d.env["CAMPAIGND_COMMERCE_COMPANY"] = "01J00000000000000000000000"
	if r := d.want(1, "commerce", "status"); !strings.Contains(r.stdout, "not_found") {
		t.Errorf("an unknown company: got %q, want not_found", r.stdout)
	}
	for _, name := range []string{"BASE_URL", "COMPANY", "API_KEY"} {
		delete(d.env, "CAMPAIGND_COMMERCE_"+name)
	}
	if r := d.want(1, "commerce", "status"); !strings.Contains(r.stdout, "no commerce platform is configured") {
		t.Errorf("without a platform: got %q, want that none is configured", r.stdout)
	}
	if r := d.run("doctor"); strings.Contains(r.stdout, "commerce") {
		t.Errorf("without a platform: got %q of the doctor, want no line about it", r.stdout)
	}
}
