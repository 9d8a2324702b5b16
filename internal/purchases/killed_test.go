//go:build long

package purchases_test

import (
	"bufio"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/internal/commerce"
	"campaignd/internal/ledger"
	"campaignd/internal/ledger/sqlite"
	"campaignd/internal/purchases"
	"campaignd/internal/sandbox/shop/scenario"
	"campaignd/internal/secret"
)

func TestMain(m *testing.M) {
	if path := os.Getenv("PURCHASES_TEST_LEDGER"); path != "" {
		fmt.Println(childTakes(path, os.Getenv("PURCHASES_TEST_SHOP")))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

const eventSecret = "a secret of events for tests"

// unlisted is a client for which the platform has no list of orders: only events name them.
func unlisted(shopURL string) (*commerce.Client, error) {
	return commerce.New(commerce.Options{BaseURL: shopURL, Company: scenario.DemoCompany, APIKey: secret.New(scenario.DemoKey), Rate: 1000,
		Assumed: commerce.Assumed{OrdersPath: "/2023-11/none"}})
}

// childTakes is the program of the process that TestAKilledProcessCountsEachOrderOnce kills: it
// takes events and orders, and matches them. It prints its address.
func childTakes(path, shopURL string) error {
	ctx := context.Background()
	l, err := sqlite.Open(ctx, path, ledger.Options{Sender: true})
	if err != nil {
		return err
	}
	intake := commerce.NewIntake(commerce.Assumed{}, scenario.DemoCompany, []secret.Value{secret.New(eventSecret)},
		slog.New(slog.DiscardHandler),
		func(ctx context.Context, hints []commerce.Hint) error {
			var all []campaign.OrderHint
			for _, h := range hints {
				all = append(all, campaign.OrderHint{Order: h.Order, At: h.At, Received: time.Now()})
			}
			return l.AddHints(ctx, all)
		})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println("http://" + listener.Addr().String())
	client := func() (*commerce.Client, error) { return unlisted(shopURL) }
	k := purchases.New(purchases.Options{Ledger: l, Client: client, Poll: time.Nanosecond})
	go func() {
		for ctx.Err() == nil {
			_, _ = k.Take(ctx) // the list is missing
			_, _ = k.Match(ctx)
		}
	}()
	return http.Serve(listener, intake) //nolint:gosec // of a test on this machine
}

// A process is killed 60 times while it takes events and orders and matches them. The shop repeats
// each event until it is answered. Each order then counts once, and each refund is reversed.
func TestAKilledProcessCountsEachOrderOnce(t *testing.T) {
	const kills = 60
	w := newWorld(t)
	r := w.run("spring", time.Now().Add(-time.Minute), 0, ama, kwame, esi, yaw)
	if err := w.ledger.Close(); err != nil {
		t.Fatal(err)
	}
	draw := rand.New(rand.NewPCG(1, 2))
	var owed []string // orders whose last change no event told yet
	refunds := 0
	for kill := range kills {
		child := exec.CommandContext(t.Context(), os.Args[0])
		child.Env = append(os.Environ(), "PURCHASES_TEST_LEDGER="+w.path, "PURCHASES_TEST_SHOP="+w.shop.URL)
		out, err := child.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		if !lines.Scan() || !strings.HasPrefix(lines.Text(), "http") {
			t.Fatalf("kill %d: the child says %q; want its address", kill, lines.Text())
		}
		order := w.bought([]string{ama, kwame, esi, yaw}[kill%4], "EUR", 2)
		if kill%5 == 4 {
			w.end(order, "refunded")
			refunds++
		}
		alive := time.Duration(draw.IntN(30_000)) * time.Microsecond
		if len(owed) == kill { // a busy machine has not answered any event yet
			alive *= time.Duration(1 + kill)
		}
		time.AfterFunc(alive, func() { _ = child.Process.Kill() })
		var left []string
		for _, id := range append(owed, order) {
			once := posted(t.Context(), lines.Text(), id)
			if again := posted(t.Context(), lines.Text(), id); !once || !again {
				left = append(left, id)
			}
		}
		owed = left
		_, _ = io.Copy(io.Discard, out)
		_ = child.Wait()
	}
	w.open(w.path)
	w.keeper = purchases.New(purchases.Options{Ledger: w.ledger, Client: func() (*commerce.Client, error) { return unlisted(w.shop.URL) }})
	w.hint(owed...)
	for more := true; more; {
		more, _ = w.keeper.Take(t.Context()) // the list is missing
	}
	if _, err := w.keeper.Match(t.Context()); err != nil {
		t.Fatalf("matching: %v; want no error", err)
	}
	orders := kills - refunds
	w.brought(r, fmt.Sprintf(`{"orders":%d,"people":4,"reversed":%d,"revenue":[{"currency":"EUR","amount":%d}]}`, orders, refunds, 2*orders))
	if len(owed) == kills {
		t.Error("no event was ever answered; want some to be")
	}
}

// posted posts an event about an order, and reports whether it was answered with a 2xx.
func posted(ctx context.Context, url, order string) bool {
	body := fmt.Sprintf(`{"id":"e","type":"order.updated","created_at":"2026-03-01T10:00:00Z","company_id":%q,"data":{"id":%q}}`,
		scenario.DemoCompany, order)
	mac := hmac.New(sha256.New, []byte(eventSecret))
	mac.Write([]byte(body))
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		return false
	}
	r.Header.Set("X-Commerce-Signature", hex.EncodeToString(mac.Sum(nil)))
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return false
	}
	_ = resp.Body.Close()
	return resp.StatusCode == http.StatusNoContent
}
