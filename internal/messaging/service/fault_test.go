package service

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"

	"campaignd/internal/messaging"
)

var errWire = errors.New("the cable is pulled")

// cutBody is a body that fails after its text.
func cutBody(text string) io.ReadCloser {
	return io.NopCloser(io.MultiReader(strings.NewReader(text), iotest.ErrReader(errWire)))
}

// calls are all calls of a Client except Send, each with a whole answer.
var calls = map[string]struct {
	call   func(context.Context, *Client) (any, error)
	answer string
}{
	"connections": {func(ctx context.Context, c *Client) (any, error) { v, err := c.Connections(ctx); return len(v), err },
		`{"data":[{"id":"conn_1"}]}`},
	"numbers": {func(ctx context.Context, c *Client) (any, error) { v, err := c.Numbers(ctx); return len(v), err },
		`{"data":[{"connectionId":"conn_1"}]}`},
	"templates": {func(ctx context.Context, c *Client) (any, error) {
		v, err := c.Templates(ctx, "conn_1")
		return len(v), err
	}, `{"data":[{"id":"tpl_1"}]}`},
	"webhooks": {func(ctx context.Context, c *Client) (any, error) { v, err := c.Webhooks(ctx); return len(v), err },
		`{"data":[{"id":"whk_1"}]}`},
	"register": {func(ctx context.Context, c *Client) (any, error) {
		v, err := c.RegisterWebhook(ctx, "https://x.example", nil)
		return len(v.ID), err
	}, `{"data":{"id":"whk_1"}}`},
	"delete": {func(ctx context.Context, c *Client) (any, error) { return 0, c.DeleteWebhook(ctx, "whk_1") }, `{"data":{"id":"whk_1"}}`},
	"upload": {func(ctx context.Context, c *Client) (any, error) {
		v, err := c.UploadMedia(ctx, "conn_1", "a", "", strings.NewReader("x"))
		return len(v.ID), err
	}, `{"data":{"assetId":"ast_1"}}`},
}

// An exchange that fails before, within or at the end of its answer gives an error with its cause,
// and the call returns nothing of a cut answer.
func TestACutAnswerIsAnErrorOfEveryCall(t *testing.T) {
	for name, c := range calls {
		answer := func(status int, body io.ReadCloser, err error) (any, error) {
			return c.call(t.Context(), testClient(t, "https://service.example",
				Options{Transport: roundTrip(func(*http.Request) (*http.Response, error) {
					if err != nil {
						return nil, err
					}
					return &http.Response{StatusCode: status, Header: http.Header{}, Body: body}, nil
				})}))
		}
		check := func(step string, got any, err error, code string) {
			t.Helper()
			var e *messaging.Error
			if !errors.As(err, &e) || e.Proof != messaging.NotSent || e.Code != code || !errors.Is(err, errWire) || got != 0 {
				t.Errorf("%s, %s: %v and %v, want nothing and a %s of %v that proves nothing sent", name, step, got, err, code, errWire)
			}
		}
		got, err := answer(0, nil, errWire)
		check("no answer", got, err, "reset")
		for n := range len(c.answer) + 1 {
			got, err = answer(200, cutBody(c.answer[:n]), nil)
			check("cut after "+c.answer[:n], got, err, "bad_answer")
		}
		const refusal = `{"error":"internal_error"}`
		for n := range len(refusal) + 1 {
			got, err = answer(500, cutBody(refusal[:n]), nil)
			code := "http_500"
			if n == len(refusal) {
				code = "internal_error"
			}
			check("refusal cut after "+refusal[:n], got, err, code)
		}
		if got, err = answer(200, io.NopCloser(strings.NewReader(c.answer)), nil); err != nil {
			t.Errorf("%s, whole: %v and %v, want no error", name, got, err)
		}
	}
}

// A cut answer to a send is a doubt, or an acceptance without an id. It is never a receipt, and
// never a proof that nothing was sent.
func TestACutAnswerToASendIsNeverAReceipt(t *testing.T) {
	for n := range len(receiptText) + 1 {
		for status, want := range map[int]messaging.Proof{200: messaging.DoubtNoID, 500: messaging.Doubt} {
			c := testClient(t, "https://service.example", Options{Transport: roundTrip(func(*http.Request) (*http.Response, error) {
				return &http.Response{StatusCode: status, Header: http.Header{}, Body: cutBody(receiptText[:n])}, nil
			})})
			got, err := c.Send(t.Context(), hello)
			if e := asWire(t, err); e.Proof != want || !errors.Is(err, errWire) || got.MessageID != "" {
				t.Errorf("%d cut after %d bytes: %+v and %v, want %s of %v", status, n, got, err, fmt.Sprint(want), errWire)
			}
		}
	}
}

// A file that cannot be read to its end is not stored as a shorter file.
func TestAFileThatBreaksOffIsNotUploaded(t *testing.T) {
	for n := range 4 {
		var sent []byte
		client := testClient(t, "https://service.example", Options{Transport: roundTrip(func(r *http.Request) (_ *http.Response, err error) {
			sent, err = io.ReadAll(r.Body)
			return nil, err
		})})
		asset, err := client.UploadMedia(t.Context(), "conn_1", "a.jpg", "image/jpeg", cutBody("abc"[:n]))
		if asWire(t, err).Proof != messaging.NotSent || !errors.Is(err, errWire) || asset.ID != "" {
			t.Errorf("after %d bytes: %+v and %v, want an error of %v", n, asset, err, errWire)
		}
		if !bytes.Contains(sent, []byte("conn_1")) || bytes.Contains(sent, []byte("--\r\n")) {
			t.Errorf("after %d bytes the form was sent whole, or not at all:\n%s\nwant it cut", n, sent)
		}
	}
}

// A body with one event too many is refused as a whole, whatever kind the last event is.
func TestOneEventTooManyRefusesTheWholeBody(t *testing.T) {
	const platform = `{"object":"whatsapp_business_account","entry":[{"changes":[{"field":"%f","value":{%v}}]}]}`
	change := func(field, value string) string {
		return strings.NewReplacer("%f", field, "%v", value).Replace(platform)
	}
	for name, last := range map[string]string{
		"the service's":       `{"type":"message.status","data":{"messageId":"m1","status":"read"}}`,
		"no object":           `7`,
		"a batch":             `{"events":[{"type":"x"}]}`,
		"a status":            change("messages", `"statuses":[{"id":"m1","status":"read"}]`),
		"a message":           change("messages", `"messages":[{"id":"m1","from":"15555550101"}]`),
		"a preference":        change("user_preferences", `"user_preferences":[{"wa_id":"15555550101","value":"stop"}]`),
		"a fault":             change("messages", `"errors":[{"code":130429}]`),
		"a template's review": change("message_template_status_update", `"event":"PAUSED","message_template_name":"sale"`),
		"any other change":    change("flows", `"a":1`),
	} {
		for before, want := range map[int]error{messaging.MaxEvents - 1: nil, messaging.MaxEvents: messaging.ErrTooManyEvents} {
			events, err := DecodeEvents([]byte("[" + strings.Repeat("1,", before) + last + "]"))
			if !errors.Is(err, want) || (len(events) == messaging.MaxEvents) != (want == nil) {
				t.Errorf("%s after %d events: %d events and %v, want %v", name, before, len(events), err, want)
			}
		}
	}
	for name, body := range map[string]string{
		"a batch":                `{"events":[` + strings.Repeat("1,", messaging.MaxEvents) + `1]}`,
		"the platform's changes": change("messages", `"statuses":[`+strings.Repeat("1,", messaging.MaxEvents)+`1]`),
	} {
		if events, err := DecodeEvents([]byte(body)); !errors.Is(err, messaging.ErrTooManyEvents) || events != nil {
			t.Errorf("%s alone: %d events and %v, want %v", name, len(events), err, messaging.ErrTooManyEvents)
		}
	}
}

// The text of an error is one line with all fields that are set, and no others.
func TestAnErrorSaysWhatIsKnown(t *testing.T) {
	for want, e := range map[string]messaging.Error{
		"reset":                            {Code: "reset"},
		"reset: the connection was closed": {Code: "reset", Message: "the connection was closed"},
		"http_502, HTTP 502":               {Code: "http_502", Status: 502},
		"send_permanent (platform code 1)": {Code: "send_permanent", Platform: 1},
		"unauthorized [request req_7]":     {Code: "unauthorized", RequestID: "req_7"},
		"x, HTTP 1":                        {Code: "x", Status: 1},
		"send_permanent (platform code 131026), HTTP 400: Undeliverable [request req_7]": {Code: "send_permanent",
			Platform: 131026, Status: 400, Message: "Undeliverable", RequestID: "req_7"},
	} {
		if got := e.Error(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	for code, m := range map[string]*messaging.Message{"not_e164": {To: "15555550101"}, "unencodable": {To: "+15555550101"}} {
		_, err := testClient(t, "https://service.example", Options{}).Send(t.Context(), m)
		e, sentence := asWire(t, err), messaging.Sentence(code)
		if e.Proof != messaging.NotSent || e.Code != code || e.Action != messaging.Refuse || e.Hold != messaging.HoldPayload ||
			e.Message != sentence ||
			sentence == "" || (e.Err != nil) != (code == "unencodable") {
			t.Errorf("got %+v, want %s refused as a fault of the payload: %s", e, code, sentence)
		}
	}
}
