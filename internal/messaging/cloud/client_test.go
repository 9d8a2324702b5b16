package cloud

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"campaignd/campaign/sender"
	"campaignd/internal/messaging"
)

var (
	_ messaging.Service = (*Client)(nil)
	_ sender.Sender     = (*Client)(nil)
)

func TestAFileIsStoredForItsNumber(t *testing.T) {
	want := list(t, "media")[0]
	var got *http.Request
	var form []byte
	s := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/phone_numbers") {
			answer(w, onePage(t, list(t, "numbers")))
			return
		}
		got = r
		form, _ = io.ReadAll(r.Body)
		answer(w, want)
	})
	server := httptest.NewServer(s)
	defer server.Close()
	c, err := New(Options{BaseURL: server.URL, Accounts: []Account{{ID: "200000000000001", Token: messaging.NewSecret("t")}}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	before := time.Now()
	a, err := c.UploadMedia(context.Background(), "300000000000001", `a "b".png`, "image/png", strings.NewReader("PNG"))
	if err != nil || a.ID != "400000000000001" || a.ExpiresAt.Before(before.Add(retention)) || got.URL.Path != want.Request.Path {
		t.Fatalf("got %+v, %v, path %s; want id 400000000000001, 30 days, %s", a, err, got.URL.Path, want.Request.Path)
	}
	_, params, _ := mime.ParseMediaType(got.Header.Get("Content-Type"))
	f, err := multipart.NewReader(bytes.NewReader(form), params["boundary"]).ReadForm(1 << 20)
	if err != nil || f.Value["messaging_product"][0] != "whatsapp" || f.Value["type"][0] != "image/png" || len(f.File["file"]) != 1 {
		t.Errorf("got the form %+v, %v; want messaging_product, type and file", f, err)
	}
}

func TestEveryAccountIsSubscribed(t *testing.T) {
	s := &script{left: list(t, "subscribe")}
	got, err := wireClient(t, s).Subscribe(context.Background())
	if err != nil || !reflect.DeepEqual(got, []string{"200000000000001"}) || len(s.left) != 0 {
		t.Errorf("got %v, %v; want the account", got, err)
	}
}

// An account that the token may not manage does not keep the others from being subscribed.
func TestAnAccountThatFailsKeepsNoOther(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Path, "/1/") {
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprint(w, `{"error": {"message": "no right", "code": 100}}`)
			return
		}
		fmt.Fprint(w, `{"success":true}`)
	}))
	defer server.Close()
	c, err := New(Options{BaseURL: server.URL, Accounts: []Account{
		{ID: "1", Token: messaging.NewSecret("a")}, {ID: "2", Token: messaging.NewSecret("b")}}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	got, err := c.Subscribe(t.Context())
	if err == nil || !strings.Contains(err.Error(), "account 1") || !reflect.DeepEqual(got, []string{"2"}) {
		t.Errorf("got %v, %v; want account 2, and an error that names account 1", got, err)
	}
}

func TestANumberInTwoAccountsIsFound(t *testing.T) {
	page := onePage(t, list(t, "numbers"))
	s := &script{always: map[string]wireExchange{"/phone_numbers": page}}
	c := wireClient(t, s, Account{ID: "1", Token: messaging.NewSecret("a")}, Account{ID: "2", Token: messaging.NewSecret("b")})
	if _, err := c.Connections(context.Background()); err == nil || !strings.Contains(err.Error(), "account 1 and in account 2") {
		t.Errorf("got %v, want an error that names both accounts", err)
	}
}

// A message for which a listing fails was not sent, whatever the listing's status.
func TestAFailedListingSendsNothing(t *testing.T) {
	for _, path := range []string{"/phone_numbers", "/message_templates"} {
		for _, status := range []int{500, 400, 401} {
			s := &script{always: listed(t)}
			x := wireExchange{}
			x.Response.Status, x.Response.Text = status, "no"
			s.always[path] = x
			m := &messaging.Message{ConnectionID: "300000000000001", To: "+15555550101", Template: &messaging.Template{Name: "a", Language: "en"}}
			_, err := wireClient(t, s).Send(context.Background(), m)
			if e, ok := errors.AsType[*messaging.Error](err); !ok || e.Proof != messaging.NotSent || e.Action == messaging.Refuse {
				t.Errorf("%s answers %d: got %v, want not sent and another try", path, status, err)
			}
		}
	}
}

func TestAMessageToAnUnknownNumberIsNotSent(t *testing.T) {
	s := &script{always: listed(t)}
	m := &messaging.Message{ConnectionID: "7", To: "+15555550101", Template: &messaging.Template{Name: "a", Language: "en"}}
	_, err := wireClient(t, s).Send(context.Background(), m)
	if e, ok := errors.AsType[*messaging.Error](err); !ok || e.Proof != messaging.NotSent || !strings.Contains(err.Error(), "cloud.accounts") {
		t.Errorf("got %v, want not sent, naming cloud.accounts", err)
	}
}

func TestOneListingServesMessagesThatWait(t *testing.T) {
	var lists atomic.Int64
	always := listed(t)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for suffix, x := range always {
			if strings.HasSuffix(r.URL.Path, suffix) {
				lists.Add(1)
				answer(w, x)
				return
			}
		}
		fmt.Fprint(w, `{"messages":[{"id":"wamid.A"}]}`)
	}))
	defer server.Close()
	c, err := New(Options{BaseURL: server.URL, Accounts: []Account{{ID: "200000000000001", Token: messaging.NewSecret("t")}}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	done := make(chan error, 50)
	if _, err := c.Connections(context.Background()); err != nil {
		t.Fatal(err)
	}
	for range cap(done) {
		go func() {
			_, err := c.Send(context.Background(), &messaging.Message{ConnectionID: "300000000000001", To: "+15555550101",
				Template: &messaging.Template{Name: "order_ready", Language: "en_US", Body: []string{"1"}}})
			done <- err
		}()
	}
	for range cap(done) {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if got := lists.Load(); got != 2 {
		t.Errorf("got %d listings for 50 messages, want one of numbers and one of templates", got)
	}
}

func TestOptionsAreRefusedByName(t *testing.T) {
	now := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	good := func() Options {
		return Options{Accounts: []Account{{ID: "1", Token: messaging.NewSecret("t")}}}
	}
	for want, change := range map[string]func(*Options){
		"base_url: ":                 func(o *Options) { o.BaseURL = "http://graph.example" },
		"base_url: \"https://a/b\"":  func(o *Options) { o.BaseURL = "https://a/b" },
		"base_url: \"https://müller": func(o *Options) { o.BaseURL = "https://müller.example" },
		"version: \"25\"":            func(o *Options) { o.Version = "25" },
		"version: v18.0 is older":    func(o *Options) { o.Version = "v18.0" },
		"accounts: empty":            func(o *Options) { o.Accounts = nil },
		"accounts[0].id":             func(o *Options) { o.Accounts[0].ID = "abc" },
		"accounts[0].token_file":     func(o *Options) { o.Accounts[0].Token = messaging.Secret{} },
		"accounts[1].id: 1 is":       func(o *Options) { o.Accounts = append(o.Accounts, o.Accounts[0]) },
		"names.a: \"b\"":             func(o *Options) { o.Names = map[string]string{"a": "b"} },
		"names: a and b":             func(o *Options) { o.Names = map[string]string{"a": "5", "b": "5"} },
		"names.6: ":                  func(o *Options) { o.Names = map[string]string{"6": "5"} },
	} {
		o := good()
		change(&o)
		if err := o.Validate(now); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("got %v, want an error that begins with %s", err, want)
		}
	}
	if err := good().Validate(now); err != nil {
		t.Errorf("got %v of good options, want none", err)
	}
	if err := CheckVersion("v25.0", time.Date(2028, 7, 29, 23, 0, 0, 0, time.UTC)); err != nil {
		t.Errorf("got %v on its last day, want none", err)
	}
	after := time.Date(2028, 7, 30, 0, 0, 0, 0, time.UTC)
	if err := CheckVersion("v25.0", after); err == nil || !strings.Contains(err.Error(), "ended on 2028-07-29") {
		t.Errorf("got %v the day after, want that it ended", err)
	}
}

func TestRenewedSecretsAreUsed(t *testing.T) {
	var got []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = append(got, r.Header.Get("Authorization")+" "+r.URL.Query().Get("appsecret_proof"))
		fmt.Fprint(w, `{"success":true}`)
	}))
	defer server.Close()
	c, err := New(Options{BaseURL: server.URL, Accounts: []Account{
		{ID: "1", Token: messaging.NewSecret("old"), AppSecret: messaging.NewSecret("a")}}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, tt := range []struct {
		token, app string
		changed    bool
	}{{"old", "a", false}, {"new", "a", true}, {"new", "b", true}, {"new", "b", false}} {
		changed, err := c.SetSecrets("1", messaging.NewSecret(tt.token), messaging.NewSecret(tt.app))
		if err != nil || changed != tt.changed {
			t.Errorf("%s, %s: got changed %v, %v; want %v", tt.token, tt.app, changed, err, tt.changed)
		}
		if _, err := c.Subscribe(t.Context()); err != nil {
			t.Error(err)
		}
	}
	// echo -n TOKEN | openssl dgst -sha256 -hmac SECRET
	want := []string{
		"Bearer old b9e5afcf1d2dc6a6e74e759bb70d441fd8e10ee269135554ab43e62177a2d8ee",
		"Bearer new 0560747d4fd7617df3591ff86749093a8e65f72ee984e4b0f856c70894d0e73f",
		"Bearer new 86337c2007f43d7cef88d307e549659a191d5a56040aa71563c792e4e9d05c2f",
		"Bearer new 86337c2007f43d7cef88d307e549659a191d5a56040aa71563c792e4e9d05c2f"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if _, err := c.SetSecrets("2", messaging.NewSecret("x"), messaging.Secret{}); err == nil {
		t.Error("got no error for an account that is not there, want one")
	}
}

func TestNoTokenIsPrinted(t *testing.T) {
	c, err := New(Options{Accounts: []Account{{ID: "1", Token: messaging.NewSecret("very-secret")}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{fmt.Sprint(c), fmt.Sprintf("%+v %#v", c, c), fmt.Sprintf("%+v %#v", c.o, c.o)} {
		if strings.Contains(text, "very-secret") {
			t.Errorf("got %s, want no token", text)
		}
	}
	if b, err := json.Marshal(c.o.Accounts); err == nil && strings.Contains(string(b), "very-secret") {
		t.Errorf("got %s as JSON, want no token", b)
	}
}
