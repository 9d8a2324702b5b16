package cloud

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"

	"campaignd/internal/messaging"
)

// The tests below use the literal files of testdata/wire/cloud, each with its source.

type wireExchange struct {
	Request struct {
		Method, Path, Query string
		Headers             map[string]string
		Body                json.RawMessage
	}
	Response struct {
		Status int
		Body   json.RawMessage
		Text   string
	}
}

const wireRoot = "../../../testdata/wire/cloud"

func readJSON(t testing.TB, into any, name string) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(wireRoot, name))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, into); err != nil {
		t.Fatalf("read %s: got %v, want a JSON document", name, err)
	}
}

// script answers the requests of a test in their order, and fails the test for any other request.
type script struct {
	t  testing.TB
	mu sync.Mutex
	// left are the exchanges to come. always answers a request whose path ends with the key, at any
	// time.
	left   []wireExchange
	always map[string]wireExchange
}

func (s *script) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	defer s.mu.Unlock()
	for suffix, x := range s.always {
		if strings.HasSuffix(r.URL.Path, suffix) {
			answer(w, x)
			return
		}
	}
	if len(s.left) == 0 {
		s.t.Errorf("got %s %s, want no further request", r.Method, r.URL)
		w.WriteHeader(http.StatusTeapot)
		return
	}
	x := s.left[0]
	s.left = s.left[1:]
	if r.Method != x.Request.Method || r.URL.Path != x.Request.Path || r.URL.RawQuery != x.Request.Query {
		s.t.Errorf("got %s %s?%s,\nwant %s %s?%s", r.Method, r.URL.Path, r.URL.RawQuery, x.Request.Method, x.Request.Path, x.Request.Query)
	}
	for k, want := range x.Request.Headers {
		if got := r.Header.Get(k); got != want {
			s.t.Errorf("got header %s %q, want %q", k, got, want)
		}
	}
	if x.Request.Body != nil {
		sameJSON(s.t, body, x.Request.Body)
	}
	answer(w, x)
}

func answer(w http.ResponseWriter, x wireExchange) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(x.Response.Status)
	if x.Response.Body != nil {
		w.Write(x.Response.Body)
		return
	}
	io.WriteString(w, x.Response.Text)
}

func sameJSON(t testing.TB, got, want []byte) {
	t.Helper()
	var g, w any
	if err := json.Unmarshal(got, &g); err != nil {
		t.Fatalf("%v in %q", err, got)
	}
	if err := json.Unmarshal(want, &w); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(g, w) {
		t.Errorf("body:\n got %s\nwant %s", got, want)
	}
}

// wireClient is a client of the account of the literal files against a script.
func wireClient(t testing.TB, s *script, accounts ...Account) *Client {
	t.Helper()
	s.t = t
	if len(accounts) == 0 {
		accounts = []Account{{ID: "200000000000001", App: "100000000000001", Token: messaging.NewSecret("cloud_token_0123456789"),
			MarketingAPI: true}}
	}
	return serverClient(t, s, accounts...)
}

func serverClient(t testing.TB, h http.Handler, accounts ...Account) *Client {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	c, err := New(Options{BaseURL: server.URL, Accounts: accounts})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// list reads the exchanges of a file of testdata/wire/cloud/lists.
func list(t testing.TB, name string) []wireExchange {
	t.Helper()
	var f struct {
		Source    string
		Exchanges []wireExchange
	}
	readJSON(t, &f, filepath.Join("lists", name+".json"))
	if f.Source == "" {
		t.Fatalf("%s has no source", name)
	}
	return f.Exchanges
}

// listed answers the listings that a send may need with all their records in one page.
func listed(t testing.TB) map[string]wireExchange {
	t.Helper()
	templates := list(t, "templates")
	return map[string]wireExchange{"/phone_numbers": onePage(t, list(t, "numbers")), "/message_templates": onePage(t, templates[2:])}
}

func onePage(t testing.TB, pages []wireExchange) (x wireExchange) {
	t.Helper()
	var all []json.RawMessage
	for _, p := range pages {
		var page struct{ Data []json.RawMessage }
		if err := json.Unmarshal(p.Response.Body, &page); err != nil {
			t.Fatal(err)
		}
		all = append(all, page.Data...)
	}
	body, err := json.Marshal(map[string]any{"data": all})
	if err != nil {
		t.Fatal(err)
	}
	x.Response.Status, x.Response.Body = http.StatusOK, body
	return x
}

func TestSendWritesAndReadsTheWireOfThePages(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(wireRoot, "send", "*.json"))
	if err != nil || len(files) < 20 {
		t.Fatalf("got %d cases, %v; want 20 at least", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".json"), func(t *testing.T) {
			var f struct {
				Source  string
				Message json.RawMessage
				wireExchange
				Want struct {
					ID, Proof, Action, Hold, Code string
					Platform                      int
				}
			}
			readJSON(t, &f, filepath.Join("send", filepath.Base(file)))
			var m messaging.Message
			var marked struct{ Mark string }
			if err := errors.Join(json.Unmarshal(f.Message, &m), json.Unmarshal(f.Message, &marked)); err != nil {
				t.Fatal(err)
			}
			m.Mark = marked.Mark
			s := &script{left: []wireExchange{f.wireExchange}, always: listed(t)}
			receipt, err := wireClient(t, s).Send(context.Background(), &m)
			if len(s.left) != 0 || f.Source == "" {
				t.Errorf("got %d requests left and the source %q, want one post and a source", len(s.left), f.Source)
			}
			if f.Want.ID != "" {
				if err != nil || receipt.MessageID != f.Want.ID {
					t.Errorf("got %+v, %v; want the id %s", receipt, err, f.Want.ID)
				}
				return
			}
			e, ok := errors.AsType[*messaging.Error](err)
			if !ok {
				t.Fatalf("got %v, want a *messaging.Error", err)
			}
			if got := words(e); got[0] != f.Want.Proof || f.Want.Action != "" && got[1] != f.Want.Action ||
				f.Want.Hold != "" && got[2] != f.Want.Hold || f.Want.Code != "" && e.Code != f.Want.Code || e.Platform != f.Want.Platform {
				t.Errorf("got %v %s %d, want %+v", got, e.Code, e.Platform, f.Want)
			}
		})
	}
}

// words are the proof, the action and the hold of an error as the files write them.
func words(e *messaging.Error) [3]string {
	return [3]string{
		map[messaging.Proof]string{messaging.NotSent: "not_sent", messaging.Doubt: "doubt", messaging.DoubtNoID: "doubt_no_id"}[e.Proof],
		map[messaging.Action]string{messaging.Refuse: "refuse", messaging.RetryOnce: "retry_once", messaging.RetryLater: "retry_later",
			messaging.Slow: "slow", messaging.WaitPair: "wait_pair", messaging.RetryUnknown: "retry_unknown"}[e.Action],
		map[messaging.Hold]string{messaging.HoldPayload: "payload", messaging.HoldConnection: "connection", messaging.HoldTemplate: "template",
			messaging.HoldAccount: "account", messaging.HoldCompany: "company", messaging.HoldKey: "key"}[e.Hold],
	}
}

func TestNumbersAreReadAsThePagesSay(t *testing.T) {
	s := &script{left: list(t, "numbers")}
	c := wireClient(t, s)
	got, err := c.Numbers(context.Background())
	want := []messaging.Number{
		{ConnectionID: "300000000000001", Phone: "+15555550100", Quality: "GREEN", Tier: "TIER_10K", TierLimit: 10_000,
			Level: "STANDARD", Throughput: 80},
		{ConnectionID: "300000000000002", Phone: "+15555550102", Quality: "UNKNOWN", Tier: "TIER_UNLIMITED",
			TierLimit: messaging.Unlimited, Level: "HIGH", Throughput: 20, Coexistence: true},
	}
	if err != nil || !reflect.DeepEqual(got, want) || len(s.left) != 0 {
		t.Errorf("got %+v, %v, %d requests left; want %+v", got, err, len(s.left), want)
	}
}

func TestTemplatesBeginAgainAtAnInvalidCursor(t *testing.T) {
	s := &script{left: list(t, "templates"), always: map[string]wireExchange{"/phone_numbers": onePage(t, list(t, "numbers"))}}
	got, err := wireClient(t, s).Templates(context.Background(), "300000000000001")
	var names []string
	for _, r := range got {
		names = append(names, r.Name+" "+r.Status)
	}
	want := []string{"order_ready APPROVED", "spring_sale APPROVED", "login_code APPROVED", "named_greeting APPROVED", "coupon PAUSED"}
	if err != nil || !reflect.DeepEqual(names, want) || len(s.left) != 0 {
		t.Errorf("got %v, %v, %d requests left; want %v", names, err, len(s.left), want)
	}
}
