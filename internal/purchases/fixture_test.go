package purchases_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/internal/commerce"
	"campaignd/internal/ledger"
	"campaignd/internal/ledger/ledgertest"
	"campaignd/internal/ledger/sqlite"
	"campaignd/internal/ledger/sqlite/sqlitetest"
	"campaignd/internal/purchases"
	"campaignd/internal/sandbox/shop"
	"campaignd/internal/sandbox/shop/scenario"
	"campaignd/internal/secret"
	"campaignd/recipients"
	"campaignd/reporting"
)

// world is a shop of the sandbox and a ledger beside it.
type world struct {
	*testing.T
	shop   *httptest.Server
	ledger *sqlite.Ledger
	keeper *purchases.Keeper
	path   string // of the ledger
	lists  int
}

func newWorld(t *testing.T) *world {
	t.Helper()
	demo := scenario.Demo()
	demo.Companies[0].Address.Country = "CM"
	platform, err := shop.New(demo, shop.Options{Seed: 1})
	if err != nil {
		t.Fatalf("the shop: %v; want no error", err)
	}
	w := &world{T: t, shop: httptest.NewServer(platform)}
	t.Cleanup(w.shop.Close)
	path := filepath.Join(ledgertest.Folder(t), "c.db")
	sqlitetest.New(t, path)
	w.open(path)
	return w
}

// open opens the ledger, and makes a new keeper.
func (w *world) open(path string) {
	w.Helper()
	l, err := sqlite.Open(w.Context(), path, ledger.Options{Sender: true})
	if err != nil {
		w.Fatalf("the ledger: %v; want no error", err)
	}
	w.ledger, w.path = l, path
	w.Cleanup(func() { _ = l.Close() })
	w.keeper = purchases.New(purchases.Options{Ledger: l, Client: w.client, Poll: time.Nanosecond})
}

func (w *world) client() (*commerce.Client, error) {
	return commerce.New(commerce.Options{BaseURL: w.shop.URL, Company: scenario.DemoCompany, APIKey: secret.New(scenario.DemoKey), Rate: 1000})
}

// ask does a request to the shop and decodes its answer.
func (w *world) ask(method, path string, body, answer any) {
	w.Helper()
	text, _ := json.Marshal(body)
	r, err := http.NewRequestWithContext(w.Context(), method, w.shop.URL+path, bytes.NewReader(text))
	if err != nil {
		w.Fatal(err)
	}
	r.Header.Set("X-Company", scenario.DemoCompany)
	r.Header.Set("X-API-Key", scenario.DemoKey)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		w.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	got, _ := io.ReadAll(resp.Body)
	if resp.StatusCode != http.StatusOK {
		w.Fatalf("%s %s: %d %s; want 200", method, path, resp.StatusCode, got)
	}
	if answer != nil && json.Unmarshal(got, answer) != nil {
		w.Fatalf("%s %s: %s; want JSON", method, path, got)
	}
}

// buy makes an order of a scarf, at this price, in this currency.
func (w *world) buy(phone, currency string, price float64) (id string) {
	w.Helper()
	var o struct {
		ID string `json:"id"`
	}
	customer := map[string]any{"first_name": "Abena", "last_name": "Owusu",
		"email": fmt.Sprintf("c%s@customers.example", phone)}
	if phone != "" {
		customer["phone"] = phone
	}
	w.ask(http.MethodPost, "/2023-11/admin/orders", map[string]any{"currency": currency, "customer": customer,
		"billing":  map[string]any{"method": "cash"},
		"products": []any{map[string]any{"title": "Scarf", "price": price, "quantity": 1}}, "shipping": map[string]any{"mode": "other"}}, &o)
	return o.ID
}

func (w *world) pay(order string) {
	w.Helper()
	w.ask(http.MethodPost, "/sandbox/commerce/pay", map[string]any{"order": order}, nil)
}

func (w *world) end(order, status string) {
	w.Helper()
	w.ask(http.MethodPost, "/sandbox/commerce/orders/"+order+"/status", map[string]any{"status": status}, nil)
}

// bought is buy and pay.
func (w *world) bought(phone, currency string, price float64) string {
	w.Helper()
	order := w.buy(phone, currency, price)
	w.pay(order)
	return order
}

// run sends a campaign to these numbers: each message is accepted at an instant. The last heldOut
// of them are held out.
func (w *world) run(name string, accepted time.Time, heldOut int, phones ...string) campaign.Run {
	w.Helper()
	w.lists++
	ctx, l := w.Context(), w.ledger
	ok := func(err error) {
		w.Helper()
		if err != nil {
			w.Fatalf("sending: %v; want no error", err)
		}
	}
	r, err := l.CreateRun(ctx, campaign.Run{Campaign: name, ListHash: fmt.Sprint(w.lists), ListName: "list.csv", Template: "sale",
		Language:   "en",
		Definition: []byte("name: " + name + "\nconnections: [c]\ntemplate: {name: sale, language: en}\nconversions: {within: 2h}\n")})
	ok(err)
	var told, held []campaign.Delivery
	for i, phone := range phones {
		d := campaign.Delivery{Run: r.No, Seq: int64(i), Row: int64(i) + 1, To: phone, Key: recipients.Key(phone)}
		if i >= len(phones)-heldOut {
			d.Skip, d.Seq = campaign.HeldOut, int64(i-len(phones)+heldOut)+campaign.SegmentSize
			held = append(held, d)
		} else {
			told = append(told, d)
		}
	}
	n := int64(len(told))
	ok(l.AppendRows(ctx, r.No, 0, told, []campaign.Segment{{Run: r.No, Hi: n}}))
	if heldOut > 0 {
		ok(l.AppendRows(ctx, r.No, n, held, []campaign.Segment{{Run: r.No, Index: 1, Lo: campaign.SegmentSize,
			Hi: campaign.SegmentSize + int64(heldOut), Closed: true}}))
	}
	ok(l.FinishImport(ctx, r.No, int64(len(phones)), campaign.Ready))
	_, err = l.SetState(ctx, r.No, []campaign.State{campaign.Ready}, campaign.Running, "", "")
	ok(err)
	leases, err := l.Claim(ctx, campaign.Claim{Owner: "a", Connection: "c", Runs: []campaign.RunNo{r.No}, Max: 1, Lease: time.Hour})
	ok(err)
	_, err = l.Intend(ctx, []campaign.Intent{{Lease: leases[0], Connection: "c", To: n}})
	ok(err)
	var results []campaign.Result
	for seq := range n {
		results = append(results, campaign.Result{Run: r.No, Seq: seq, Connection: "c", Attempt: 1, Kind: campaign.ResultAccepted, At: accepted,
			IntentAt: accepted, Epoch: leases[0].Epoch, MessageID: fmt.Sprintf("wamid.%d.%d", r.No, seq)})
	}
	ok(l.Record(ctx, results))
	r, err = l.Run(ctx, r.No)
	ok(err)
	return r
}

// hint stores that events named these orders.
func (w *world) hint(orders ...string) {
	w.Helper()
	for _, order := range orders {
		if err := w.ledger.AddHints(w.Context(), []campaign.OrderHint{{Order: order, At: time.Now(), Received: time.Now()}}); err != nil {
			w.Fatalf("a hint: %v; want no error", err)
		}
	}
}

// keep takes and matches until nothing is left.
func (w *world) keep(ctx context.Context) {
	w.Helper()
	for more := true; more; {
		var err error
		if more, err = w.keeper.Take(ctx); err != nil {
			w.Fatalf("taking orders: %v; want no error", err)
		}
	}
	if _, err := w.keeper.Match(ctx); err != nil {
		w.Fatalf("matching orders: %v; want no error", err)
	}
}

// report is the conversions of a run as scripts read them, and its lift.
func (w *world) report(r campaign.Run) (conversions, lift string) {
	w.Helper()
	report, err := reporting.Build(w.Context(), w.ledger, r)
	if err != nil {
		w.Fatalf("the report: %v; want no error", err)
	}
	audit, err := reporting.Audit(w.Context(), w.ledger, r)
	if err != nil || len(audit.Problems) > 0 {
		w.Errorf("the audit: %+v, %v; want no problem", audit, err)
	}
	c, _ := json.Marshal(report.Conversions)
	l, _ := json.Marshal(report.Lift)
	return string(c), string(l)
}

// brought fails unless the run has these conversions.
func (w *world) brought(r campaign.Run, want string) {
	w.Helper()
	if got, _ := w.report(r); got != want {
		w.Errorf("%s brought %s; want %s", r.ID(), got, want)
	}
}
