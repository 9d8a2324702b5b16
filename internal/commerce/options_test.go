package commerce

import (
	"strings"
	"testing"

	"campaignd/internal/secret"
)

func TestOptionsAreCheckedAndNamed(t *testing.T) {
	good := Options{BaseURL: "https://shop.example", Company: acme, APIKey: secret.New("k")}
	for _, test := range []struct {
		change func(*Options)
		want   string
	}{
		{func(*Options) {}, ""},
		{func(o *Options) { o.BaseURL = "http://127.0.0.1:8090" }, ""},
		{func(o *Options) { o.Company, o.Shop = strings.Repeat("a", 64), "North_1-b" }, ""},
		{func(o *Options) { o.BaseURL = "" }, "base_url: missing"},
		{func(o *Options) { o.BaseURL = "http://shop.example" }, "base_url"},
		{func(o *Options) { o.BaseURL = "ftp://shop.example" }, "base_url"},
		{func(o *Options) { o.BaseURL = "https://shop.example/" }, "base_url"},
		{func(o *Options) { o.BaseURL = "https://shop.example?a" }, "base_url"},
		{func(o *Options) { o.BaseURL = "https://u:hush@shop.example" }, "base_url"},
		{func(o *Options) { o.BaseURL = "https://a b" }, "base_url"},
		{func(o *Options) { o.Company = "" }, "company: missing"},
		{func(o *Options) { o.Company = strings.Repeat("a", 65) }, "company"},
		{func(o *Options) { o.Shop = "a/b" }, "shop"},
		{func(o *Options) { o.APIKey = secret.New("hush\n") }, "api_key"},
		{func(o *Options) { o.AccessToken = secret.New("hush") }, "api_key and access_token"},
		{func(o *Options) { o.Rate = -1 }, "rate"},
		{func(o *Options) { o.Rate = 1001 }, "rate"},
		{func(o *Options) { o.Timeout = -1 }, "timeout"},
		{func(o *Options) { o.Assumed.OrdersPath = "//x" }, "assumed.orders_path"},
		{func(o *Options) { o.Assumed.CompanyHeader = "x-api-key" }, "assumed.company_header"},
	} {
		o := good
		test.change(&o)
		_, err := New(o)
		if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.HasPrefix(err.Error(), test.want)) {
			t.Errorf("got %v, want %q", err, test.want)
		}
		if err != nil && strings.Contains(err.Error(), "hush") {
			t.Errorf("got %v, want it without the secret", err)
		}
	}
}

func TestAnEmptySecretSignsNothing(t *testing.T) {
	right := signatureOf(signing, anEvent)
	many := []string{"", "", "", "", "", "", "", "", right}
	if Signed([]string{signatureOf(secret.Value{}, anEvent)}, []byte(anEvent), []secret.Value{{}}) {
		t.Error("got an event taken with an empty secret, want it refused: anybody can sign so")
	}
	if !Signed(many[1:], []byte(anEvent), []secret.Value{signing}) || Signed(many, []byte(anEvent), []secret.Value{signing}) {
		t.Errorf("got another number of signatures that are compared, want %d", maxSignatures)
	}
}
