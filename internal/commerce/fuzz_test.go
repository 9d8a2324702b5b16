package commerce

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"

	"campaignd/internal/secret"
)

// FuzzAnswer gives an answer to every method. None panics, and an error is of the closed list or
// concerns one record.
func FuzzAnswer(f *testing.F) {
	for _, body := range []string{
		`{"data":[{"id":"a","tags":[{"name":"vip"},"x"],"metadata":{"consent":"yes","n":1,"o":{}},"created_at":"2026-01-08T08:00:00.000000Z"}],
			"links":{"next":"?page[number]=2"},"meta":{"total":2}}`,
		`{"data":[{"id":"o","amount":"19.99","billing":{"total":1e3},"order_products":[{"price":1,"quantity":2}],"customer":{"id":"c"}}],
			"links":{"next":null},"meta":{}}`,
		`{"id":"x","name":"Acme","currency":{"code":"EUR"},"url":"https://x","access_token":"t","totalSales":1e-400,"value":1e999999999}`,
		`{"data":[{},{"id":7},{"id":"c","tags":"x"}],"links":{"next":null},"meta":{"total":3}}`,
		`{"errors":{"phone":["x"]},"message":"x","status":"error","trace":[{}]}`, `[]`, `null`, ``, `[{"id":"d","value":10}]`,
	} {
		f.Add(200, body)
		f.Add(422, body)
		f.Add(500, body)
	}
	f.Fuzz(func(t *testing.T, status int, body string) {
		synctest.Test(t, func(t *testing.T) { askAll(t, 200+max(status%400, -status%400), body) }) // repetitions wait
	})
}

// askAll gives an answer to every method of a client.
func askAll(t *testing.T, status int, body string) {
	n := 0
	c := through(t, func(*http.Request) (*http.Response, error) {
		if n++; n > 40 {
			return response(404, ""), nil
		}
		return response(status, body), nil
	}, Options{})
	check := func(err error) {
		if _, ofOne := errors.AsType[*RecordError](err); err != nil && !ofOne && fault(t, err).Code.Sentence() == "" {
			t.Errorf("got %v, want an error of the closed list", err)
		}
	}
	ctx := t.Context()
	for order, err := range c.Orders(ctx, OrderQuery{}) {
		check(err)
		if _, err := json.Marshal(order.Amount); err != nil || len(order.Amount.String()) > maxWritten {
			t.Errorf("got the amount %s, %v; want one of at most %d bytes", order.Amount, err, maxWritten)
		}
	}
	for _, err := range c.Payments(ctx, PaymentQuery{}) {
		check(err)
	}
	_, company := c.Company(ctx)
	_, customer := c.Customer(ctx, "a")
	_, statistics := c.Statistics(ctx, "a")
	_, discount := c.Discount(ctx, "a")
	_, automatic := c.AutomaticDiscounts(ctx, Customer{ID: "a"})
	_, link := c.PaymentLink(ctx, LinkRequest{Order: "a"})
	_, exchange := c.Exchange(ctx, app, secret.New("c"))
	for _, err := range []error{company, customer, statistics, discount, automatic, link, exchange} {
		check(err)
	}
}

// FuzzEvent posts a signed body: the intake answers with one of its own statuses.
func FuzzEvent(f *testing.F) {
	for _, body := range []string{anEvent, `{}`, `[]`, `null`, ``, `{"id":1}`, strings.Replace(anEvent, "2026-03-01", "never", 1)} {
		f.Add(body, "")
		f.Add(body, signatureOf(signing, body))
	}
	intake := NewIntake(Assumed{}, acme, []secret.Value{signing}, slog.New(slog.DiscardHandler), forget)
	f.Fuzz(func(t *testing.T, body, signature string) {
		for _, s := range []string{signature, signatureOf(signing, body)} {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", strings.NewReader(body))
			r.Header.Set("X-Commerce-Signature", s)
			w := httptest.NewRecorder()
			intake.ServeHTTP(w, r)
			if signed := strings.EqualFold(strings.TrimSpace(s), signatureOf(signing, body)); !signed != (w.Code == 401) {
				t.Errorf("%q with %q: got %d, want 401 without a right signature only", body, s, w.Code)
			}
		}
	})
}

// FuzzCallback verifies a query: only one with the right hmac gets past the signature.
func FuzzCallback(f *testing.F) {
	f.Add(signedQuery + "&hmac=" + signedHmac)
	f.Add(signedQuery)
	f.Add("hmac=%zz&a=b;c")
	f.Add("code=a&code=b&hmac=" + strings.Repeat("0", 64))
	f.Fuzz(func(t *testing.T, query string) {
		got, err := app.Callback(query, acme, callbackTime)
		if err == nil && (!strings.Contains(strings.ToLower(query), "hmac") || got.Code.IsZero()) {
			t.Errorf("%q: got the code %q without an error, want one", query, got.Code.Reveal())
		}
		if err != nil && fault(t, err).Code.Sentence() == "" {
			t.Errorf("%q: got %v, want an error of the closed list", query, fmt.Sprint(err))
		}
	})
}
