package commerce

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// Each member by which an order counts, at its values.
func TestAnOrderHasEndedByItsStatusOrItsDeletion(t *testing.T) {
	for members, want := range map[string]bool{
		``: false, `,"status":"pending"`: false, `,"status":"completed"`: false, `,"deleted_at":null`: false, `,"deleted_at":""`: false,
		`,"status":"cancelled"`: true, `,"status":"refunded"`: true, `,"status":"completed","deleted_at":"2026-03-01T10:00:00Z"`: true,
	} {
		c := serving(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintf(w, `{"data":{"id":"o1"%s}}`, members) }, Options{})
		if o, err := c.Order(t.Context(), "o1"); err != nil || o.Ended() != want {
			t.Errorf("%q: ended %v, %v; want %v", members, o.Ended(), err, want)
		}
	}
}

// The answer is about another record, or about none.
func TestAnAnswerAboutAnotherRecordIsNone(t *testing.T) {
	for _, body := range []string{`{"data":{"id":"o2","amount_due":9}}`, `{"data":{}}`, `{}`, `{"data":null}`} {
		c := serving(t, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, body) }, Options{})
		if o, err := c.Order(t.Context(), "o1"); err == nil || fault(t, err).Code != CodeBadAnswer || o.ID != "" {
			t.Errorf("%s: got %+v, %v; want bad_answer", body, o, err)
		}
	}
	odd := `{"id":"c1","phone":7}`
	for _, c := range []struct {
		list, phone string
		want        string // a code, or record
	}{
		{`{"id":"c10","phone":"+10"},{"id":"c1","phone":"+1"}`, "+1", ""},
		{`{"id":"c10","phone":"+10"}`, "", string(CodeNotFound)},
		{``, "", string(CodeNotFound)},
		{odd, "", "record"},
		{`{"id":"c10","phone":7},{"id":"c1","phone":"+1"}`, "+1", ""},
		{`{"id":"c10","phone":7}`, "", string(CodeNotFound)},
	} {
		client := serving(t, func(w http.ResponseWriter, r *http.Request) {
			if got := r.URL.Query().Get("filter[search]"); got != "c1" {
				t.Errorf("got a search for %q, want c1", got)
			}
			fmt.Fprintf(w, `{"data":[%s]}`, c.list)
		}, Options{})
		got, err := client.Customer(t.Context(), "c1")
		is := ""
		if one, ok := errors.AsType[*RecordError](err); ok && one.ID == "c1" {
			is = "record"
		} else if err != nil {
			is = string(fault(t, err).Code)
		}
		if is != c.want || got.Phone != c.phone {
			t.Errorf("%s: got %q, %v; want %q and %q", c.list, got.Phone, err, c.phone, c.want)
		}
	}
}

// Every name that is assumed has another one here, and each question its own.
func TestEachAssumedNameIsSent(t *testing.T) {
	names := Assumed{CompanyHeader: "X-Firm", CustomersPath: "/my/customers", OrdersPath: "/my/orders", PageSizeParameter: "size", PageSize: 7,
		SearchFilter: "find", OrderFilter: "order", TypeFilter: "kind"}
	var asked []string
	c := serving(t, func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.Path+"?"+r.URL.RawQuery)
		if firm := r.Header.Get("X-Firm"); firm != acme && !strings.Contains(r.URL.Path, "/companies/") {
			t.Errorf("%s: got the company %q, want %q", r.URL, firm, acme)
		}
		io.WriteString(w, `{"data":[]}`)
	}, Options{Assumed: names})
	for range c.Orders(t.Context(), OrderQuery{Search: "R-1", Sort: "-updated_at", Customer: true}) {
	}
	for range c.Orders(t.Context(), OrderQuery{}) {
	}
	for range c.Payments(t.Context(), PaymentQuery{Order: "o1", Type: "inbound", Sort: "-created_at"}) {
	}
	for range c.Customers(t.Context(), "Ama") {
	}
	if _, err := c.Check(t.Context()); err != nil {
		t.Errorf("the check: got %v, want no error", err)
	}
	want := []string{"/my/orders?find=R-1&include=customer&size=7&sort=-updated_at", "/my/orders?size=7",
		"/2023-11/admin/payments?kind=inbound&order=o1&size=7&sort=-created_at", "/my/customers?find=Ama&size=7",
		"/2023-11/companies/" + acme + "?", "/2023-11/admin/payments?size=1"}
	if got := strings.Join(asked, "\n"); got != strings.Join(want, "\n") {
		t.Errorf("got the requests\n%s\nwant\n%s", got, strings.Join(want, "\n"))
	}
}

// The words of a refusal count with its own status only.
func TestAnErrorIsClassifiedByStatusAndWords(t *testing.T) {
	for _, c := range []struct {
		status int
		body   string
		want   Code
	}{
		{401, `{}`, CodeKeyInvalid}, {401, `{"message":"API key is missing"}`, CodeKeyMissing},
		{403, `{}`, CodeDenied}, {403, `{"message":"Sandbox key not allowed for live operation"}`, CodeSandboxKey},
		{400, `{"message":"Payment link could not be generated"}`, CodeNoLink}, {400, `{"message":7}`, CodeInvalid},
		{404, `{}`, CodeNotFound}, {422, `{"status":"error"}`, CodeInvalid}, {429, `{}`, CodeRateLimited},
		{500, `{"status":"error"}`, CodeNothingDue}, {500, `{"status":"failed"}`, CodeServer},
		{500, `{"message":"API key is missing"}`, CodeServer}, {503, `{"status":"error"}`, CodeServer},
		{502, `bad gateway`, CodeServer}, {302, `{}`, CodeRedirect}, {101, `{}`, CodeBadAnswer},
	} {
		if got := refused(c.status, http.Header{}, []byte(c.body)).Code; got != c.want {
			t.Errorf("%d %s: got %s, want %s", c.status, c.body, got, c.want)
		}
	}
}

// Of two waits the later end counts, whichever came first, and requests that were under way lower
// the rate once.
func TestTheLaterRetryAfterCounts(t *testing.T) {
	for _, waits := range [][]time.Duration{{time.Second, 5 * time.Second}, {5 * time.Second, time.Second}} {
		synctest.Test(t, func(t *testing.T) {
			p := newPace(10, through(t, nil, Options{}).o.Log)
			began := time.Now()
			time.Sleep(time.Millisecond)
			for _, w := range waits {
				p.throttled(began, w)
			}
			if got := p.current(); got != 5 {
				t.Errorf("%v: got a rate of %v, want 5: half of 10 once", waits, got)
			}
			if err := p.wait(t.Context()); err != nil || time.Since(began) < 5*time.Second {
				t.Errorf("%v: the next request after %v, %v; want 5 s or more", waits, time.Since(began), err)
			}
			p.throttled(time.Now(), 0)
			if got := p.current(); got != 2.5 {
				t.Errorf("a later request: got a rate of %v, want 2.5", got)
			}
		})
	}
}
