package daemon

import (
	"context"
	"maps"
	"slices"
	"testing"

	"campaignd/campaign"
	"campaignd/internal/messaging"
)

// rated is a service that tells the quality of each number and no rate.
type rated struct {
	campaign.Service
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

// ask has the service tell the quality of numbers; nil: it has no list of numbers.
func ask(t testing.TB, d *directory, quality map[string]string) {
	t.Helper()
	if _, err := d.refreshRates(context.Background(), rated{quality: quality}); err != nil {
		t.Error(err)
	}
}
