package purchases_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/conversion"
	"campaignd/internal/commerce"
	"campaignd/internal/purchases"
	"campaignd/internal/secret"
)

// memory is a ledger that keeps hints and orders in memory.
type memory struct {
	polls
	until time.Time

	mu     sync.Mutex
	hints  []campaign.OrderHint
	stored []string // the ids of the orders
}

func (m *memory) PolledUntil(context.Context) (time.Time, error) { return m.until, nil }

func (m *memory) Hints(_ context.Context, n int) ([]campaign.OrderHint, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.hints[:min(n, len(m.hints))]), nil
}

func (m *memory) EndHint(_ context.Context, h campaign.OrderHint) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.hints = slices.DeleteFunc(m.hints, func(is campaign.OrderHint) bool { return is.Order == h.Order })
	return nil
}

func (m *memory) StorePurchases(_ context.Context, orders []conversion.Order) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, o := range orders {
		m.stored = append(m.stored, o.ID)
	}
	return nil
}

// left returns the orders of the hints that are left.
func (m *memory) left() (ids []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, h := range m.hints {
		ids = append(ids, h.Order)
	}
	return ids
}

// keeperOf is a keeper of the ledger over a platform.
func keeperOf(l purchases.Ledger, p platform, log *bytes.Buffer) *purchases.Keeper {
	return purchases.New(purchases.Options{Ledger: l, Log: slog.New(slog.NewTextHandler(log, nil)),
		Client: func() (*commerce.Client, error) {
			return commerce.New(commerce.Options{BaseURL: "https://shop.example", Company: "a", APIKey: secret.New("key-0123456789"),
				Rate: 20, Transport: p})
		}})
}

// listOf is a list of orders with these ids that changed at these times, the newest first.
func listOf(ids []string, changed ...time.Time) string {
	var orders []string
	for i, id := range ids {
		orders = append(orders, fmt.Sprintf(`{"id":%q,"created_at":%[2]q,"updated_at":%[2]q}`, id, changed[i].Format(time.RFC3339)))
	}
	return `{"data":[` + strings.Join(orders, ",") + `],"links":{"next":null},"meta":{"total":1}}`
}

const company = `{"id":"a","address":{"country":"CM"}}`

// The platform fails for as many orders as a step asks for. They delay no other order, they are
// asked for less and less often, and they end after a day, because the list of orders is read.
func TestOrdersThatFailDelayNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		asked := map[string]int{}
		answer := func(path string) (int, string) {
			id := path[strings.LastIndex(path, "/")+1:]
			switch {
			case strings.Contains(path, "/companies/"):
				return 200, company
			case strings.HasSuffix(path, "/admin/orders"):
				return 200, listOf(nil)
			}
			mu.Lock()
			defer mu.Unlock()
			if asked[id]++; id == "good" {
				return 200, fmt.Sprintf(`{"data":{"id":"good","created_at":%[1]q,"updated_at":%[1]q}}`, time.Now().Format(time.RFC3339))
			}
			return 500, `{}`
		}
		l := &memory{until: time.Now()}
		for i := range 64 {
			l.hints = append(l.hints, campaign.OrderHint{Order: fmt.Sprint("bad", i)})
		}
		l.hints = append(l.hints, campaign.OrderHint{Order: "good"})
		var log bytes.Buffer
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		var running sync.WaitGroup
		running.Go(func() { keeperOf(l, answer, &log).Run(ctx) })
		for _, c := range []struct {
			after             time.Duration
			left, least, most int
		}{{time.Minute, 64, 1, 3}, {time.Hour, 64, 7, 9}, {26 * time.Hour, 0, 20, 40}} {
			time.Sleep(c.after)
			synctest.Wait()
			mu.Lock()
			if n := asked["bad0"]; len(l.left()) != c.left || n < c.least || n > c.most || asked["good"] != 1 {
				t.Errorf("%s later: %d hints left, one that fails asked for %d times, the other %d times; want %d, %d to %d, and once",
					c.after, len(l.left()), n, asked["good"], c.left, c.least, c.most)
			}
			mu.Unlock()
		}
		stop()
		running.Wait()
		for _, want := range []string{"the commerce platform fails for orders", "are given up"} {
			if n := strings.Count(log.String(), want); n != 1 {
				t.Errorf("%q is logged %d times, want once:\n%.2000s", want, n, &log)
			}
		}
	})
}

// Without a list of orders an event is all that tells of one, so its hint stays.
func TestAnOrderThatFailsStaysWithoutAList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &memory{until: time.Now(), hints: []campaign.OrderHint{{Order: "bad"}}}
		answer := func(path string) (int, string) {
			switch {
			case strings.Contains(path, "/companies/"):
				return 200, company
			case strings.HasSuffix(path, "/admin/orders"):
				return 404, `{}`
			}
			return 500, `{}`
		}
		ctx, stop := context.WithTimeout(t.Context(), 72*time.Hour)
		defer stop()
		var log bytes.Buffer
		keeperOf(l, answer, &log).Run(ctx)
		if left := l.left(); len(left) != 1 {
			t.Errorf("after three days: %d hints are left, want the one:\n%.2000s", len(left), &log)
		}
	})
}

// Retention deletes orders that changed long ago. In a shop where nothing changes, a poll does not
// store them again.
func TestAQuietShopStoresNoOldOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ids := []string{"new", "last", "before"}
		for quiet, want := range map[time.Duration][]string{24 * time.Hour: ids, 40 * 24 * time.Hour: ids[:1]} {
			l := &memory{until: time.Now().Add(-quiet)}
			answer := func(path string) (int, string) {
				if strings.Contains(path, "/companies/") {
					return 200, company
				}
				return 200, listOf(ids, l.until.Add(time.Hour), l.until, l.until.Add(-time.Minute))
			}
			if _, err := keeperOf(l, answer, &bytes.Buffer{}).Take(t.Context()); err != nil || !slices.Equal(l.stored, want) {
				t.Errorf("quiet for %s: stored %q (%v), want %q", quiet, l.stored, err, want)
			}
		}
	})
}
