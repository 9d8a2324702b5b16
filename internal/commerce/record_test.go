package commerce

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestAmountsAreExactAndBounded(t *testing.T) {
	for text, want := range map[string]string{
		`19.99`: "19.99", `"19.99"`: "19.99", `0.1`: "0.1", `-3`: "-3", `1e3`: "1000", `null`: "0", `0`: "0",
		`123456789012345678901234567890`: "123456789012345678901234567890", `0.0123456789`: "0.0123456789",
	} {
		var a Amount
		if err := json.Unmarshal([]byte(text), &a); err != nil || a.String() != want {
			t.Errorf("%s: got %s, %v; want %s", text, a, err, want)
		}
		if back, err := json.Marshal(a); err != nil || string(back) != want {
			t.Errorf("%s: got %s, %v; want the number %s", text, back, err, want)
		}
	}
	for _, text := range []string{`1234567890123456789012345678901`, `1e30`, `1e999999999`, `1e31`, `0.01234567891`, `1e-11`, `1e-999999999`,
		`""`, `"a"`, `true`, `[]`, `{}`, `"` + strings.Repeat("0", 49) + `"`} {
		var a Amount
		if err := json.Unmarshal([]byte(text), &a); err == nil {
			t.Errorf("%s: got %d digits, want it refused", text, a.NumDigits())
		}
	}
}

func TestMetadataAndTagsAreReadInAnyForm(t *testing.T) {
	var c Customer
	const text = `{"id":"a","metadata":{"consent":"yes","n":1.50,"b":true,"o":{"x":1},"l":[1],"z":null},
		"tags":["vip",{"name":"new"},{"id":1}]}`
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		t.Fatal(err)
	}
	if len(c.Metadata) != 3 || c.Metadata["consent"] != "yes" || c.Metadata["n"] != "1.50" || c.Metadata["b"] != "true" {
		t.Errorf("got %v, want the text, the number and the boolean", c.Metadata)
	}
	if strings.Join(c.Tags, " ") != "vip new" {
		t.Errorf("got %v, want vip and new", c.Tags)
	}
	for _, empty := range []string{`[]`, `{}`, `null`} {
		if err := json.Unmarshal([]byte(`{"metadata":`+empty+`}`), &c); err != nil || len(c.Metadata) != 0 {
			t.Errorf("%s: got %v, %v; want none", empty, c.Metadata, err)
		}
	}
}

func TestANumberOutOfBoundsIsNotInAnError(t *testing.T) {
	c := serving(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Write([]byte(`{"data":[{"id":"a","order_products":[{"quantity":237650000001237650000001}]}]}`))
	}, Options{})
	for _, err := range c.Orders(t.Context(), OrderQuery{}) {
		if _, ok := errors.AsType[*RecordError](err); !ok || !strings.Contains(err.Error(), "at order_products.quantity") {
			t.Errorf("got %v, want the fault of one record, with the place", err)
		}
		quiet(t, "error", err.Error())
	}
}

func TestTheExactCustomerIsFound(t *testing.T) {
	c := serving(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Write([]byte(`{"data":[{"id":"ab"},{"id":"a","first_name":"Ama"}],"links":{"next":null}}`))
	}, Options{})
	if got, err := c.Customer(t.Context(), "a"); err != nil || got.FirstName != "Ama" {
		t.Errorf("got %+v, %v; want the customer with exactly that id", got, err)
	}
	if _, err := c.Customer(t.Context(), "b"); fault(t, err).Code != CodeNotFound {
		t.Errorf("got %v, want not_found", err)
	}
}

func TestALinkWithoutAnAddressIsABadAnswer(t *testing.T) {
	c := serving(t, func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte(`{}`)) }, Options{})
	if _, err := c.PaymentLink(t.Context(), LinkRequest{Order: "o"}); fault(t, err).Code != CodeBadAnswer {
		t.Errorf("got %v, want bad_answer", err)
	}
}

func TestOnlyAKnownPhraseChangesTheCode(t *testing.T) {
	date := http.Header{"Retry-After": {time.Now().Add(time.Minute).UTC().Format(http.TimeFormat)}}
	for _, test := range []struct {
		status int
		body   string
		want   Code
	}{
		{500, `{"message":"Invalid API key"}`, CodeServer}, {500, `{"message":"x","status":"failed"}`, CodeServer},
		{500, `{"status":"error"}`, CodeNothingDue}, {400, `{"status":"error"}`, CodeInvalid}, {401, `{"message":7}`, CodeKeyInvalid},
	} {
		e := refused(test.status, date, []byte(test.body))
		if e.Code != test.want || e.Wait < 50*time.Second || e.Wait > time.Minute {
			t.Errorf("%d %s: got %s with a wait of %v, want %s and a minute", test.status, test.body, e.Code, e.Wait, test.want)
		}
	}
}

// A Retry-After is for all requests of the client, also those that are not repeated.
func TestARetryAfterHoldsEveryRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &answers{list: []func() (*http.Response, error){status(429, "", "Retry-After", "7"), status(200, `{"id":"x"}`)}}
		c := through(t, func(r *http.Request) (*http.Response, error) {
			if r.Method == http.MethodPost && r.GetBody != nil {
				t.Error("got a POST that net/http may repeat, want none")
			}
			return a.RoundTrip(r)
		}, Options{})
		if _, err := c.Exchange(t.Context(), app, c.o.APIKey); fault(t, err).Code != CodeRateLimited {
			t.Errorf("got %v, want rate_limited: the code may still be good", err)
		}
		if _, err := c.Company(t.Context()); err != nil || a.times[1].Sub(a.times[0]) < 7*time.Second {
			t.Errorf("got %v %v later, want the next request 7 s later", err, a.times[1].Sub(a.times[0]))
		}
	})
}
