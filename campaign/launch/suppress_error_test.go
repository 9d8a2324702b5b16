package launch

import (
	"errors"
	"testing"
)

// Only a fault of a list gets another remedy. Any other error stays unchanged.
func TestAnotherErrorKeepsItsSentence(t *testing.T) {
	err := errors.New("the ledger is away")
	if got := ofNoCampaign(err); got != err {
		t.Errorf("got %v, want %v itself", got, err)
	}
}
