package commerce

import (
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"campaignd/internal/secret"
)

var app = Application{ClientID: "app-1", ClientSecret: secret.New("app-secret-0123456789"), RedirectURI: "https://app.example/cb"}

// A callback signed with openssl, so that the test does not share a mistake with the code:
//
//	printf 'code=c-1&company_id=01J0000000000000000000ACME&redirect_to=https://shop.example/apps?x=1&y=é&timestamp=1772359200' |
//	  openssl dgst -sha256 -hmac app-secret-0123456789
const (
	signedQuery = "company_id=01J0000000000000000000ACME&code=c-1&timestamp=1772359200" +
		"&redirect_to=https%3A%2F%2Fshop.example%2Fapps%3Fx%3D1%26y%3D%C3%A9"
	signedHmac = "aef2de09161ab967e1fed24654443e39756a245b8bc490e0d658fedfc651e34f"
)

var callbackTime = time.Unix(1772359200, 0)

// callback returns the query of a callback that a secret signed.
func callback(s secret.Value, members ...string) string {
	values := url.Values{}
	var text []string
	for _, m := range members {
		name, value, _ := strings.Cut(m, "=")
		values.Add(name, value)
		text = append(text, m)
	}
	values.Set("hmac", signatureOf(s, strings.Join(text, "&"))) // the members are given sorted
	return values.Encode()
}

func TestACallbackIsVerified(t *testing.T) {
	c, err := app.Callback(signedQuery+"&hmac="+signedHmac, acme, callbackTime)
	if err != nil || c.Code.Reveal() != "c-1" || c.RedirectTo != "https://shop.example/apps?x=1&y=é" {
		t.Errorf("got %q, %q, %v; want the code c-1 and where the person goes", c.Code.Reveal(), c.RedirectTo, err)
	}
	at := fmt.Sprintf("timestamp=%d", callbackTime.Unix())
	good := []string{"code=c-1", "company_id=" + acme, at}
	for _, test := range []struct {
		name, query string
		after       time.Duration
		want        Code
	}{
		{"good", callback(app.ClientSecret, good...), 0, ""},
		{"4 minutes old", callback(app.ClientSecret, good...), 4 * time.Minute, ""},
		{"6 minutes old", callback(app.ClientSecret, good...), 6 * time.Minute, CodeCallbackStale},
		{"of the future", callback(app.ClientSecret, good...), -6 * time.Minute, CodeCallbackStale},
		{"no hmac", signedQuery, 0, CodeCallbackUnsigned},
		{"empty hmac", signedQuery + "&hmac=", 0, CodeCallbackUnsigned},
		{"wrong hmac", signedQuery + "&hmac=" + strings.Repeat("0", 64), 0, CodeCallbackForged},
		{"another secret", callback(secret.New("x"), good...), 0, CodeCallbackForged},
		{"a changed code", strings.Replace(signedQuery, "c-1", "c-2", 1) + "&hmac=" + signedHmac, 0, CodeCallbackForged},
		{"one more member", signedQuery + "&x=1&hmac=" + signedHmac, 0, CodeCallbackForged},
		{"a member twice", signedQuery + "&code=c-2&hmac=" + signedHmac, 0, CodeCallbackForged},
		{"two hmacs", signedQuery + "&hmac=" + signedHmac + "&hmac=" + signedHmac, 0, CodeCallbackForged},
		{"no query", "%zz", 0, CodeCallbackForged},
		{"no time", callback(app.ClientSecret, "code=c-1", "company_id="+acme), 0, CodeCallbackStale},
		{"another company", callback(app.ClientSecret, "code=c-1", "company_id=OTHER", at), 0, CodeCallbackCompany},
		{"no code", callback(app.ClientSecret, "company_id="+acme, at), 0, CodeCallbackNoCode},
	} {
		_, err := app.Callback(test.query, acme, callbackTime.Add(test.after))
		if test.want == "" && err != nil || test.want != "" && (err == nil || fault(t, err).Code != test.want) {
			t.Errorf("%s: got %v, want %q", test.name, err, test.want)
		}
	}
	if _, err := (Application{}).Callback(callback(secret.Value{}, good...), acme, callbackTime); fault(t, err).Code != CodeCallbackForged {
		t.Errorf("without a secret: got %v, want callback_forged: anybody could sign with none", err)
	}
}

func TestACallbackLeadsToNoOtherScheme(t *testing.T) {
	for to, want := range map[string]string{
		"https://shop.example/apps": "https://shop.example/apps", "http://127.0.0.1:9/x": "http://127.0.0.1:9/x",
		"http://shop.example/": "", "javascript:alert(1)": "", "//shop.example": "", "https://u:p@shop.example": "", "": "", "https:///x": "",
	} {
		query := callback(app.ClientSecret, "code=c-1", "company_id="+acme, "redirect_to="+to, fmt.Sprintf("timestamp=%d", callbackTime.Unix()))
		if c, err := app.Callback(query, acme, callbackTime); err != nil || c.RedirectTo != want {
			t.Errorf("%q: got %q, %v; want %q", to, c.RedirectTo, err, want)
		}
	}
}

func TestACodeIsExchangedOnce(t *testing.T) {
	used := false
	c := serving(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Api-Key") != "" || r.Header.Get("Authorization") != "" {
			t.Errorf("got the key in an exchange, want none")
		}
		switch {
		case r.PostFormValue("client_secret") != app.ClientSecret.Reveal():
			w.WriteHeader(401)
			fmt.Fprint(w, `{"code":401,"message":"Invalid client CANARY"}`)
		case used || r.PostFormValue("code") != "c-1":
			w.WriteHeader(400)
			fmt.Fprint(w, `{"message":"CANARY was used"}`)
		default:
			used = true
			fmt.Fprint(w, `{"access_token":"`+token+`"}`)
		}
	}, Options{})
	got, err := c.Exchange(t.Context(), app, secret.New("c-1"))
	if err != nil || got.Reveal() != token {
		t.Fatalf("got %v, want the token", err)
	}
	for _, a := range []Application{app, {ClientID: "app-1", ClientSecret: secret.New("wrong")}} {
		_, err := c.Exchange(t.Context(), a, secret.New("c-1"))
		if fault(t, err).Code != CodeExchangeRefused {
			t.Errorf("got %v, want exchange_refused", err)
		}
		quiet(t, "error", err.Error())
	}
	for _, body := range []string{`{}`, `{"access_token":""}`, `{"access_token":7}`, `{"access_token":"a b"}`, `[]`} {
		c := serving(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, body) }, Options{})
		if _, err := c.Exchange(t.Context(), app, secret.New("c-1")); err == nil || fault(t, err).Code != CodeBadAnswer {
			t.Errorf("%s: got %v, want bad_answer", body, err)
		}
	}
}

func TestOnlyTheOwnerMayReadTheToken(t *testing.T) {
	file := filepath.Join(t.TempDir(), "commerce.token")
	if _, err := ReadToken(file); fault(t, err).Code != CodeNotConnected {
		t.Errorf("got %v, want not_connected", err)
	}
	for _, text := range []string{"first", token} {
		if err := KeepToken(file, secret.New(text)); err != nil {
			t.Fatal(err)
		}
		got, err := ReadToken(file)
		mode, stat := os.Stat(file)
		if err != nil || stat != nil || got.Reveal() != text || mode.Mode().Perm() != 0o600 {
			t.Errorf("got %v, %v, mode %v; want the token with mode 0600", err, stat, mode.Mode())
		}
	}
	left, err := os.ReadDir(filepath.Dir(file))
	if err != nil || len(left) != 1 {
		t.Errorf("got %v, %v; want the file alone", left, err)
	}
	if err := os.WriteFile(file, []byte("two words\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadToken(file); err == nil || strings.Contains(err.Error(), "two words") {
		t.Errorf("got %v, want an error without the content", err)
	}
	if err := KeepToken(filepath.Join(t.TempDir(), "none", "commerce.token"), secret.New(token)); err == nil {
		t.Errorf("got no error for a folder that does not exist, want one")
	}
}
