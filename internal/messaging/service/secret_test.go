package service

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"campaignd/internal/messaging"
)

const canary = "cpd_CANARY_4f1d"

func TestASecretCannotBePrinted(t *testing.T) {
	type holder struct {
		Key    messaging.Secret
		hidden messaging.Secret
		List   []messaging.Secret
		Map    map[string]messaging.Secret
		Any    any
		Ptr    *messaging.Secret
	}
	s := messaging.NewSecret(canary)
	h := holder{s, s, []messaging.Secret{s}, map[string]messaging.Secret{"k": s}, s, &s}
	options := Options{BaseURL: "https://service.example", APIKey: s}
	c, err := New(options)
	if err != nil {
		t.Fatal(err)
	}
	v, err := messaging.NewVerifier(messaging.SignatureForm{}, s)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	for _, x := range []any{s, &s, h, &h, options, &options, c, Webhook{Secret: s}, []any{s}, v} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%T"} {
			fmt.Fprintf(&out, verb+"\n", x)
		}
		if b, err := json.Marshal(x); err == nil {
			out.Write(b)
		}
		for _, h := range []slog.Handler{slog.NewTextHandler(&out, nil), slog.NewJSONHandler(&out, nil)} {
			slog.New(h).Info("x", "x", x)
		}
	}
	func() {
		defer func() { fmt.Fprintln(&out, recover()) }()
		panic(fmt.Sprintf("%+v", h))
	}()
	fmt.Fprint(&out, errors.Join(fmt.Errorf("with %v", s)))
	hexed := fmt.Sprintf("%x", canary)
	if text := out.String(); strings.Contains(text, canary) || strings.Contains(strings.ToLower(text), hexed) {
		i := strings.Index(text, canary)
		t.Errorf("the key is shown, want it nowhere: ...%s...", text[max(0, i-80):min(len(text), i+80)])
	}
	if s.Reveal() != canary || s.String() != "***" || messaging.NewSecret("").String() != "" {
		t.Errorf("Reveal %q, String %q, empty %q; want the secret, *** and nothing", s.Reveal(), s, messaging.NewSecret(""))
	}
	var back messaging.Secret
	if err := back.UnmarshalText([]byte(canary)); err != nil || back.Reveal() != canary {
		t.Errorf("read from configuration: %q, %v; want %q", back.Reveal(), err, canary)
	}
}

func TestNoErrorOfTheClientShowsTheKey(t *testing.T) {
	for _, rt := range []roundTrip{
		func(r *http.Request) (*http.Response, error) { return nil, io.EOF },
		func(r *http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: 401, Header: http.Header{},
				Body: io.NopCloser(strings.NewReader(`{"error":"unauthorized","message":"unknown key ` + r.Header.Get("Authorization") + `"}`))}, nil
		},
	} {
		c := testClient(t, "https://service.example", Options{APIKey: messaging.NewSecret(canary), Transport: rt})
		_, err := c.Send(context.Background(), hello)
		_, err2 := c.Connections(context.Background())
		if text := fmt.Sprintf("%v %+v %#v %v", err, err, err, err2); strings.Contains(text, canary) {
			t.Errorf("got %s, want it without the key", text)
		}
	}
}

func TestOptionsAreCheckedAndNamed(t *testing.T) {
	good := Options{BaseURL: "https://service.example", APIKey: messaging.NewSecret("k")}
	for _, test := range []struct {
		change func(*Options)
		want   string
	}{
		{func(o *Options) { o.BaseURL = "" }, "base_url: missing"},
		{func(o *Options) { o.BaseURL = "service.example" }, "base_url"},
		{func(o *Options) { o.BaseURL = "ftp://service.example" }, "base_url"},
		{func(o *Options) { o.BaseURL = "https://müller.example" }, "begins with xn--"},
		{func(o *Options) { o.BaseURL = "https://service.example/" }, "slash"},
		{func(o *Options) { o.BaseURL = "https://service.example/api/v1" }, "/api/v1 is added"},
		{func(o *Options) { o.BaseURL = "https://service.example?x=1" }, "base_url"},
		{func(o *Options) { o.BaseURL = "https://service.example#x" }, "base_url"},
		{func(o *Options) { o.BaseURL = "https://user:pass@service.example" }, "api_key"},
		{func(o *Options) { o.BaseURL = "http://service.example" }, "allow_http"},
		{func(o *Options) { o.BaseURL = "https://:443" }, "no host"},
		{func(o *Options) { o.BaseURL = "https://a b" }, "base_url"},
		{func(o *Options) { o.APIKey = messaging.Secret{} }, "api_key: missing"},
		{func(o *Options) { o.APIKey = messaging.NewSecret("key\n") }, "api_key"},
		{func(o *Options) { o.Timeout = -1 }, "timeout"},
		{func(o *Options) { o.MaxInFlight = -1 }, "max_in_flight"},
		{func(o *Options) { o.UserAgent = "a\r\nX: y" }, "user_agent"},
		{func(o *Options) { o.APIKey = messaging.NewSecret("key\x7f") }, "api_key"},
		{func(o *Options) { o.UserAgent = "a\r" }, "user_agent"},
		{func(o *Options) { o.ProvenRefusals = []messaging.StatusCode{{Status: 400, Code: "x"}} }, "proven_refusals[0]"},
		{func(o *Options) {
			o.ProvenRefusals = []messaging.StatusCode{{Status: 503, Code: "x"}, {Status: 200, Code: "x"}}
		},
			"proven_refusals[1]"},
		{func(o *Options) { o.ProvenRefusals = []messaging.StatusCode{{Status: 503, Code: ""}} }, "proven_refusals[0]"},
	} {
		o := good
		test.change(&o)
		if _, err := New(o); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("got %v, want %q", err, test.want)
		} else if strings.Contains(err.Error(), "pass") {
			t.Errorf("got %v, want it without the password", err)
		}
	}
	for _, url := range []string{"https://service.example", "https://service.example:8443",
		"http://127.0.0.1:8090", "http://localhost:8090", "http://[::1]:8090"} {
		o := good
		o.BaseURL = url
		if _, err := New(o); err != nil {
			t.Errorf("%s: %v, want no error", url, err)
		}
	}
	o := good
	o.BaseURL, o.AllowHTTP = "http://sandbox:8090", true
	if _, err := New(o); err != nil {
		t.Error(err)
	}
}
