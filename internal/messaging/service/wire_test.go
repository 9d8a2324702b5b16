package service

import (
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"campaignd/internal/messaging"
)

// The tests below use the literal files of testdata/wire. The tests of the sandbox use the same
// files.

type wireRequest struct {
	Cause, Given, Method, Path, Query string
	Headers                           map[string]string
	Body                              json.RawMessage
	Multipart                         json.RawMessage
}

type wireResponse struct {
	Status  int
	Headers map[string]string
	Body    json.RawMessage
	Text    string
}

const wireRoot = "../../../testdata/wire"

func readJSON(t testing.TB, into any, path ...string) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(append([]string{wireRoot}, path...)...))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, into); err != nil {
		t.Fatalf("read %v: %v, want a JSON document", path, err)
	}
}

func wireCases(t testing.TB, folder string) []string {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(wireRoot, folder))
	if err != nil || len(entries) == 0 {
		t.Fatalf("no cases in %s, want some: %v", folder, err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func sameJSON(t *testing.T, what string, got, want []byte) {
	t.Helper()
	var g, w any
	if err := json.Unmarshal(got, &g); err != nil {
		t.Fatalf("%s: %v in %q", what, err, got)
	}
	if err := json.Unmarshal(want, &w); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(g, w) {
		t.Errorf("%s:\n got %s\nwant %s", what, got, want)
	}
}

// replay answers every request with the response of the case and keeps the request.
type replay struct {
	response wireResponse
	request  *http.Request
	body     []byte
	hits     int
}

func (r *replay) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	r.request, r.hits = req, r.hits+1
	r.body, _ = io.ReadAll(req.Body)
	for k, v := range r.response.Headers {
		w.Header().Set(k, v)
	}
	w.WriteHeader(r.response.Status)
	if r.response.Body != nil {
		w.Write(r.response.Body)
	} else {
		io.WriteString(w, r.response.Text)
	}
}

type wireWorld struct {
	Key           string
	WebhookSecret string `json:"webhook_secret"`
}

func wireClient(t testing.TB, folder, name string) (*Client, *replay, wireRequest) {
	t.Helper()
	var world wireWorld
	readJSON(t, &world, "world.json")
	var req wireRequest
	r := &replay{}
	readJSON(t, &req, folder, name, "request.json")
	readJSON(t, &r.response, folder, name, "response.json")
	server := httptest.NewServer(r)
	t.Cleanup(server.Close)
	c, err := New(Options{BaseURL: server.URL, APIKey: messaging.NewSecret(world.Key)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c, r, req
}

// wireMeaning is the meaning of each case of testdata/wire/send. A refusal without a line here
// fails.
var wireMeaning = map[string]messaging.Error{
	"20_missing_to":          {Proof: messaging.NotSent, Action: messaging.Refuse, Hold: messaging.HoldPayload, Code: "missing_fields"},
	"21_missing_connection":  {Proof: messaging.NotSent, Action: messaging.Refuse, Hold: messaging.HoldPayload, Code: "missing_fields"},
	"22_missing_content":     {Proof: messaging.NotSent, Action: messaging.Refuse, Hold: messaging.HoldPayload, Code: "missing_content"},
	"23_recipient_is_sender": {Proof: messaging.NotSent, Action: messaging.Refuse, Code: "recipient_is_sender"},
	"24_invalid_media":       {Proof: messaging.NotSent, Action: messaging.Refuse, Hold: messaging.HoldPayload, Code: "invalid_media"},
	"25_invalid_location":    {Proof: messaging.NotSent, Action: messaging.Refuse, Hold: messaging.HoldPayload, Code: "invalid_location"},
	"26_invalid_button":      {Proof: messaging.NotSent, Action: messaging.Refuse, Hold: messaging.HoldPayload, Code: "invalid_button"},
	"30_send_template_paused": {Proof: messaging.NotSent, Action: messaging.RetryLater, Hold: messaging.HoldTemplate,
		EndedBy: messaging.EndedByTemplateEvent,
		Code:    "send_template", Platform: 132015, Class: "template"},
	"31_send_needs_template": {Proof: messaging.NotSent, Action: messaging.Refuse, Code: "send_needs_template", Platform: 131047,
		Class: "needs_template"},
	"32_send_recipient_permanent": {Proof: messaging.NotSent, Action: messaging.Refuse, Feed: messaging.FeedUnreachable,
		Code: "send_recipient_permanent", Platform: 131026, Class: "recipient_permanent"},
	"33_send_retryable_throughput": {Proof: messaging.NotSent, Action: messaging.Slow, Code: "send_retryable", Platform: 130429,
		Class: "retryable"},
	"34_send_retryable_pair": {Proof: messaging.NotSent, Action: messaging.WaitPair, Code: "send_retryable", Platform: 131056,
		Class: "retryable"},
	"35_send_retryable_generic": {Proof: messaging.NotSent, Action: messaging.RetryOnce, Code: "send_retryable", Platform: 131000,
		Class: "retryable"},
	"36_send_media": {Proof: messaging.NotSent, Action: messaging.RetryOnce, Hold: messaging.HoldPayload,
		Code: "send_media", Platform: 131053, Class: "media"},
	"37_send_parameter": {Proof: messaging.NotSent, Action: messaging.Refuse, Hold: messaging.HoldPayload,
		Code: "send_parameter", Platform: 132000, Class: "parameter"},
	"38_send_unknown_class": {Proof: messaging.NotSent, Action: messaging.RefuseForNow, Hold: messaging.HoldPayload,
		Code: "send_policy", Platform: 199999, Class: "policy"},
	"40_plan_limit_messages": {Proof: messaging.NotSent, Action: messaging.RetryLater, Hold: messaging.HoldCompany, Wait: time.Hour,
		EndedBy: messaging.EndedByTime,
		Code:    "plan_limit_messages"},
	"41_recipient_opted_out": {Proof: messaging.NotSent, Action: messaging.Refuse, Feed: messaging.FeedOptOut, Code: "recipient_opted_out"},
	"42_account_deactivated": {Proof: messaging.NotSent, Action: messaging.RetryLater, Hold: messaging.HoldCompany,
		EndedBy: messaging.EndedByAccountEvent,
		Code:    "account_deactivated"},
	"43_connection_not_found": {Proof: messaging.NotSent, Action: messaging.RetryLater, Hold: messaging.HoldConnection,
		EndedBy: messaging.EndedByNumberEvent,
		Code:    "connection_not_found"},
	"44_asset_expired": {Proof: messaging.NotSent, Action: messaging.RetryOnce, Hold: messaging.HoldPayload,
		Code: "connection_not_found"},
	"45_wrong_key": {Proof: messaging.NotSent, Action: messaging.RetryLater, Hold: messaging.HoldKey,
		EndedBy: messaging.EndedByOperator, Code: "unauthorized"},
	"46_cdn_1010": {Proof: messaging.NotSent, Action: messaging.RetryLater, Hold: messaging.HoldKey,
		EndedBy: messaging.EndedByOperator, Code: "cdn_1010"},
	"47_http_301": {Proof: messaging.NotSent, Action: messaging.RetryLater, Hold: messaging.HoldKey,
		EndedBy: messaging.EndedByOperator, Code: "redirect"},
	"48_slash_308": {Proof: messaging.NotSent, Action: messaging.RetryLater, Hold: messaging.HoldKey,
		EndedBy: messaging.EndedByOperator, Code: "redirect"},
	"49_firewall_403":             {Proof: messaging.NotSent, Action: messaging.RetryUnknown, Code: "http_403"},
	"50_rate_limited_retry_after": {Proof: messaging.NotSent, Action: messaging.Slow, Wait: 7 * time.Second, Code: "rate_limited"},
	"51_rate_limited_bare":        {Proof: messaging.NotSent, Action: messaging.Slow, Code: "http_429"},
	"60_internal_500":             {Proof: messaging.Doubt, Code: "internal_error"},
	"61_bad_gateway_html":         {Proof: messaging.Doubt, Code: "http_502"},
	"62_unavailable_refusal_body": {Proof: messaging.Doubt, Code: "send_retryable", Platform: 131016, Class: "retryable"},
	"63_request_timeout_408":      {Proof: messaging.Doubt, Code: "http_408"},
	"64_conflict_409":             {Proof: messaging.Doubt, Code: "conflict"},
	"65_client_closed_499":        {Proof: messaging.Doubt, Code: "http_499"},
	"70_ok_without_id":            {Proof: messaging.DoubtNoID, Code: "accepted_no_id"},
	"71_ok_empty":                 {Proof: messaging.DoubtNoID, Code: "accepted_no_id"},
	"72_ok_cut":                   {Proof: messaging.DoubtNoID, Code: "accepted_no_id"},
	"73_ok_long_id":               {Proof: messaging.DoubtNoID, Code: "accepted_no_id"},
	"74_ok_page":                  {Proof: messaging.DoubtNoID, Code: "not_the_service"},
}

func TestSendWritesAndReadsTheWireAsTheDocumentSays(t *testing.T) {
	left := maps.Clone(wireMeaning)
	for _, name := range wireCases(t, "send") {
		t.Run(name, func(t *testing.T) {
			c, server, req := wireClient(t, "send", name)
			var m messaging.Message
			if err := json.Unmarshal(req.Body, &m); err != nil {
				t.Fatal(err)
			}
			session := m.Template == nil // campaigns do not send such content: the client reads the answer alone
			if session {
				m.Template = hello.Template
			}
			if name == "20_missing_to" {
				// The client itself refuses a message without a recipient. The answer of the service is
				// tested below.
				_, err := c.Send(context.Background(), &m)
				if server.hits != 0 || asWire(t, err).Code != "not_e164" {
					t.Fatalf("a message without a recipient: %d requests, %v; want none and not_e164", server.hits, err)
				}
				m.To = "+15555550101"
			}
			receipt, err := c.Send(context.Background(), &m)
			if server.hits != 1 {
				t.Fatalf("%d requests for one Send, want 1", server.hits)
			}
			if !session && name != "20_missing_to" && name != "21_missing_connection" { // our types always write these members
				sameJSON(t, "request body", server.body, req.Body)
			}
			if got := server.request.Header.Get("Authorization"); name != "45_wrong_key" && got != req.Headers["authorization"] {
				t.Errorf("Authorization %q, want %q", got, req.Headers["authorization"])
			}
			if server.request.Method != "POST" || server.request.URL.Path != "/api/v1/messages" ||
				server.request.Header.Get("Content-Type") != "application/json" {
				t.Errorf("%s %s %s, want POST, the path of sends and JSON",
					server.request.Method, server.request.URL.Path, server.request.Header.Get("Content-Type"))
			}
			if ua := server.request.UserAgent(); !strings.HasPrefix(ua, "campaignd/") {
				t.Errorf("User-Agent %q, want campaignd/VERSION", ua)
			}
			want, refused := wireMeaning[name]
			delete(left, name)
			if !refused {
				var answer struct {
					Data struct {
						MessageID string
						Warning   struct{ Code string }
					}
				}
				if err := json.Unmarshal(server.response.Body, &answer); err != nil || server.response.Status != 200 {
					t.Fatalf("no meaning is given for this answer, want one in wireMeaning (%v)", err)
				}
				if err != nil {
					t.Fatal(err)
				}
				if receipt.MessageID != answer.Data.MessageID || receipt.Warning != answer.Data.Warning.Code ||
					receipt.RequestID != server.response.Headers["x-request-id"] {
					t.Errorf("receipt %+v, want %+v of request %s", receipt, answer.Data, server.response.Headers["x-request-id"])
				}
				if got := messaging.RecipientOfID(receipt.MessageID); "+"+got != m.To {
					t.Errorf("recipient of the id: %q, want that of %q", got, m.To)
				}
				return
			}
			e := asWire(t, err)
			got := messaging.Error{Proof: e.Proof, Action: e.Action, Hold: e.Hold, Feed: e.Feed, Wait: e.Wait, EndedBy: e.EndedBy,
				Code: e.Code, Platform: e.Platform, Class: e.Class}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("\n got %+v\nwant %+v", got, want)
			}
			if e.Status != server.response.Status || e.RequestID != server.response.Headers["x-request-id"] {
				t.Errorf("status %d, request %q; want %d, %q", e.Status, e.RequestID, server.response.Status, server.response.Headers["x-request-id"])
			}
			if messaging.Sentence(e.Code) == "" || e.Error() == "" {
				t.Errorf("sentence %q, error %q; want both to say something", messaging.Sentence(e.Code), e)
			}
		})
	}
	for name := range left {
		t.Errorf("%s has a meaning and no files, want both", name)
	}
}

func asWire(t testing.TB, err error) *messaging.Error {
	t.Helper()
	e, ok := err.(*messaging.Error)
	if !ok || e == nil {
		t.Fatalf("got %v, want an *Error", err)
	}
	return e
}
