// Package numberstest has the services that tests of connections and their numbers ask.
package numberstest

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"campaignd/internal/config"
	"campaignd/internal/messaging"
	"campaignd/throttle/throughput"
)

// Service starts a service with the connections a and b of the company co, which answers numbers
// with status, and returns its configuration.
func Service(t *testing.T, status int, numbers string) *config.Config {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/v1/connections", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"data": [
			{"id": "a", "phoneNumber": "+15555550100", "companyId": "co", "status": "connected"},
			{"id": "b", "phoneNumber": "hidden", "companyId": "co", "status": "connected"}]}`)
	})
	mux.HandleFunc("GET /api/v1/numbers", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		fmt.Fprint(w, numbers)
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	c := config.Default()
	c.Service.BaseURL, c.Service.APIKey = server.URL, messaging.NewSecret("k")
	return c
}

// rated is a service that tells the quality of each number and no rate.
type rated struct {
	messaging.Service
	quality map[string]string
}

func (s rated) Numbers(context.Context) (all []messaging.Number, err error) {
	if s.quality == nil {
		return nil, messaging.ErrNotOffered
	}
	for _, id := range slices.Sorted(maps.Keys(s.quality)) {
		all = append(all, messaging.Number{ConnectionID: id, Quality: s.quality[id]})
	}
	return all, nil
}

// Directory is a directory of connections.
type Directory interface {
	RefreshRates(ctx context.Context, s messaging.Service) (map[string]throughput.Pace, error)
}

// Tell has a service tell the quality of numbers by connection; nil: it has no list of numbers.
func Tell(t testing.TB, d Directory, quality map[string]string) {
	t.Helper()
	if _, err := d.RefreshRates(context.Background(), rated{quality: quality}); err != nil {
		t.Error(err)
	}
}
