package service

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"campaignd/internal/messaging"
)

func TestOnlyE164IsPosted(t *testing.T) {
	for to, want := range map[string]bool{
		"+1234567": true, "+123456": false, "+123456789012345": true, "+1234567890123456": false,
		"+0123456789": false, "1234567890": false, "+12345678 0": false,
	} {
		posted := false
		c := testClient(t, "https://service.example", Options{Transport: roundTrip(func(*http.Request) (*http.Response, error) {
			posted = true
			return nil, io.EOF
		})})
		if _, err := c.Send(t.Context(), &messaging.Message{ConnectionID: "c", To: to, Template: hello.Template}); posted != want || err == nil {
			t.Errorf("%s: posted = %t (%v), want %t", to, posted, err, want)
		}
	}
}

func TestAnswersAreReadUpToTheirLimits(t *testing.T) {
	pad := func(s string, n int) string { return s + strings.Repeat(" ", n-len(s)) }
	for name, c := range map[string]struct {
		status, bytes int
		proof         messaging.Proof
	}{
		"a full answer to a send":   {200, 64 << 10, 0},
		"a byte more":               {200, 64<<10 + 1, messaging.DoubtNoID},
		"the last 2xx":              {299, 100, 0},
		"the first status after it": {300, 100, messaging.NotSent},
	} {
		client, _ := answering(t, c.status, pad(receiptText, c.bytes), Options{})
		receipt, err := client.Send(t.Context(), hello)
		if c.proof == 0 {
			if err != nil || receipt.MessageID == "" || receipt.RequestID != "req_7" {
				t.Errorf("%s: %+v, %v; want accepted as req_7", name, receipt, err)
			}
		} else if got := asWire(t, err).Proof; got != c.proof {
			t.Errorf("%s: %s, want %s", name, fmt.Sprint(got), fmt.Sprint(c.proof))
		}
	}
	for length, want := range map[int]bool{16 << 20: true, 16<<20 + 1: false} { // the answer of a listing may be longer
		client := testClient(t, "https://service.example", Options{Transport: roundTrip(func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: 200, Header: http.Header{},
				Body: io.NopCloser(strings.NewReader(pad(`{"data":[{"id":"a"}]}`, length)))}, nil
		})})
		if list, err := client.Connections(t.Context()); (err == nil && len(list) == 1) != want {
			t.Errorf("a listing of %d bytes: %v, %v; want read = %t", length, list, err, want)
		}
	}
}

func TestMessageIDsAreUsableUpTo256Bytes(t *testing.T) {
	for id, want := range map[string]bool{
		strings.Repeat("a", 256): true, strings.Repeat("a", 257): false, "": false, "!~": true, "a b": false, "a\x7f": false, "a\u00e9": false,
	} {
		for _, body := range []string{
			`{"data":{"messageId":"` + id + `"}}`,                             // read by quickReceipt
			`{"data":{"messageId":"` + id + `","warning":{"code":"a code"}}}`, // parsed
		} {
			got, warning, ok := readReceipt([]byte(body))
			if ok != want || want && got != id {
				t.Errorf("%q: %q, usable = %t; want %t", body, got, ok, want)
			}
			if ok && strings.Contains(body, "warning") && warning != "a_code" {
				t.Errorf("warning %q, want a_code", warning)
			}
		}
	}
	for _, body := range []string{`{"data":{"messageId":17}}`, `{"data":{"messageId":"a"}}}`, `{"data":{"messageId":"a"}} x`,
		`{"data":"a"}`, `{"messageId":"a"}`, `{"data":{"messageId":"a"}`} {
		if got, _, ok := readReceipt([]byte(body)); ok {
			t.Errorf("%s: read %q, want no usable id", body, got)
		}
	}
	if got, _, ok := readReceipt([]byte(" {\n\"data\" :\t{ \"messageId\": \"a\\u0062\" } }\r\n")); !ok || got != "ab" {
		t.Errorf("got %q, %t of an id with an escape; want ab", got, ok)
	}
}

// A wamid has 7 to 15 digits (E.164), in either alphabet of base64.
func TestOnlyWholeNumbersAreReadFromIDs(t *testing.T) {
	wamid := func(head string, digits string, e *base64.Encoding) string {
		return "wamid." + e.EncodeToString([]byte(head+string(rune(len(digits)))+digits+"\x15\x02\x00\x11\x18\x12"))
	}
	for digits, want := range map[string]bool{"1234567": true, "123456": false, "123456789012345": true, "1234567890123456": false,
		"123456/": false, "123456:": false} {
		for _, e := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding} {
			if got := messaging.RecipientOfID(wamid("\x1c\x18", digits, e)); (got == digits) != want || !want && got != "" {
				t.Errorf("%s: %q, want read = %t", digits, got, want)
			}
		}
	}
	for _, head := range []string{"\x1d\x18", "\x1c\x19"} {
		if got := messaging.RecipientOfID(wamid(head, "15555550101", base64.StdEncoding)); got != "" {
			t.Errorf("head %x: %q, want nothing", head, got)
		}
	}
}

func TestBodiesAreReadUpToTheirLimits(t *testing.T) {
	one := `{"type":"message.status","data":{"messageId":"m1","status":"sent"}}`
	for length, want := range map[int]error{messaging.MaxBody: nil, messaging.MaxBody + 1: messaging.ErrBodyTooLarge} {
		if events, err := DecodeEvents([]byte(one + strings.Repeat(" ", length-len(one)))); !errors.Is(err, want) ||
			(len(events) == 1) != (want == nil) {
			t.Errorf("%d bytes: %d events, %v; want %v", length, len(events), err, want)
		}
	}
	if got, want := len(messaging.Token(strings.Repeat("a", 200))), 128; got != want {
		t.Errorf("a token of %d bytes, want %d", got, want)
	}
	if got, want := messaging.Token("a\x7fb"), "a_b"; got != want {
		t.Errorf("token of a DEL alone = %q, want %q", got, want)
	}
	if got, want := messaging.Token("a b\x7f~\u00e9!"), "a_b_~_!"; got != want {
		t.Errorf("token = %q, want %q", got, want)
	}
}

// The pace of a number was measured with these values.
func TestTheDefaultsAreThoseThatWereMeasured(t *testing.T) {
	o := Options{}.withDefaults()
	if o.MaxInFlight != 256 || o.IdleTimeout != 55*time.Second || o.Timeout != 10*time.Second {
		t.Errorf("got %d in flight, idle for %v, time-out %v; want 256, 55s, 10s", o.MaxInFlight, o.IdleTimeout, o.Timeout)
	}
}

// With a foreign transport each request has its own header, so a change to one does not reach the
// next.
func TestAForeignTransportCannotSpoilTheNextSend(t *testing.T) {
	var seen []string
	c := testClient(t, "https://service.example", Options{UserAgent: "shop/1.0",
		Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			seen = append(seen, r.Header.Get("Authorization")+" "+r.Header.Get("User-Agent")+" "+r.Header.Get("Accept")+" "+r.Host)
			clear(r.Header)
			return nil, io.EOF
		})})
	for range 2 {
		if _, err := c.Send(context.Background(), hello); err == nil {
			t.Error("got no error of a broken exchange, want one")
		}
	}
	want := "Bearer key_1 shop/1.0 application/json service.example"
	if len(seen) != 2 || seen[0] != want || seen[1] != want {
		t.Errorf("sent %q, want twice %q", seen, want)
	}
}

// Each request has the length of its own JSON, and a body of exactly that JSON.
func TestASendSaysItsLength(t *testing.T) {
	var length int64
	var body []byte
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		length = r.ContentLength
		body, _ = io.ReadAll(r.Body)
		io.WriteString(w, receiptText)
	}))
	defer s.Close()
	c := testClient(t, s.URL, Options{})
	long := *hello
	long.Template = &messaging.Template{Name: "a", Language: "en", Body: []string{strings.Repeat("x", 5000)}}
	for _, m := range []*messaging.Message{hello, &long} {
		if _, err := c.Send(t.Context(), m); err != nil {
			t.Fatal(err)
		}
		if want := encoded(t, m); length != int64(len(want)) || !bytes.Equal(body, []byte(want)) {
			t.Errorf("length %d with %d bytes, want %d: the message", length, len(body), len(want))
		}
	}
}
