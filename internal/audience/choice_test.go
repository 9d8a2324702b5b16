package audience

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/file"
	"campaignd/campaign/launch"
	"campaignd/internal/commerce"
	"campaignd/internal/secret"

	"github.com/google/go-cmp/cmp"
)

// platform answers each route with the text of its records, and keeps the queries.
type platform struct {
	*testing.T
	routes  map[string]string // path: records of a list, or a whole answer that begins with {"
	queries []string          // path and parameters, without those of pages
}

func (p *platform) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	q.Del("page[size]")
	p.queries = append(p.queries, strings.TrimSuffix(strings.TrimPrefix(r.URL.Path, "/2023-11")+"?"+q.Encode(), "?"))
	text, known := p.routes[strings.TrimPrefix(r.URL.Path, "/2023-11")]
	switch {
	case !known:
		http.NotFound(w, r)
	case strings.HasPrefix(text, "{\"whole\""):
		fmt.Fprint(w, text)
	default:
		fmt.Fprintf(w, `{"data":[%s],"links":{"next":null}}`, text)
	}
}

// lists are Lists of the platform, in a folder of the test.
func (p *platform) lists(folder string, l Ledger) *Lists {
	server := httptest.NewServer(p)
	p.Cleanup(server.Close)
	return NewLists(folder, func() (*commerce.Client, error) {
		return commerce.New(commerce.Options{BaseURL: server.URL, Company: "acme", APIKey: secret.New("key"), Rate: 1000})
	}, l, slog.New(slog.DiscardHandler))
}

// made makes the list of an audience, and returns its rows below the header.
func (p *platform) made(audience string) (*Made, [][]string) {
	p.Helper()
	d, err := file.Parse("c.yaml",
		[]byte("name: a\nconnections: [conn_1]\ntemplate: {name: hello_world, language: en}\naudience: "+audience+"\n"))
	if err != nil {
		p.Fatal(err)
	}
	made, err := p.lists(p.TempDir(), &linkLedger{}).Make(p.Context(), d, nil)
	if err != nil {
		p.Fatalf("%s: got %v, want a list", audience, err)
	}
	f, err := os.Open(made.Path)
	if err != nil {
		p.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil || len(rows) == 0 {
		p.Fatalf("%s: got %d rows and %v, want a list", audience, len(rows), err)
	}
	return made, rows[1:]
}

// wants compares the first names of a list.
func (p *platform) wants(audience, want string) *Made {
	p.Helper()
	made, rows := p.made(audience)
	names := map[string]bool{}
	for _, r := range rows {
		names[r[1]] = true
	}
	expected := map[string]bool{}
	for _, name := range strings.Fields(want) {
		expected[name] = true
	}
	if diff := cmp.Diff(expected, names); diff != "" || len(rows) != len(expected) {
		p.Errorf("%s: %d rows, names -want +got:\n%s", audience, len(rows), diff)
	}
	return made
}

func ago(d time.Duration) string { return time.Now().Add(-d).UTC().Format(time.RFC3339) }

// orderOf is an order of a customer of its own, which name names.
func orderOf(name, members string) string {
	return fmt.Sprintf(`{"id":"o-%[1]s","customer":{"id":"c-%[1]s","first_name":%[1]q,"phone":"+237650000001"}%[2]s}`, name, members)
}

// Each order here lacks one thing that makes it an unpaid one.
func TestOnlyOrdersThatAreDueAreListed(t *testing.T) {
	const changed = `,"updated_at":"2026-11-02T00:00:00Z"` // all at once, so all are read again at the end
	recent, old := changed+`,"created_at":"`+ago(47*time.Hour)+`"`, changed+`,"created_at":"`+ago(49*time.Hour)+`"`
	orders := []string{
		orderOf("Due", `,"amount_due":9,"status":"pending"`+recent),
		orderOf("Part", `,"amount_due":0.01,"amount":20,"billing":{"status":"paid"}`+recent),
		orderOf("Old", `,"amount_due":9`+old),
		orderOf("Paid", `,"amount_due":0`+recent),
		orderOf("Silent", recent),
		orderOf("Credit", `,"amount_due":-1`+recent),
		orderOf("Cancelled", `,"amount_due":9,"status":"cancelled"`+recent),
		orderOf("Refunded", `,"amount_due":9,"status":"refunded"`+recent),
		orderOf("Deleted", `,"amount_due":9,"deleted_at":"2026-01-02T03:04:05Z"`+recent),
		`{"id":"o-none","amount_due":9` + recent + `}`,
		`{"id":"o-blank","amount_due":9,"customer":{"id":"","first_name":"Blank"}` + recent + `}`,
		`{"id":"o-gone","amount_due":9,"customer":{"id":"c-gone","first_name":"Gone","deleted_at":"2026-01-02T03:04:05Z"}` + recent + `}`,
	}
	p := &platform{T: t, routes: map[string]string{"/admin/orders": strings.Join(orders, ",")}}

	if made := p.wants("{from: unpaid_orders, since: 48h}", "Due Part"); made.NoCustomer != 2 {
		t.Errorf("got %d orders without a customer, want 2, however often they were read", made.NoCustomer)
	}
	for _, q := range p.queries {
		if !strings.Contains(q, "include=customer") {
			t.Errorf("got the request %s, want the customers of the orders", q)
		}
	}
	p.wants("{from: unpaid_orders}", "Due Part Old")
}

// Each payment here lacks one thing that makes it money that was received.
func TestOnlyMoneyThatWasReceivedIsAPayment(t *testing.T) {
	recent, old := `"`+ago(47*time.Hour)+`"`, `"`+ago(49*time.Hour)+`"`
	var orders, payments []string
	add := func(name, payment string) {
		orders = append(orders, orderOf(name, `,"amount_due":0`))
		payments = append(payments, fmt.Sprintf(`{"id":"p-%[1]s","metadata":{"order_id":"o-%[1]s"},%[2]s}`, name, payment))
	}
	add("Paid", `"status":"paid","type":"inbound","paid_at":`+recent)
	add("Untyped", `"status":"paid","paid_at":`+recent)
	add("Created", `"status":"paid","type":"inbound","paid_at":null,"created_at":`+recent)
	add("LateFee", `"status":"paid","type":"inbound","created_at":`+old+`,"paid_at":`+recent)
	add("Old", `"status":"paid","type":"inbound","created_at":`+recent+`,"paid_at":`+old)
	add("OldCreated", `"status":"paid","type":"inbound","created_at":`+old)
	add("Pending", `"status":"pending","type":"inbound","paid_at":`+recent)
	add("Failed", `"status":"failed","type":"inbound","paid_at":`+recent)
	add("Silent", `"type":"inbound","paid_at":`+recent)
	add("Refund", `"status":"paid","type":"outbound","paid_at":`+recent)
	orders = append(orders, orderOf("Unpaid", ""))
	payments = append(payments, `{"id":"p-none","status":"paid","type":"inbound","metadata":[],"paid_at":`+recent+`}`)
	p := &platform{T: t, routes: map[string]string{"/admin/orders": strings.Join(orders, ","), "/admin/payments": strings.Join(payments, ",")}}
	p.wants("{from: payments, since: 48h}", "Paid Untyped Created LateFee")
	if want := "/admin/payments?filter%5Btype%5D=inbound"; p.queries[0] != want {
		t.Errorf("got the request %s, want %s", p.queries[0], want)
	}
	p.wants("{from: payments}", "Paid Untyped Created LateFee Old OldCreated")
}

func TestADeletedCustomerIsInNoList(t *testing.T) {
	const people = `{"id":"a","first_name":"Ama","phone":"+237650000001"},` +
		`{"id":"b","first_name":"Yaw","phone":"+237650000002","deleted_at":"2026-01-02T03:04:05Z"},` +
		`{"id":"c","first_name":"Esi","phone":"+237650000003","deleted_at":null}`
	p := &platform{T: t, routes: map[string]string{"/admin/customers": people,
		"/admin/products/p1": `{"whole":1,"topCustomers":[` + people + `]}`}}
	p.wants("{from: customers}", "Ama Esi")
	p.wants("{from: top_customers, product: p1}", "Ama Esi")
}

// The oldest order of a customer counts, wherever the platform lists it, and each cell of the row
// is that of its own column.
func TestARowHasTheOldestOrderOfItsCustomer(t *testing.T) {
	const customer = `{"id":"c-1","first_name":"Ama","last_name":"Owusu","company_name":"Kente","email":"ama@customers.example",
		"phone":"+237650000001","preferred_language":"fr","type":"business","metadata":{"consent":"yes","other":"no"}}`
	orders := []string{
		`{"id":"o-2","reference":"R-2","amount_due":20,"currency":"EUR","created_at":"2026-02-01T00:00:00Z","customer":` + customer + `}`,
		`{"id":"o-1","reference":"R-1","amount_due":12.5,"currency":"XAF","created_at":"2026-01-01T00:00:00Z","customer":` + customer + `}`,
		`{"id":"o-3","reference":"R-3","amount_due":30,"currency":"USD","created_at":"2026-03-01T00:00:00Z","customer":` + customer + `}`,
	}
	want := [][]string{{"c-1", "Ama", "Owusu", "Kente", "ama@customers.example", "+237650000001", "fr", "business", "yes",
		"o-1", "R-1", "12.5", "XAF", ""}}
	for range orders {
		orders = append(orders[1:], orders[0])
		p := &platform{T: t, routes: map[string]string{"/admin/orders": strings.Join(orders, ",")}}
		_, rows := p.made("{from: unpaid_orders, consent: {field: metadata.consent, values: ['yes']}}")
		if diff := cmp.Diff(want, rows); diff != "" {
			t.Errorf("rows -want +got:\n%s", diff)
		}
	}
}

// What a launch is told of a list: the discount with its end, the orders that expire of people who
// are sent to, and a record that cannot be read.
func TestALaunchIsToldWhatEnds(t *testing.T) {
	at := func(d time.Duration) string { return `,"expires_at":"` + ago(-d) + `"` }
	person := func(n int, phone, consent, members string) string {
		return fmt.Sprintf(`{"id":"o%d","amount_due":9%s,"customer":{"id":"c%[1]d","phone":%[3]q,"metadata":{"consent":%[4]q}}}`, n, members,
			phone, consent)
	}
	p := &platform{T: t, routes: map[string]string{
		"/admin/orders": strings.Join([]string{person(1, "+237650000001", "yes", at(time.Hour)), person(2, "+237650000002", "yes",
			at(3*time.Hour)),
			person(3, "+237650000003", "no", at(time.Hour)), person(4, "", "yes", at(time.Hour)), person(5, "+237650000005", "yes", ""),
			`{"id":"o6","amount_due":true}`, `{"id":"o7","amount_due":"x"}`}, ","),
		"/admin/payments": `{"id":"p1","status":"paid","metadata":{"order_id":"o1"}}`,
		"/discounts":      `{"whole":1,"id":"d1","code":"TEN","ends_at":"2999-01-02T03:04:05+01:00"}`,
	}}
	made, _ := p.made("{from: unpaid_orders, discount: TEN, consent: {field: metadata.consent, values: ['yes']}}")
	got := made.Offer()
	want := launch.Offer{Discount: "TEN", DiscountEnds: time.Date(2999, 1, 2, 2, 4, 5, 0, time.UTC), Unread: 2, UnreadID: "o6",
		Assumed: []string{"commerce.assumed.company_header", "commerce.assumed.orders_path", "commerce.assumed.page_size_parameter"}}
	if got.Discount != want.Discount || !got.DiscountEnds.Equal(want.DiscountEnds) || got.Unread != 2 || got.UnreadID != "o6" ||
		!cmp.Equal(got.Assumed, want.Assumed) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	for within, orders := range map[time.Duration]int64{30 * time.Minute: 0, 2 * time.Hour: 1, 4 * time.Hour: 2} {
		if n := got.ExpireBefore(time.Now().Add(within)); n != orders {
			t.Errorf("%d orders expire within %v, want %d: of people who agreed and have a phone", n, within, orders)
		}
	}
	if p.queries[0] != "/discounts?code=TEN" {
		t.Errorf("got the request %s, want that of the code", p.queries[0])
	}
	made, _ = p.made("{from: payments}")
	if n := made.Offer().ExpireBefore(time.Now().AddDate(9, 0, 0)); n != 0 || made.Offer().Discount != "" {
		t.Errorf("payments: %d orders expire of %+v, want none: they are paid", n, made.Offer())
	}
}

func TestADiscountCountsFromItsBeginToItsEnd(t *testing.T) {
	now := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	for members, want := range map[string]string{
		``:                                    "",
		`,"ends_at":"2026-03-02T12:00:01Z"`:   "",
		`,"ends_at":"2026-03-02T12:00:00Z"`:   `"TEN" ended at 2026-03-02T12:00:00Z`,
		`,"starts_at":"2026-03-02T12:00:00Z"`: "",
		`,"starts_at":"2026-03-02T12:00:01Z"`: `"TEN" begins at 2026-03-02T12:00:01Z only`,
		`,"starts_at":"2026-03-02T12:00:01Z","ends_at":"2026-03-02T13:00:00Z"`: `"TEN" begins at`,
	} {
		p := &platform{T: t, routes: map[string]string{"/discounts": `{"whole":1,"code":"TEN"` + members + `}`}}
		client, err := p.lists("", nil).client()
		if err != nil {
			t.Fatal(err)
		}
		_, err = checkDiscount(t.Context(), client, "TEN", now)
		client.Close()
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", members, err, want)
		}
	}
}

// A link belongs to the order, its amount and the pages that follow the payment.
func TestAnotherAmountHasAnotherPaymentLink(t *testing.T) {
	made := 0
	var bodies []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		bodies = append(bodies, r.URL.Path+" "+string(body))
		made++
		fmt.Fprintf(w, `{"url":"https://pay.example/%d"}`, made)
	}))
	defer server.Close()
	client, err := commerce.New(commerce.Options{BaseURL: server.URL, Company: "acme", APIKey: secret.New("key"), Rate: 1000})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	ledger := &linkLedger{links: map[string]string{}}
	pages := file.PaymentLink{SuccessURL: "https://shop.example/thanks", CancelURL: "https://shop.example/sorry"}
	for _, c := range []struct {
		order, due, currency string
		change               func(*file.PaymentLink)
		want                 string
	}{
		{"o1", "10", "EUR", nil, "https://pay.example/1"},
		{"o1", "10", "EUR", nil, "https://pay.example/1"},
		{"o1", "12", "EUR", nil, "https://pay.example/2"},
		{"o1", "10", "XAF", nil, "https://pay.example/3"},
		{"o2", "10", "EUR", nil, "https://pay.example/4"},
		{"o1", "10", "EUR", func(l *file.PaymentLink) { l.SuccessURL = "https://shop.example/new" }, "https://pay.example/5"},
		{"o1", "10", "EUR", func(l *file.PaymentLink) { l.CancelURL = "https://shop.example/new" }, "https://pay.example/6"},
		{"o1", "10", "EUR", nil, "https://pay.example/1"},
	} {
		links := pages
		if c.change != nil {
			c.change(&links)
		}
		got, err := stored(ledger, &links)(t.Context(), client, &person{Order: c.order, Due: c.due, Currency: c.currency})
		if got != c.want || err != nil {
			t.Errorf("%+v: got %q, %v; want %q", c, got, err, c.want)
		}
	}
	const want = `/2023-11/customers/orders/o1/payments {"cancel_url":"https://shop.example/sorry",` +
		`"success_url":"https://shop.example/thanks"}`
	if bodies[0] != want {
		t.Errorf("got the request %s, want %s", bodies[0], want)
	}
}

// asked is a ledger without runs that keeps the filters.
type asked struct {
	linkLedger
	filters []campaign.RunFilter
	err     error
}

func (a *asked) Runs(_ context.Context, f campaign.RunFilter) ([]campaign.Run, error) {
	a.filters = append(a.filters, f)
	return nil, a.err
}

func (*linkLedger) Runs(context.Context, campaign.RunFilter) ([]campaign.Run, error) { return nil, nil }

// Only folders are lists: a file in the folder, and a list while the runs cannot be read, stay.
func TestASweepDeletesListsOnly(t *testing.T) {
	p, folder, ledger := &platform{T: t}, t.TempDir(), &asked{err: errors.New("the ledger is away")}
	list := filepath.Join(folder, "audience-8")
	foreign := filepath.Join(folder, "notes.txt")
	if err := errors.Join(os.Mkdir(list, 0o700), os.WriteFile(foreign, []byte("x"), 0o600)); err != nil {
		t.Fatal(err)
	}
	there := func(path string) bool { _, err := os.Stat(path); return err == nil }
	if _, err := p.lists(folder, ledger).Sweep(t.Context()); !errors.Is(err, ledger.err) || !there(list) || !there(foreign) {
		t.Errorf("without the runs: got %v, the list is there: %v; want the fault and the list", err, there(list))
	}
	ledger.err = nil
	if kept, err := p.lists(folder, ledger).Sweep(t.Context()); kept != 0 || err != nil || there(list) || !there(foreign) {
		t.Errorf("got %d kept and %v, the list is there: %v, the file: %v; want the file alone", kept, err, there(list), there(foreign))
	}
	for _, f := range ledger.filters {
		if f != (campaign.RunFilter{Unfinished: true}) {
			t.Errorf("got the runs of %+v, want the unfinished ones", f)
		}
	}
}

func TestOneLaunchAtATimeMakesAList(t *testing.T) {
	l := (&platform{T: t}).lists(t.TempDir(), &linkLedger{})
	if err := l.take(t.Context(), true); err != nil {
		t.Errorf("the first launch: got %v, want none", err)
	}
	ended, stop := context.WithCancel(t.Context())
	stop()
	if err := l.take(ended, true); !errors.Is(err, campaign.ErrTaken) {
		t.Errorf("a launch that does not wait: got %v, want that another one has its turn", err)
	}
	if err := l.take(ended, false); !errors.Is(err, context.Canceled) {
		t.Errorf("a launch whose caller has left: got %v, want %v", err, context.Canceled)
	}
	<-l.one
	if err := l.take(t.Context(), false); err != nil {
		t.Errorf("the next launch: got %v, want none", err)
	}
}
