package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"campaignd/internal/sandbox"
)

// A configuration that cannot work is refused at the start, with key and remedy and no secret.
func TestBadInputOfTheCloudAPINamesItsKey(t *testing.T) {
	t.Parallel()
	d := overCloud(t, newFixture(t, func(o *sandbox.Options) { o.API = sandbox.APICloud }))
	good := d.text("campaignd.yaml")
	const secret = "EAAGsecretsecretsecret"
	token, app := "token_file: '"+d.path("token")+"'", "app_secret_file: '"+d.path("app")+"'"
	blank := d.write("blank", secret+" and more")
	for _, tt := range []struct {
		replace, with string
		says          []string
	}{
		{token, "token: " + secret, []string{`"cloud.accounts[0].token"`, "token_file"}},
		{token, "token_file: " + secret, []string{"cloud.accounts[0].token_file", "there is no such file", "give the path"}},
		{token, "token_file: " + strings.Repeat(secret, 20), []string{"cloud.accounts[0].token_file", "there is no such file"}},
		{token, "token_file: '" + d.dir + "'", []string{"cloud.accounts[0].token_file", "give the path"}},
		{token, "token_file: '" + blank + "'", []string{"cloud.accounts[0].token_file", "a secret alone"}},
		{app, "app_secret: " + secret, []string{`"cloud.accounts[0].app_secret"`, "app_secret_file"}},
		{app + ", ", "", []string{"cloud.accounts[0].app_secret_file", "name the file"}},
		{"cloud:\n", "cloud:\n  version: 25\n", []string{"cloud.version", "write it as v25.0"}},
		{"cloud:\n", "cloud:\n  version: v24.0\n", []string{"cloud.version", "use v25.0"}},
		{"id: '200000000000001'", "id: acme", []string{"cloud.accounts[0].id", "digits only"}},
		{"cloud:\n", "prices: absent.csv\ncloud:\n", []string{"prices: ", "docs/forecast.md#cost"}},
		{"cloud:\n", "cloud:\n  prices: absent.csv\n", []string{"cloud.prices", "at the top level"}},
	} {
		bad := strings.Replace(good, tt.replace, tt.with, 1)
		if bad == good {
			t.Fatalf("the configuration is\n%s\nwant %q in it", good, tt.replace)
		}
		d.write("campaignd.yaml", bad)
		for _, command := range []string{"serve", "doctor"} {
			d.oneLineOf(2, tt.says, command)
			if r := d.run(command); strings.Contains(r.stderr, secret) {
				t.Errorf("campaignd %s with %s: got %q, want no secret in it", command, tt.with, r.stderr)
			}
		}
	}
}

// A number that two accounts have is found at the first listing, and named in full.
func TestANumberOfTwoAccountsIsNamed(t *testing.T) {
	t.Parallel()
	d := overCloud(t, newFixture(t, func(o *sandbox.Options) { o.API = sandbox.APICloud }))
	platform := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"data":[{"id":"300000000000001","display_phone_number":"+1 555 555 0100"}]}`)
	}))
	defer platform.Close()
	text := strings.Replace(d.text("campaignd.yaml"), d.env["CAMPAIGND_SERVICE_BASE_URL"], platform.URL, 1)
	_, account, _ := strings.Cut(strings.TrimRight(text, "]\n"), "[")
	d.write("campaignd.yaml", strings.TrimRight(text, "]\n")+", "+strings.Replace(account, "200000000000001", "200000000000002", 1)+"]\n")
	want := []string{"number 300000000000001 is in account 200000000000001 and in account 200000000000002", "cloud.accounts"}
	d.oneLineOf(1, want, "check", d.path("c.yaml"))
	if got := d.diagnosed(1)["cloud"]; !strings.Contains(got.Detail, want[0]) {
		t.Errorf("the doctor: got %+v, want %q", got, want[0])
	}
}

// While the listing is away, serve runs and waits. A command says what does not answer.
func TestServeWaitsForTheListingOfNumbers(t *testing.T) {
	t.Parallel()
	d := overCloud(t, newFixture(t, func(o *sandbox.Options) { o.API, o.Faults.Away = sandbox.APICloud, []string{"numbers"} }))
	stop := d.serving()
	defer stop()
	wantIn(t, "a launch meanwhile", d.want(1, "launch", d.path("c.yaml")).stderr, "account 200000000000001", "503")
	if n := d.accepted(); n != 0 {
		t.Errorf("the platform took %d messages, want none", n)
	}
}
