package audience_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"campaignd/campaign/file"
	"campaignd/internal/audience"
	"campaignd/internal/commerce"
	"campaignd/internal/sandbox/shop"
	"campaignd/internal/sandbox/shop/scenario"
	"campaignd/internal/secret"
	"campaignd/recipients"
)

// world is a shop of the sandbox.
type world struct {
	*testing.T
	url string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	platform, err := shop.New(scenario.Demo(), shop.Options{Seed: 1})
	if err != nil {
		t.Fatalf("the shop: %v; want no error", err)
	}
	server := httptest.NewServer(platform)
	t.Cleanup(server.Close)
	return &world{t, server.URL}
}

// post makes a request of the shop and returns the id in its answer.
func (w *world) post(path string, body any) string {
	w.Helper()
	text, _ := json.Marshal(body)
	r, err := http.NewRequestWithContext(w.Context(), http.MethodPost, w.url+path, bytes.NewReader(text))
	if err != nil {
		w.Fatal(err)
	}
	r.Header.Set("X-Company", scenario.DemoCompany)
	r.Header.Set("X-API-Key", scenario.DemoKey)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		w.Fatal(err)
	}
	defer resp.Body.Close()
	got, _ := io.ReadAll(resp.Body)
	var answer struct{ ID string }
	if resp.StatusCode != http.StatusOK || json.Unmarshal(got, &answer) != nil {
		w.Fatalf("POST %s: %d %s; want 200", path, resp.StatusCode, got)
	}
	return answer.ID
}

// scarf is a product of the shop.
const scarf = "01HDEM00000000000000SCARF1"

// buy makes an order of a customer for a scarf.
func (w *world) buy(name, phone string, price float64) string {
	w.Helper()
	customer := map[string]any{"first_name": name, "last_name": "Owusu", "email": name + "@customers.example"}
	if phone != "" {
		customer["phone"] = phone
	}
	return w.post("/2023-11/admin/orders", map[string]any{"currency": "EUR", "customer": customer, "billing": map[string]any{"method": "cash"},
		"products": []any{map[string]any{"product_id": scarf, "price": price, "quantity": 1}}, "shipping": map[string]any{"mode": "other"}})
}

// parsed is a campaign with an audience.
func (w *world) parsed(yaml string) *file.Definition {
	w.Helper()
	d, err := file.Parse("c.yaml", []byte(
		"name: a\nconnections: [conn_1]\ntemplate: {name: hello_world, language: en}\naudience: "+yaml+"\n"))
	if err != nil {
		w.Fatal(err)
	}
	return d
}

// client is a client of the shop.
func (w *world) client() *commerce.Client {
	w.Helper()
	client, err := commerce.New(commerce.Options{
		BaseURL: w.url, Company: scenario.DemoCompany, APIKey: secret.New(scenario.DemoKey), Rate: 1000})
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(client.Close)
	return client
}

// list makes the list of an audience, and returns it as first name, order and amount due.
func (w *world) list(yaml string) ([]string, audience.Counts, error) {
	w.Helper()
	dir := w.TempDir()
	path := filepath.Join(dir, "list.csv")
	counts, err := audience.Write(w.Context(), w.client(), w.parsed(yaml), path, nil)
	files, _ := filepath.Glob(filepath.Join(dir, "*"))
	hidden, _ := filepath.Glob(filepath.Join(dir, ".*"))
	if n := len(files) + len(hidden); err != nil && n != 0 || err == nil && n != 1 {
		w.Errorf("%s: got the files %q and %q; want the list alone, and nothing after an error", yaml, files, hidden)
	}
	if err != nil {
		return nil, counts, err
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		w.Errorf("%s: got %v, %v; want a file of mode 0600", yaml, info, err)
	}
	f, err := os.Open(path)
	if err != nil {
		w.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		w.Fatal(err)
	}
	var people []string
	for _, r := range rows[1:] {
		people = append(people, strings.TrimSpace(fmt.Sprintf("%s %s %s", r[1], r[9], r[11])))
	}
	slices.Sort(people)
	return people, counts, nil
}

func (w *world) wants(yaml string, want ...string) audience.Counts {
	w.Helper()
	got, counts, err := w.list(yaml)
	slices.Sort(want)
	if err != nil || !slices.Equal(got, want) {
		w.Errorf("%s: got %q, %v; want %q", yaml, got, err, want)
	}
	return counts
}

// Anybody may register with a shop under such a name. The others' rows are read all the same.
func TestAnOddNameStopsNobodyElsesRow(t *testing.T) {
	customers := []map[string]any{
		{"id": "01HDEM000000000000CVST0001", "first_name": "A\x00ma", "phone": "+237650000001"},
		{"id": "01HDEM000000000000CVST0002", "first_name": strings.Repeat("\"", 2<<20), "phone": "+237650000002"},
		{"id": "01HDEM000000000000CVST0003", "first_name": "=\"Kofi\"\r\n,", "phone": "+237650000003"},
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(map[string]any{"data": customers, "meta": map[string]any{"total": len(customers)}})
	}))
	defer server.Close()
	w := &world{t, server.URL}
	path := filepath.Join(t.TempDir(), "list.csv")
	if _, err := audience.Write(t.Context(), w.client(), w.parsed("{from: customers}"), path, nil); err != nil {
		t.Fatalf("writing the list: %v; want no error", err)
	}
	list, err := recipients.Open(path, recipients.Options{})
	if err != nil {
		t.Fatalf("reading the list: %v; want no error", err)
	}
	defer list.Close()
	var got []string
	for range customers {
		row, err := list.Next()
		if err != nil || row.Fault != nil {
			t.Fatalf("after %q: got %+v, %v; want a row without a fault", got, row, err)
		}
		got = append(got, row.To)
	}
	if slices.Sort(got); strings.Join(got, " ") != "+237650000001 +237650000002 +237650000003" {
		t.Errorf("got %q, want the three numbers", got)
	}
}

// readings serves the pages of one list of customers or orders, in turn, as texts of records. The
// total makes the client read the list again.
func readings(t *testing.T, total int, pages ...string) *world {
	t.Helper()
	n := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		page := pages[min(n, len(pages)-1)]
		if r.URL.Query().Get("sort") == "" {
			n++
		}
		fmt.Fprintf(w, `{"data":[%s],"meta":{"total":%d}}`, page, total)
	}))
	t.Cleanup(server.Close)
	return &world{t, server.URL}
}

func record(id, name, rest string) string {
	return fmt.Sprintf(`{"id":%q,"first_name":%q,"phone":"+237650000001"%s}`, id, name, rest)
}

// The platform gives a list that is read twice differently: the newest version of a customer
// counts, and what was withdrawn, deleted or cannot be read any more is left out for good.
func TestTheNewestReadingOfACustomerCounts(t *testing.T) {
	const consents = "{from: customers, consent: {field: metadata.consent, values: ['yes']}}"
	yes, no := `,"metadata":{"consent":"yes"}`, `,"metadata":{"consent":"no"}`
	early, late := `,"updated_at":"2026-11-01T00:00:00Z"`, `,"updated_at":"2026-11-02T00:00:00Z"`
	for _, c := range []struct {
		name, first, again string
		sent               bool
		what               string // the name in the row, if there is one
	}{
		{"a later no", record("a", "Ama", yes), record("a", "Ama", no), false, "Ama"},
		{"a later no of an older version", record("a", "Ama", yes+late), record("a", "Ama", no+early), false, "Ama"},
		{"a later yes of a newer version", record("a", "Ama", no+early), record("a", "Ama", yes+late), true, "Ama"},
		{"a later name", record("a", "Ama", yes), record("a", "Esi", yes), true, "Esi"},
		{"an older name", record("a", "Ama", yes+late), record("a", "Esi", yes+early), true, "Ama"},
		{"deleted", record("a", "Ama", yes), record("a", "Ama", yes+`,"deleted_at":"2026-11-02T00:00:00Z"`), false, ""},
		{"not readable any more", record("a", "Ama", yes), record("a", "Ama", `,"deleted_at":true`), false, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			other := record("b", "Yaw", yes)
			w := readings(t, 3, c.first+","+other, c.again+","+other+","+record("c", "Kofi", yes))
			people, counts, err := w.list(consents)
			want := []string{"Kofi", "Yaw"}
			if c.what != "" {
				want = append(want, c.what)
			}
			slices.Sort(want)
			if sent := counts.Customers - counts.NoConsent; err != nil || !slices.Equal(people, want) || (sent == 3) != c.sent {
				t.Errorf("got %q with %+v, %v; want %q, and Ama sent to: %v", people, counts, err, want, c.sent)
			}
		})
	}
}

// Whoever paid, or withdrew, is not told that an order is due, whichever reading came first.
func TestTheNewestReadingOfAnOrderCounts(t *testing.T) {
	order := func(id, customer string, due int, rest, of string) string {
		return fmt.Sprintf(`{"id":%q,"amount_due":%d,"created_at":"2026-11-01T00:00:00Z","customer":%s%s}`, id, due, record(customer,
			customer, of), rest)
	}
	early, late := `,"updated_at":"2026-11-01T00:00:00Z"`, `,"updated_at":"2026-11-02T00:00:00Z"`
	deleted := `,"deleted_at":"2026-11-02T00:00:00Z"`
	other := order("o9", "Yaw", 5, "", "")
	for _, c := range []struct {
		name, first, again string
		want               []string
	}{
		{"paid", order("o1", "Ama", 9, "", ""), order("o1", "Ama", 0, "", ""), []string{"Yaw o9 5"}},
		{"paid, in an older version", order("o1", "Ama", 9, late, ""), order("o1", "Ama", 0, early, ""), []string{"Yaw o9 5"}},
		{"due again", order("o1", "Ama", 0, early, ""), order("o1", "Ama", 9, late, ""), []string{"Ama o1 9", "Yaw o9 5"}},
		{"another amount", order("o1", "Ama", 9, "", ""), order("o1", "Ama", 4, "", ""), []string{"Ama o1 4", "Yaw o9 5"}},
		{"cancelled", order("o1", "Ama", 9, "", ""), order("o1", "Ama", 9, `,"status":"cancelled"`, ""), []string{"Yaw o9 5"}},
		{"deleted", order("o1", "Ama", 9, "", ""), order("o1", "Ama", 9, deleted, ""), []string{"Yaw o9 5"}},
		{"another customer", order("o1", "Ama", 9, "", ""), `{"id":"o1","amount_due":9,"customer":null}`, []string{"Yaw o9 5"}},
		{"not readable any more", order("o1", "Ama", 9, "", ""), order("o1", "Ama", 9, `,"status":7`, ""), []string{"Yaw o9 5"}},
		{"its customer is deleted", order("o1", "Ama", 9, "", ""), order("o1", "Ama", 9, "", deleted), []string{"Yaw o9 5"}},
		{"a paid one and another of the customer", order("o1", "Ama", 9, "", "") + "," + order("o2", "Ama", 7, "", ""),
			order("o1", "Ama", 0, "", "") + "," + order("o2", "Ama", 7, "", ""), []string{"Ama o2 7", "Yaw o9 5"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := readings(t, 9, c.first+","+other, c.again+","+other)
			w.wants("{from: unpaid_orders}", c.want...)
		})
	}
}

// An order that is paid while the list is read is not in it.
func TestAnOrderPaidMeanwhileIsLeftOut(t *testing.T) {
	const due = `{"id":"o1","amount_due":%d,"updated_at":%q,"customer":{"id":"a","first_name":"Ama","phone":"+237650000001"}}`
	listed := false
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		record := fmt.Sprintf(due, 9, "2026-11-01T00:00:00Z")
		if listed {
			record = fmt.Sprintf(due, 0, "2026-11-01T00:00:09Z")
		}
		listed = listed || r.URL.Query().Get("sort") == ""
		fmt.Fprintf(w, `{"data":[%s,%s],"meta":{"total":2}}`, record, strings.ReplaceAll(fmt.Sprintf(due, 5, "2026-10-01T00:00:00Z"),
			`1","amount`, `2","amount`))
	}))
	defer server.Close()
	(&world{t, server.URL}).wants("{from: unpaid_orders}", "Ama o2 5")
}

// One customer of five that is not in the documented form is left out and named.
func TestAnOddCustomerStopsNoAudience(t *testing.T) {
	for _, yaml := range []string{"{from: customers}", "{from: top_customers, product: " + scarf + "}"} {
		for _, odd := range []string{`"deleted_at":false`, `"created_at":"2026-11-28 09:00:00"`, `"first_name":7`} {
			body := `{"id":"a","first_name":"Ama"},{"id":"b","first_name":"Yaw"},{"id":"odd",` + odd +
				`},{"id":"c","first_name":"Kofi"},{"id":"d","first_name":"Esi"}`
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				fmt.Fprintf(w, `{"data":[%s],"topCustomers":[%s]}`, body, body)
			}))
			counts := (&world{t, server.URL}).wants(yaml, "Ama", "Esi", "Kofi", "Yaw")
			server.Close()
			if counts.Unread != 1 || counts.UnreadID != "odd" {
				t.Errorf("%s, %s: got %+v, want one unread, named odd", yaml, odd, counts)
			}
		}
	}
}

func TestEachCustomerHasOneRow(t *testing.T) {
	w := newWorld(t)
	first, second := w.buy("Esi", "+237650000011", 20), w.buy("Esi", "+237650000011", 30)
	paid, ended, silent := w.buy("Yaw", "+237650000012", 40), w.buy("Kofi", "+237650000013", 50), w.buy("Adjoa", "", 60)
	w.post("/sandbox/commerce/pay", map[string]any{"order": paid})
	w.post("/sandbox/commerce/orders/"+ended+"/status", map[string]any{"status": "cancelled"})

	counts := w.wants("{from: unpaid_orders, since: 1h}", "Esi "+first+" 20", "Adjoa "+silent+" 60")
	if counts.Customers != 2 || counts.NoPhone != 1 {
		t.Errorf("got %+v, want 2 customers, 1 of them without a phone", counts)
	}
	w.wants("{from: payments}", "Yaw "+paid+" 0")
	w.wants("{from: top_customers, product: "+scarf+"}", "Esi", "Yaw", "Adjoa") // whoever has an order that has not ended
	counts = w.wants("{from: customers, consent: {field: metadata.consent, values: ['YES']}, language: {default: en, map: {fr: fr}}}",
		"Ama", "Kwame", "Esi", "Yaw", "Kofi", "Adjoa")
	if counts.NoConsent != 4 || counts.OtherLanguage != 1 || counts.NoPhone != 1 {
		t.Errorf("got %+v, want 4 without consent, 1 of another language and 1 without a phone", counts)
	}

	w.post("/sandbox/commerce/pay", map[string]any{"order": first}) // the next order is now the oldest unpaid one
	w.wants("{from: unpaid_orders}", "Esi "+second+" 30", "Adjoa "+silent+" 60")
}

func TestAFaultOfAnAudienceNamesItsKey(t *testing.T) {
	w := newWorld(t)
	nothing := httptest.NewServer(http.NotFoundHandler())
	defer nothing.Close()
	lists := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) { // also discounts that are over
		fmt.Fprint(rw, map[string]string{"OVER": `{"id":"1","code":"OVER","ends_at":"2026-01-02T00:00:00Z"}`,
			"NEXT": `{"id":"2","code":"NEXT","starts_at":"2999-01-02T00:00:00Z"}`}[r.URL.Query().Get("code")])
	}))
	defer lists.Close()
	for _, c := range []struct{ yaml, url, want string }{
		{"{from: customers, discount: OVER}", lists.URL, `audience.discount: "OVER" ended at 2026-01-02T00:00:00Z; prolong it`},
		{"{from: customers, discount: NEXT}", lists.URL, `"NEXT" begins at 2999-01-02T00:00:00Z only; start the campaign then`},
		{"{from: unpaid_orders}", w.url, "audience: has nobody"},
		{"{from: top_customers, product: 01HDEM00000000000000N0NE01}", w.url, "audience.product: the commerce platform has no product"},
		{"{from: customers, discount: NINE}", w.url, `audience.discount: "NINE" is not valid`},
		{"{from: customers}", nothing.URL, "set commerce.assumed.customers_path"},
		{"{from: unpaid_orders}", nothing.URL, "set commerce.assumed.orders_path"},
	} {
		_, _, err := (&world{t, c.url}).list(c.yaml)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: got %v; want one line with %q", c.yaml, err, c.want)
		}
	}
	w.wants("{from: customers, discount: TEN}", "Ama", "Kwame")
}
