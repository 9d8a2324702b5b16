package purchases_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/conversion"
	"campaignd/internal/commerce"
	"campaignd/internal/purchases"
	"campaignd/internal/secret"
)

// polls is a ledger that polls found, and that keeps nothing.
type polls struct{ purchases.Ledger }

func (polls) Runs(context.Context, campaign.RunFilter) ([]campaign.Run, error) { return nil, nil }
func (polls) Hints(context.Context, int) ([]campaign.OrderHint, error)         { return nil, nil }
func (polls) PolledUntil(context.Context) (time.Time, error)                   { return time.Now().Add(-time.Hour), nil }
func (polls) SetPolledUntil(context.Context, time.Time) error                  { return nil }
func (polls) StorePurchases(context.Context, []conversion.Order) error         { return nil }

// platform answers each request.
type platform func(path string) (status int, body string)

func (p platform) RoundTrip(r *http.Request) (*http.Response, error) {
	status, body := p(r.URL.Path)
	return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
}

// kept runs a keeper over a platform, and returns its log and how many clients it made.
func kept(t *testing.T, p platform, test func(clients *int, log *bytes.Buffer)) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		clients := 0
		k := purchases.New(purchases.Options{Ledger: polls{}, Log: slog.New(slog.NewTextHandler(&log, nil)),
			Client: func() (*commerce.Client, error) {
				clients++
				return commerce.New(commerce.Options{BaseURL: "https://shop.example", Company: "a", APIKey: secret.New("key-0123456789"),
					Rate: 5, Transport: p})
			}})
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			k.Run(ctx)
		}()
		test(&clients, &log)
		stop()
		<-ended
	})
}

// A client has learned the rate that the platform takes, so that an hour of trouble does not begin
// again at full speed. A refused token may have been replaced.
func TestAClientIsKeptThroughTroubleThatPasses(t *testing.T) {
	for status, want := range map[int]struct {
		least, most int
		remedy      string
	}{
		500: {1, 1, "if it stays, ask the platform"},
		401: {10, 1000, "make a new key"},
	} {
		kept(t, func(string) (int, string) { return status, `{}` }, func(clients *int, log *bytes.Buffer) {
			time.Sleep(time.Hour)
			synctest.Wait()
			if *clients < want.least || *clients > want.most {
				t.Errorf("answers %d for an hour: got %d clients, want %d to %d", status, *clients, want.least, want.most)
			}
			if told := log.String(); strings.Count(told, "\n") != 1 || !strings.Contains(told, want.remedy) {
				t.Errorf("answers %d for an hour: got %q in the log, want one line with the remedy %q", status, told, want.remedy)
			}
		})
	}
}

// If this machine's clock is behind, each order is of the future: one line an hour says so.
func TestOrdersOfTheFutureAreOneLineAnHour(t *testing.T) {
	shop := func(path string) (int, string) {
		if strings.HasSuffix(path, "/company") {
			return 200, `{"id":"a","address":{"country":"CM"}}`
		}
		var orders []string
		for i := range 40 {
			at := time.Now().Add(time.Hour).Format(time.RFC3339)
			orders = append(orders, fmt.Sprintf(`{"id":"o%d%s","created_at":%q,"updated_at":%[3]q}`, i, at, at))
		}
		return 200, `{"data":[` + strings.Join(orders, ",") + `],"links":{"next":null},"meta":{"total":40}}`
	}
	kept(t, shop, func(_ *int, log *bytes.Buffer) {
		time.Sleep(90 * time.Minute)
		synctest.Wait()
		if n := strings.Count(log.String(), "\n"); n != 2 || strings.Count(log.String(), "orders=40 ") != 2 {
			t.Errorf("got %d lines in 90 minutes, want 2 with 40 orders:\n%.2000s", n, log)
		}
	})
}
