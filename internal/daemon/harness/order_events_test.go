//go:build mutants

package harness

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"flag"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"campaignd/internal/ledger"
	"campaignd/internal/ledger/sqlite"
	"campaignd/internal/sandbox"
	"campaignd/internal/sandbox/shop/scenario"
	"campaignd/internal/sandbox/shop/value"
)

// ordersFor is how long events of orders come. docs/performance.md gives a minute, and then the
// rate of sending is judged.
var ordersFor = flag.Duration("orders-for", 0, "length of TestEventsOfOrdersSlowNoSending; judges the rate")

// ids returns the ids of n generated orders.
func (s *storefront) ids(n int) (all []string) {
	s.t.Helper()
	for page := 1; len(all) < n; page++ {
		var got struct{ Data []struct{ ID string } }
		if !s.request(http.MethodGet, fmt.Sprintf("/2023-11/admin/orders?page[size]=100&page[number]=%d", page), "", &got) || len(got.Data) == 0 {
			s.t.Fatalf("got no page %d of orders, want %d orders", page, n)
		}
		for _, o := range got.Data {
			all = append(all, o.ID)
		}
	}
	return all[:n]
}

// told posts the event that an order was created until it is answered with a 2xx, as the platform
// does, and returns how often it was not.
func (s *storefront) told(client *http.Client, order string) (again int64) {
	body := fmt.Appendf(nil, `{"id":"e%s","type":"order.created","created_at":"2026-03-01T10:00:00Z","company_id":%q,"data":{"id":%[1]q}}`,
		order, sandbox.DemoCompany)
	mac := hmac.New(sha256.New, []byte(ordersSecret))
	mac.Write(body)
	for ; ; again++ {
		r, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, "http://"+s.hooks+"/webhooks/commerce", bytes.NewReader(body))
		if err != nil {
			s.t.Error(err)
			return again
		}
		r.Header.Set("X-Commerce-Signature", hex.EncodeToString(mac.Sum(nil)))
		resp, err := client.Do(r)
		if err != nil {
			if s.t.Context().Err() != nil {
				return again
			}
			continue
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
		if resp.StatusCode < 300 {
			return again
		}
	}
}

// While a number sends 80 messages a second, 500 events of orders a second come. Each is durable
// once it is answered: the process is killed then, and its ledger has all of them. With -orders-for
// the rate of sending is compared with the rate before.
func TestEventsOfOrdersSlowNoSending(t *testing.T) {
	t.Parallel()
	const perSecond, workers = 500, 64
	length := 3 * time.Second
	if *ordersFor > 0 {
		length = *ordersFor
	}
	n := int(length.Seconds() * perSecond)
	s := newStorefront(t, standard, func(platform *scenario.Commerce) {
		price := value.Amount{}
		if err := price.UnmarshalText([]byte("15")); err != nil {
			t.Fatal(err)
		}
		c := &platform.Companies[0]
		c.Webhooks, c.Generate = nil, scenario.Generate{Customers: 1000, Orders: n}
		c.Products = []scenario.Product{{ID: "01HDEM00000000000000SCARF1", Title: "Scarf", Handle: "scarf",
			Variants: []scenario.Variant{{ID: "01HDEM00000000000000SCARF2", Title: "Wool", Price: price}}}}
	})
	orders := s.ids(n)
	// The platform refuses to show an order, so that each hint stays in the ledger and is counted.
	if !s.request(http.MethodPut, "/sandbox/commerce/faults", `{"too_many_requests": 1}`, nil) {
		t.Fatal("got no other faults of the platform, want them")
	}
	list := listOf(int(length.Seconds()*3*standard)+standard, drawOf(t))
	s.scheduleWith("conversions: {within: 24h}\n", "spring", "newsletter", list, []string{"conn_1"}, held...)
	p := s.serve()
	s.waits(3*time.Minute, "sending has begun", func() bool { return s.taken() > standard })
	sent := func() float64 {
		began, before := time.Now(), s.taken()
		time.Sleep(length)
		return float64(s.taken()-before) / time.Since(began).Seconds()
	}
	alone := sent()

	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: workers}, Timeout: 5 * time.Second}
	todo := make(chan string, n)
	var again atomic.Int64
	var posting sync.WaitGroup
	for range workers {
		posting.Go(func() {
			for order := range todo {
				again.Add(s.told(client, order))
			}
		})
	}
	began := time.Now()
	posting.Go(func() {
		defer close(todo)
		for i, order := range orders {
			time.Sleep(time.Until(began.Add(time.Duration(i) * time.Second / perSecond)))
			todo <- order
		}
	})
	beside := sent()
	posting.Wait()
	took := time.Since(began)
	if !p.kill() {
		t.Fatalf("%s: got its end, want it to be killed\n%s", p, tail(p.stderr.String(), 20))
	}
	l, err := sqlite.Open(t.Context(), s.path("campaignd.db"), ledger.Options{})
	if err != nil {
		t.Fatal(err)
	}
	backlog, _, err := l.HintBacklog(t.Context())
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if err != nil || backlog != int64(n) {
		t.Errorf("got %d orders that wait in the ledger of the killed process (%v), want the %d that were answered", backlog, err, n)
	}
	want(t, twice(s.sent("newsletter")))
	t.Logf("%d events in %v, %d repeated; %.1f messages/s beside them and %.1f alone: %.3f", n, took, again.Load(), beside, alone,
		beside/alone)
	if *ordersFor == 0 {
		return
	}
	if took > length+time.Second || beside < 0.98*alone {
		t.Errorf("got %.1f messages/s beside the events, which took %v, want 98 %% of %.1f in %v", beside, took, alone, length)
	}
}
