package operator

import (
	"strings"
	"testing"
)

func TestTheGuardRemembersABoundedNumber(t *testing.T) {
	g := NewGuard("", nil)
	for i := range 2 * maxAddresses { // from as many addresses as it pleases
		address := "a" + strings.Repeat("b", i%64) + string(rune('0'+i%10)) + strings.Repeat("c", i/64)
		if _, err := g.Admit(t.Context(), address, "z"); err == nil {
			t.Fatalf("%s: got no error, want that the key is wrong", address)
		}
	}
	if got := len(g.wrong); got > maxAddresses+1 {
		t.Errorf("got %d addresses in memory, want at most %d", got, maxAddresses+1)
	}
}
