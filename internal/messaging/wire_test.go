package messaging

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"mime"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

// The literal files of testdata/wire, which the sandbox is held to as well.

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

const wireRoot = "../../testdata/wire"

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

// replay answers every request with the case's response and keeps the request.
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
	c, err := New(Options{BaseURL: server.URL, APIKey: NewSecret(world.Key)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c, r, req
}

// What each case of testdata/wire/send means; a case without a line here fails.
var wireMeaning = map[string]Error{
	"20_missing_to":                {Proof: NotSent, Action: Refuse, Hold: HoldPayload, Code: "missing_fields"},
	"21_missing_connection":        {Proof: NotSent, Action: Refuse, Hold: HoldPayload, Code: "missing_fields"},
	"22_missing_content":           {Proof: NotSent, Action: Refuse, Hold: HoldPayload, Code: "missing_content"},
	"23_recipient_is_sender":       {Proof: NotSent, Action: Refuse, Code: "recipient_is_sender"},
	"24_invalid_media":             {Proof: NotSent, Action: Refuse, Hold: HoldPayload, Code: "invalid_media"},
	"25_invalid_location":          {Proof: NotSent, Action: Refuse, Hold: HoldPayload, Code: "invalid_location"},
	"26_invalid_button":            {Proof: NotSent, Action: Refuse, Hold: HoldPayload, Code: "invalid_button"},
	"30_send_template_paused":      {Proof: NotSent, Action: RetryLater, Hold: HoldTemplate, Code: "send_template", Platform: 132015, Class: "template"},
	"31_send_needs_template":       {Proof: NotSent, Action: Refuse, Code: "send_needs_template", Platform: 131047, Class: "needs_template"},
	"32_send_recipient_permanent":  {Proof: NotSent, Action: Refuse, Feed: FeedUnreachable, Code: "send_recipient_permanent", Platform: 131026, Class: "recipient_permanent"},
	"33_send_retryable_throughput": {Proof: NotSent, Action: Slow, Code: "send_retryable", Platform: 130429, Class: "retryable"},
	"34_send_retryable_pair":       {Proof: NotSent, Action: WaitPair, Code: "send_retryable", Platform: 131056, Class: "retryable"},
	"35_send_retryable_generic":    {Proof: NotSent, Action: RetryOnce, Code: "send_retryable", Platform: 131000, Class: "retryable"},
	"36_send_media":                {Proof: NotSent, Action: RetryOnce, Hold: HoldPayload, Code: "send_media", Platform: 131053, Class: "media"},
	"37_send_parameter":            {Proof: NotSent, Action: Refuse, Hold: HoldPayload, Code: "send_parameter", Platform: 132000, Class: "parameter"},
	"38_send_unknown_class":        {Proof: NotSent, Action: Refuse, Hold: HoldPayload, Code: "send_policy", Platform: 199999, Class: "policy"},
	"40_plan_limit_messages":       {Proof: NotSent, Action: RetryLater, Hold: HoldAllowance, Code: "plan_limit_messages"},
	"41_recipient_opted_out":       {Proof: NotSent, Action: Refuse, Feed: FeedOptOut, Code: "recipient_opted_out"},
	"42_account_deactivated":       {Proof: NotSent, Action: RetryLater, Hold: HoldAccount, Code: "account_deactivated"},
	"43_connection_not_found":      {Proof: NotSent, Action: RetryLater, Hold: HoldNumber, Code: "connection_not_found"},
	"44_asset_expired":             {Proof: NotSent, Action: RetryOnce, Hold: HoldPayload, Code: "connection_not_found"},
	"45_wrong_key":                 {Proof: NotSent, Action: RetryLater, Hold: HoldAccount, Code: "unauthorized"},
	"46_cdn_1010":                  {Proof: NotSent, Action: RetryLater, Hold: HoldConfig, Code: "cdn_1010"},
	"47_http_301":                  {Proof: NotSent, Action: RetryLater, Hold: HoldConfig, Code: "redirect"},
	"48_slash_308":                 {Proof: NotSent, Action: RetryLater, Hold: HoldConfig, Code: "redirect"},
	"50_rate_limited_retry_after":  {Proof: NotSent, Action: Slow, Wait: 7 * time.Second, Code: "rate_limited"},
	"51_rate_limited_bare":         {Proof: NotSent, Action: Slow, Code: "http_429"},
	"60_internal_500":              {Proof: Doubt, Code: "internal_error"},
	"61_bad_gateway_html":          {Proof: Doubt, Code: "http_502"},
	"62_unavailable_refusal_body":  {Proof: Doubt, Code: "send_retryable", Platform: 131016, Class: "retryable"},
	"63_request_timeout_408":       {Proof: Doubt, Code: "http_408"},
	"64_conflict_409":              {Proof: Doubt, Code: "conflict"},
	"65_client_closed_499":         {Proof: Doubt, Code: "http_499"},
	"70_ok_without_id":             {Proof: DoubtNoID, Code: "accepted_no_id"},
	"71_ok_empty":                  {Proof: DoubtNoID, Code: "accepted_no_id"},
	"72_ok_cut":                    {Proof: DoubtNoID, Code: "accepted_no_id"},
	"73_ok_long_id":                {Proof: DoubtNoID, Code: "accepted_no_id"},
}

func TestSendWritesAndReadsTheWireAsTheDocumentSays(t *testing.T) {
	left := maps.Clone(wireMeaning)
	for _, name := range wireCases(t, "send") {
		t.Run(name, func(t *testing.T) {
			c, server, req := wireClient(t, "send", name)
			var m Message
			if err := json.Unmarshal(req.Body, &m); err != nil {
				t.Fatal(err)
			}
			if name == "20_missing_to" {
				// The client itself refuses a recipient without a number; the service's answer is judged below.
				_, err := c.Send(context.Background(), &m)
				if server.hits != 0 || asWire(t, err).Code != codeNotE164 {
					t.Fatalf("a message without a recipient: %d requests, %v; want none and not_e164", server.hits, err)
				}
				m.To = "+15555550101"
			}
			receipt, err := c.Send(context.Background(), &m)
			if server.hits != 1 {
				t.Fatalf("%d requests for one Send, want 1", server.hits)
			}
			switch name {
			case "20_missing_to", "21_missing_connection", "25_invalid_location": // our types always write these members
			default:
				sameJSON(t, "request body", server.body, req.Body)
			}
			if got := server.request.Header.Get("Authorization"); name != "45_wrong_key" && got != req.Headers["authorization"] {
				t.Errorf("Authorization %q, want %q", got, req.Headers["authorization"])
			}
			if server.request.Method != "POST" || server.request.URL.Path != sendPath || server.request.Header.Get("Content-Type") != "application/json" {
				t.Errorf("%s %s %s, want POST, the path of sends and JSON", server.request.Method, server.request.URL.Path, server.request.Header.Get("Content-Type"))
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
				if receipt.MessageID != answer.Data.MessageID || receipt.Warning != answer.Data.Warning.Code || receipt.RequestID != server.response.Headers["x-request-id"] {
					t.Errorf("receipt %+v, want %+v of request %s", receipt, answer.Data, server.response.Headers["x-request-id"])
				}
				if got := RecipientOfID(receipt.MessageID); "+"+got != m.To {
					t.Errorf("recipient of the id: %q, want that of %q", got, m.To)
				}
				return
			}
			e := asWire(t, err)
			got := Error{Proof: e.Proof, Action: e.Action, Hold: e.Hold, Feed: e.Feed, Wait: e.Wait, Code: e.Code, Platform: e.Platform, Class: e.Class}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("\n got %+v\nwant %+v", got, want)
			}
			if e.Status != server.response.Status || e.RequestID != server.response.Headers["x-request-id"] {
				t.Errorf("status %d, request %q; want %d, %q", e.Status, e.RequestID, server.response.Status, server.response.Headers["x-request-id"])
			}
			if Sentence(e.Code) == "" || e.Error() == "" {
				t.Errorf("sentence %q, error %q; want both to say something", Sentence(e.Code), e)
			}
		})
	}
	for name := range left {
		t.Errorf("%s has a meaning and no files, want both", name)
	}
}

func asWire(t testing.TB, err error) *Error {
	t.Helper()
	e, ok := err.(*Error)
	if !ok || e == nil {
		t.Fatalf("got %v, want an *Error", err)
	}
	return e
}

func TestListingsReadTheWire(t *testing.T) {
	ctx := context.Background()
	t.Run("connections", func(t *testing.T) {
		c, server, req := wireClient(t, "connections", "01_list")
		got, err := c.Connections(ctx)
		if err != nil || len(got) != 3 {
			t.Fatalf("got %v, %v; want 3", got, err)
		}
		if want := (Connection{"conn_1", "+15555550100", "Wire One", "co_1", "connected"}); got[0] != want {
			t.Errorf("got %+v, want %+v", got[0], want)
		}
		requested(t, server, req)
	})
	t.Run("numbers", func(t *testing.T) {
		c, server, req := wireClient(t, "numbers", "01_list")
		got, err := c.Numbers(ctx)
		want := []Number{{ConnectionID: "conn_1", Phone: "+15555550100", Quality: "GREEN", Tier: "TIER_100K", TierLimit: 100000, Level: "STANDARD", Throughput: 80}}
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("got %+v, %v; want %+v", got, err, want)
		}
		requested(t, server, req)
	})
	t.Run("numbers not offered", func(t *testing.T) {
		c, _, _ := wireClient(t, "numbers", "02_absent")
		if _, err := c.Numbers(ctx); !isNotOffered(err) {
			t.Errorf("got %v, want ErrNotOffered", err)
		}
	})
	t.Run("templates", func(t *testing.T) {
		c, server, req := wireClient(t, "templates", "01_list")
		got, err := c.Templates(ctx, "conn_1")
		if err != nil || len(got) != 4 {
			t.Fatalf("got %v, %v; want 4", got, err)
		}
		sale := got[0]
		body, buttons := sale.Component("BODY"), sale.Component("BUTTONS")
		if sale.Status != "APPROVED" || sale.Category != "MARKETING" || sale.Component("HEADER").Format != "IMAGE" ||
			!reflect.DeepEqual(body.Variables(), []string{"1", "2"}) || !reflect.DeepEqual(buttons.Buttons[0].Variables(), []string{"1"}) {
			t.Errorf("got %+v, want an approved marketing template with an image, two variables and one in a button", sale)
		}
		requested(t, server, req)
	})
	t.Run("media", func(t *testing.T) {
		c, server, req := wireClient(t, "media", "01_upload")
		var form struct {
			ConnectionID string
			File         struct {
				Filename, ContentType string
				Base64                []byte
			}
		}
		if err := json.Unmarshal(req.Multipart, &form); err != nil {
			t.Fatal(err)
		}
		// A reader that cannot tell its length: the upload is chunked.
		got, err := c.UploadMedia(ctx, form.ConnectionID, form.File.Filename, form.File.ContentType, io.MultiReader(bytes.NewReader(form.File.Base64)))
		if err != nil || got.ID != "ast_2" || !got.ExpiresAt.Equal(time.Date(2026, 12, 21, 0, 0, 0, 0, time.UTC)) {
			t.Fatalf("got %+v, %v; want ast_2 until 21 December", got, err)
		}
		_, params, err := mime.ParseMediaType(server.request.Header.Get("Content-Type"))
		if err != nil {
			t.Fatal(err)
		}
		read, err := multipart.NewReader(bytes.NewReader(server.body), params["boundary"]).ReadForm(1 << 20)
		if err != nil {
			t.Fatal(err)
		}
		file := read.File["file"][0]
		f, _ := file.Open()
		content, _ := io.ReadAll(f)
		if read.Value["connectionId"][0] != "conn_1" || file.Filename != form.File.Filename ||
			file.Header.Get("Content-Type") != form.File.ContentType || !bytes.Equal(content, form.File.Base64) {
			t.Errorf("got %+v %q, want the form of request.json", read, content)
		}
		requested(t, server, req)
	})
	t.Run("webhooks", func(t *testing.T) {
		c, server, req := wireClient(t, "webhookadmin", "01_register")
		var body struct {
			URL    string
			Events []string
		}
		json.Unmarshal(req.Body, &body)
		w, err := c.RegisterWebhook(ctx, body.URL, body.Events)
		if err != nil || w.ID != "whk_1" || w.Secret.Reveal() == "" {
			t.Fatalf("got %v, %v; want whk_1 with its secret", w, err)
		}
		sameJSON(t, "body", server.body, req.Body)
		requested(t, server, req)
		c, _, _ = wireClient(t, "webhookadmin", "02_list")
		if list, err := c.Webhooks(ctx); err != nil || len(list) != 1 || len(list[0].Events) != 2 {
			t.Errorf("got %v, %v; want one with two events", list, err)
		}
	})
	t.Run("billing", func(t *testing.T) {
		c, _, req := wireClient(t, "billing", "01_client_key")
		_, err := c.call(ctx, time.Second, c.request(ctx, "GET", req.Path, ""))
		if e := asWire(t, err); e.Code != "partner_key_required" {
			t.Errorf("got %v, want partner_key_required", e)
		}
	})
}

func requested(t *testing.T, server *replay, want wireRequest) {
	t.Helper()
	r := server.request
	if r.Method != want.Method || r.URL.Path != want.Path || r.URL.RawQuery != want.Query || r.Header.Get("Authorization") != want.Headers["authorization"] {
		t.Errorf("%s %s?%s with %q, want %+v", r.Method, r.URL.Path, r.URL.RawQuery, r.Header.Get("Authorization"), want)
	}
}

// wireEvent is the neutral form of events.json.
func wireEvent(e Event) map[string]any {
	out := map[string]any{"kind": e.Kind.String(), "type": e.Type}
	put := func(k, v string) {
		if v != "" {
			out[k] = v
		}
	}
	if !e.At.IsZero() {
		out["at"] = e.At.Format(time.RFC3339)
	}
	put("message_id", e.MessageID)
	put("status", string(e.Status))
	put("recipient", e.Recipient)
	put("connection", e.Connection)
	put("number", e.Number)
	if e.Code != 0 {
		out["code"] = float64(e.Code)
	}
	if in := e.Inbound; in != nil {
		put("from", in.From)
		put("text", in.Text)
		put("type", in.Type)
		put("button", in.ButtonPayload)
		put("context", in.ContextID)
		out["opt_out"] = IsOptOut(in.Text)
	}
	if r := e.Review; r != nil {
		put("name", r.Name)
		put("language", r.Language)
		put("event", r.Event)
		put("category", r.Category)
		put("reason", r.Reason)
	}
	if p := e.Preference; p != nil {
		put("from", p.From)
		out["preference"] = map[bool]string{true: "stop", false: "resume"}[p.Stop]
	}
	return out
}

func TestWebhooksOfTheWireVerifyAndDecode(t *testing.T) {
	var world wireWorld
	readJSON(t, &world, "world.json")
	v, err := NewVerifier(SignatureForm{}, NewSecret(world.WebhookSecret))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range wireCases(t, "webhooks") {
		t.Run(name, func(t *testing.T) {
			body, err := os.ReadFile(filepath.Join(wireRoot, "webhooks", name, "body.json"))
			if err != nil {
				t.Fatal(err)
			}
			var headers map[string]string
			readJSON(t, &headers, "webhooks", name, "headers.json")
			h := http.Header{}
			for k, v := range headers {
				h.Set(k, v)
			}
			if _, err := v.Verify(h, body, time.Now()); err != nil {
				t.Fatal(err)
			}
			var want struct{ Events []map[string]any }
			readJSON(t, &want, "webhooks", name, "events.json")
			got, err := DecodeEvents(body)
			if err != nil || len(got) != len(want.Events) {
				t.Fatalf("%d events, %v, want %d: %+v", len(got), err, len(want.Events), got)
			}
			for i, w := range want.Events {
				g := wireEvent(got[i])
				for k, v := range w {
					if fmt.Sprint(g[k]) != fmt.Sprint(v) {
						t.Errorf("event %d: %s is %v, want %v", i, k, g[k], v)
					}
				}
			}
		})
	}
}
