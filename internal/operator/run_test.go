package operator

import (
	"context"
	"errors"
	"testing"

	"campaignd/campaign"
)

// away is a ledger that does not answer.
type away struct{ campaign.Ledger }

var errAway = errors.New("the ledger is away")

func (away) Runs(context.Context, campaign.RunFilter) ([]campaign.Run, error) { return nil, errAway }

func TestALedgerThatIsAwayHasNoMissingRun(t *testing.T) {
	d := &Session{Ledger: away{}, Company: "co_1"}
	if _, err := d.Run(t.Context(), "latest"); !errors.Is(err, errAway) || Absent(err) {
		t.Errorf("got %v, want %v, and not that there is no run", err, errAway)
	}
}
