package commerce

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"campaignd/internal/secret"
)

// The tests below use the literal files of testdata/commerce. The tests of the sandbox use the same
// files, and neither imports the other.

const literals = "../../testdata/commerce"

type literalRequest struct {
	Method, Path, Query string
	Headers             map[string]string
	Body                json.RawMessage
	Form                map[string]string
}

type literalAnswer struct {
	Status  int
	Headers map[string]string
	Absent  []string
	Body    json.RawMessage
}

func readLiteral(t testing.TB, into any, path ...string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(append([]string{literals}, path...)...))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, into); err != nil {
		t.Fatalf("%v: got %v, want a JSON document", path, err)
	}
}

// literal is a server that gives the answer of a case, and what it was asked.
type literal struct {
	want   literalRequest
	answer literalAnswer
	got    *http.Request
	body   []byte
	hits   int
}

func (l *literal) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	l.got, l.hits = r, l.hits+1
	l.body, _ = io.ReadAll(r.Body)
	for name, value := range l.answer.Headers {
		w.Header().Set(name, value)
	}
	w.WriteHeader(l.answer.Status)
	w.Write(l.answer.Body)
}

// literalClient returns a client of a server with the answer of a case. The client has the key or
// the token of the request, and pages of its size.
func literalClient(t *testing.T, name string) (*Client, *literal) {
	t.Helper()
	l := &literal{}
	readLiteral(t, &l.want, name, "request.json")
	readLiteral(t, &l.answer, name, "response.json")
	server := httptest.NewServer(l)
	t.Cleanup(server.Close)
	o := Options{BaseURL: server.URL, Company: acme, Rate: maxRate, APIKey: secret.New(l.want.Headers["x-api-key"]),
		AccessToken: secret.New(strings.TrimPrefix(l.want.Headers["authorization"], "Bearer "))}
	query, err := url.ParseQuery(l.want.Query)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := strconv.Atoi(query.Get("page[size]")); err == nil {
		o.Assumed.PageSize = n
	}
	c, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c, l
}

// asked compares the request of the client with that of the case. The client adds the size of a
// page, and asks for no include that it does not read.
func (l *literal) asked(t *testing.T) {
	t.Helper()
	if l.hits != 1 {
		t.Fatalf("got %d requests, want 1", l.hits)
	}
	if got, want := l.got.Method+" "+l.got.URL.Path, l.want.Method+" "+l.want.Path; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	got, want := l.got.URL.Query(), url.Values{}
	if parsed, err := url.ParseQuery(l.want.Query); err == nil {
		want = parsed
	}
	if !want.Has("page[size]") {
		got.Del("page[size]")
	}
	if want.Get("include") == "treasuryAccount" {
		want.Del("include")
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got the query %v, want %v", got, want)
	}
	for name, want := range l.want.Headers {
		if got := l.got.Header.Get(name); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
	switch {
	case l.want.Form != nil:
		got, err := url.ParseQuery(string(l.body))
		want := url.Values{}
		for name, value := range l.want.Form {
			want.Set(name, value)
		}
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("got the form %s, want %s", l.body, want.Encode())
		}
	case l.want.Body != nil:
		var got, want any
		if err := json.Unmarshal(l.body, &got); err != nil {
			t.Fatalf("got the body %q: %v", l.body, err)
		}
		if err := json.Unmarshal(l.want.Body, &want); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("got the body %s, want %s", l.body, l.want.Body)
		}
	case len(l.body) > 0:
		t.Errorf("got the body %q, want none", l.body)
	}
}

// one returns the only record of a list.
func one[T any](t *testing.T, list func(yield func(T, error) bool)) (only T) {
	t.Helper()
	n := 0
	for record, err := range list {
		if err != nil {
			t.Fatal(err)
		}
		only, n = record, n+1
	}
	if n != 1 {
		t.Errorf("got %d records, want 1", n)
	}
	return only
}

func TestTheClientAsksAndReadsAsTheDocumentSays(t *testing.T) {
	ctx := t.Context()
	const ama, order = "01J00000000000000000000AMA", "01J8000000000000000000RD06"
	for name, do := range map[string]func(*testing.T, *Client) (got, want []any){
		"companies/02_by_id": func(t *testing.T, c *Client) (got, want []any) {
			company, err := c.Company(ctx)
			return []any{company.ID, company.Name, company.Handle, company.Currency.Code, err}, []any{acme, "Acme", "acme", "EUR", nil}
		},
		"admin/03_product_statistics": func(t *testing.T, c *Client) (got, want []any) {
			s, err := c.Statistics(ctx, "01J0000000000000000000B00T")
			if err != nil || len(s.TopCustomers) != 1 {
				t.Fatalf("got %+v, %v; want one customer", s, err)
			}
			top := s.TopCustomers[0]
			return []any{s.TotalOrders, s.TotalQuantity, s.TotalSales.String(), top.FirstName, top.OrdersCount, top.QuantityOrdered,
				top.TotalSpent.String()}, []any{int64(1), int64(2), "39.98", "Efua", int64(1), int64(2), "39.98"}
		},
		"admin/08_payments": func(t *testing.T, c *Client) (got, want []any) {
			p := one(t, c.Payments(ctx, PaymentQuery{Order: order, Type: "inbound", Sort: "-created_at"}))
			return []any{p.Reference, p.Amount.String(), p.CurrencyCode, p.Method, p.Status, p.Type, p.OrderID(), p.PaidAt.Unix()},
				[]any{"PAY_1", "4500", "XAF", "cash", "paid", "inbound", order, int64(1772359200)}
		},
		"admin/10_customers": func(t *testing.T, c *Client) (got, want []any) {
			customer, err := c.Customer(ctx, ama)
			return []any{customer.ID, customer.FirstName, customer.Email, customer.Phone, customer.PreferredLanguage,
					customer.Tags, customer.Metadata, customer.CreatedAt.Unix(), customer.DeletedAt.IsZero(), err},
				[]any{ama, "Ama", "ama@customers.example", "+237650000001", "fr", Tags{"vip"}, Metadata{"consent": "yes"},
					int64(1767859200), true, nil}
		},
		"admin/11_orders": func(t *testing.T, c *Client) (got, want []any) {
			o := one(t, c.Orders(ctx, OrderQuery{Sort: "-created_at", Customer: true}))
			return []any{o.ID, o.Amount.String(), o.CustomerID, o.Customer.FirstName, o.Customer.Phone},
				[]any{order, "4500", "01J8000000000000000000CS06", "Abla", "+237650000005"}
		},
		"discounts/01_by_code": func(t *testing.T, c *Client) (got, want []any) {
			d, err := c.Discount(ctx, "TEN")
			return []any{d.Code, d.Type, d.Value.String(), d.Level, d.Automatic, d.EndsAt.IsZero(), err},
				[]any{"TEN", "percentage", "10", "order", false, true, nil}
		},
		"discounts/02_automatic": func(t *testing.T, c *Client) (got, want []any) {
			all, err := c.AutomaticDiscounts(ctx, Customer{ID: ama})
			if err != nil || len(all) != 1 {
				t.Fatalf("got %v, %v; want one discount", all, err)
			}
			return []any{all[0].Code, all[0].Type, all[0].Value.String(), all[0].Automatic}, []any{"WELCOME", "fixed", "2", true}
		},
		"orders/06_payment_link": func(t *testing.T, c *Client) (got, want []any) {
			link, err := c.PaymentLink(ctx, LinkRequest{Order: "01J8000000000000000000RD01",
				SuccessURL: "https://acme.example/thanks", CancelURL: "https://acme.example/basket"})
			return []any{link, err}, []any{"http://shop.example/pay/second-link-of-order-1", nil}
		},
		"oauth/01_token": func(t *testing.T, c *Client) (got, want []any) {
			token, err := c.Exchange(ctx, app, secret.New("install-code-1"))
			return []any{token.Reveal(), err}, []any{"access-token-1", nil}
		},
	} {
		t.Run(name, func(t *testing.T) {
			c, l := literalClient(t, name)
			got, want := do(t, c)
			l.asked(t)
			if !reflect.DeepEqual(got, want) {
				t.Errorf("got %v\nwant %v", got, want)
			}
		})
	}
}

// codesOfLiterals is the code of each error of testdata/commerce. One without a line fails.
var codesOfLiterals = map[string]Code{
	"errors/01_key_missing": CodeKeyMissing, "errors/02_key_wrong": CodeKeyInvalid, "errors/03_key_expired": CodeKeyInvalid,
	"errors/04_key_revoked": CodeKeyInvalid, "errors/05_wrong_key_of_a_storefront_route": CodeKeyInvalid,
	"errors/06_sandbox_key": CodeSandboxKey, "errors/07_company_missing": CodeCompanyMissing,
	"errors/08_wrong_password": CodeKeyInvalid, "errors/09_discount_code": CodeNotFound,
	"errors/10_discount_that_has_ended": CodeNotFound, "errors/14_payment_link": CodeNoLink,
	"errors/15_record_of_an_admin_route": CodeNotFound, "errors/16_nothing_to_pay": CodeNothingDue,
	"errors/40_key_of_another_company": CodeDenied, "errors/41_unknown_shop": CodeNotFound,
	"errors/42_record_of_another_company": CodeNotFound, "errors/43_route_that_is_not_shown": CodeNotFound,
	"errors/46_not_logged_in": CodeKeyMissing, "errors/50_rate_limited": CodeRateLimited,
	"oauth/04_code_used_twice": CodeInvalid, "oauth/05_wrong_secret": CodeKeyInvalid,
}

func TestEveryErrorOfTheDocumentHasItsCode(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join(literals, "*", "*", "response.json"))
	if err != nil || len(paths) < 80 {
		t.Fatalf("got %d literals, %v; want 80 or more", len(paths), err)
	}
	seen := 0
	for _, path := range paths {
		group, one := filepath.Split(filepath.Dir(path))
		name := filepath.Base(group) + "/" + one
		var a literalAnswer
		readLiteral(t, &a, name, "response.json")
		if a.Status < 400 {
			continue
		}
		seen++
		want, known := codesOfLiterals[name]
		if !known && a.Status != 400 && a.Status != 422 {
			t.Errorf("%s: got status %d and no code for it here, want one", name, a.Status)
		}
		if !known {
			want = CodeInvalid
		}
		header := http.Header{}
		for name, value := range a.Headers {
			header.Set(name, value)
		}
		e := refused(a.Status, header, a.Body)
		if e.Code != want || e.Code.Sentence() == "" || e.Code.Remedy() == "" || (e.Wait > 0) != (a.Headers["retry-after"] != "") {
			t.Errorf("%s: got %v with a wait of %v, want %s", name, e, e.Wait, want)
		}
		for _, word := range []string{"/srv", "ModelNotFound", "given data"} {
			if strings.Contains(e.Error(), word) {
				t.Errorf("%s: got %v, want no word of the answer", name, e)
			}
		}
	}
	if seen < len(codesOfLiterals) {
		t.Errorf("got %d errors, want at least the %d that are named here", seen, len(codesOfLiterals))
	}
}
