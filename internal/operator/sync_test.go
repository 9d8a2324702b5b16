package operator_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"campaignd/campaign"
	"campaignd/internal/messaging"
	"campaignd/internal/messaging/service"
)

// blocks is a service at which some requests fail.
type blocks struct {
	fails  func(call int) bool // of BlockUsers, from 1
	away   string              // the connection whose blocked people it does not list
	called int
}

func (b *blocks) Connections(context.Context) ([]messaging.Connection, error) {
	return []messaging.Connection{{ID: "conn_1", CompanyID: "co_1"}, {ID: "conn_2", CompanyID: "co_1"}}, nil
}

func (b *blocks) BlockedUsers(_ context.Context, connection string) ([]service.Blocked, error) {
	if connection == b.away {
		return nil, errors.New("no list of " + connection)
	}
	return nil, nil
}

func (b *blocks) BlockUsers(_ context.Context, _ string, users []string) (all []service.BlockResult, err error) {
	if b.called++; b.fails != nil && b.fails(b.called) {
		return nil, errors.New("no answer")
	}
	for _, u := range users {
		all = append(all, service.BlockResult{User: u, Status: "blocked"})
	}
	return all, nil
}

// A request that fails does not keep the other people of the list from being blocked.
func TestASynchronisationGoesOnAfterAFailure(t *testing.T) {
	for _, c := range []struct {
		about           string
		service         blocks
		blocked, called int
		want            string
	}{
		{"one request", blocks{fails: func(call int) bool { return call == 2 }}, 4000, 5, "1000 numbers were not asked"},
		{"the first and the last", blocks{fails: func(call int) bool { return call%4 == 1 }}, 3000, 5, "2000 numbers were not asked"},
		{"all", blocks{fails: func(int) bool { return true }}, 0, 3, "5000 numbers were not asked"},
		{"the list of another connection", blocks{away: "conn_2"}, 5000, 5, "no list of conn_2"},
	} {
		d, _ := session(t)
		all := []campaign.Suppression{{Key: 15550000001, To: "+15550000001", Scope: campaign.ScopeAll, Source: campaign.SourceBlock,
			Company: "co_1"}}
		for n := range 5000 {
			key := int64(4915100000000 + n)
			all = append(all, campaign.Suppression{Key: key, To: fmt.Sprintf("+%d", key), Scope: campaign.ScopeAll, Source: "operator"})
		}
		if _, err := d.Ledger.Suppress(t.Context(), all); err != nil {
			t.Fatal(err)
		}
		got, err := d.SyncSuppressions(t.Context(), &c.service, "conn_1")
		if err == nil || !strings.Contains(err.Error(), c.want) || got.Blocked != c.blocked || c.service.called != c.called {
			t.Errorf("%s failed: got %d blocked by %d requests and %v, want %d, %d and %q", c.about, got.Blocked, c.service.called, err,
				c.blocked, c.called, c.want)
		}
	}
}
