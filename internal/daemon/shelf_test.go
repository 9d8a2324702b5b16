package daemon

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/internal/messaging/cloud"
)

// One replica asks the platform for all, and after a failure none does.
func TestOneReplicaAsksTheCloudAPI(t *testing.T) {
	c := newCluster(t, "STANDARD", time.Minute)
	var asked atomic.Int64
	var shelves []shelf
	for _, owner := range []string{"a", "b", "c", "d"} {
		shelves = append(shelves, shelf{c.ledger, func(name string) campaign.Job {
			return campaign.Job{Ledger: c.ledger, Name: name, Owner: owner, Lease: time.Minute}
		}})
	}
	ask := func(result error) (taken int) {
		t.Helper()
		release, began := make(chan struct{}), make(chan struct{}, len(shelves))
		errs := make(chan error, len(shelves))
		var wg sync.WaitGroup
		for _, s := range shelves {
			wg.Go(func() {
				errs <- s.Ask(t.Context(), "1", func(ctx context.Context) error {
					asked.Add(1)
					began <- struct{}{}
					<-release
					return errors.Join(result, s.KeepListing(ctx, "1/phone_numbers", "text"))
				})
			})
		}
		<-began
		for range len(shelves) - 1 {
			if err := <-errs; errors.Is(err, cloud.ErrAsked) {
				taken++
			}
		}
		close(release)
		wg.Wait()
		return taken
	}
	if taken := ask(nil); taken != 3 || asked.Load() != 1 {
		t.Errorf("got %d questions and %d that another process asks, want 1 and 3", asked.Load(), taken)
	}
	for _, s := range shelves {
		if text, age, err := s.Listing(t.Context(), "1/phone_numbers"); text != "text" || age > time.Minute || err != nil {
			t.Errorf("got %q of age %s, %v; want the text", text, age, err)
		}
	}
	ask(errors.New("the platform is away"))
	for _, s := range shelves {
		err := s.Ask(t.Context(), "1", func(context.Context) error { t.Error("got a question, want a rest"); return nil })
		if !errors.Is(err, cloud.ErrAsked) {
			t.Errorf("got %v after a failure, want ErrAsked", err)
		}
	}
}
