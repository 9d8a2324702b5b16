package cloud

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

const (
	ownAccount = "200000000000001"
	ownNumber  = "300000000000001"
)

func (p *platform) refuse(code int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refuses = code
}

func (p *platform) count(edge string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.calls[edge]
}

func TestANumberIsFetchedBeforeItsEventsCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReplicas(t, 1)
		ask := func(about, id, digits string, want Standing, calls int) {
			t.Helper()
			connection, got := r.all[0].Standing(t.Context(), []string{ownAccount}, id, digits)
			if got != want || got == Own && connection != ownNumber {
				t.Errorf("%s: got %q, %d; want %d", about, connection, got, want)
			}
			if n := r.count("phone_numbers"); n != calls {
				t.Errorf("%s: %d listings so far, want %d", about, n, calls)
			}
		}
		ask("before any listing", ownNumber, "", Own, 1)
		ask("again", ownNumber, "", Own, 1)
		ask("by its digits", "", "15555550100", Own, 1)
		if _, got := r.all[0].Standing(t.Context(), []string{"2"}, ownNumber, ""); got != Others {
			t.Errorf("for another account: got %d, want Others", got)
		}
		ask("unknown, a moment after the listing", "11", "", Unlisted, 1)
		r.refuse(4)
		time.Sleep(2 * time.Minute)
		ask("unknown, while the platform refuses", "11", "", Unlisted, 2)
		ask("and at once again", "11", "", Unlisted, 2)
		r.refuse(0)
		time.Sleep(20 * time.Minute)
		ask("unknown, and no number of the account", "11", "", Others, 3)
		ask("again", "11", "", Others, 3)
		ask("by digits", "", "15555550999", Unlisted, 3)
	})
}

// A body may name a thousand numbers, and another may follow at once.
func TestUnknownNumbersMakeFewManagementCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReplicas(t, 3)
		began := time.Now()
		for n := 0; time.Since(began) < time.Hour; n++ {
			c := r.all[n%len(r.all)]
			c.Standing(t.Context(), []string{ownAccount}, fmt.Sprint(n), "")
			if seen := len(c.owners.seen); seen > maxSeen {
				t.Fatalf("%d numbers are remembered, want at most %d", seen, maxSeen)
			}
			time.Sleep(50 * time.Millisecond)
		}
		if n := r.count("phone_numbers"); n < 30 || n > 61 {
			t.Errorf("%d management calls in an hour, want 30 to 61", n)
		}
	})
}

func TestTheLastListingIsRecalled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReplicas(t, 2)
		if _, err := r.all[0].Connections(t.Context()); err != nil {
			t.Fatal(err)
		}
		r.refuse(190) // the token has expired
		time.Sleep(24 * time.Hour)
		c := r.all[1]
		if err := c.Recall(t.Context()); err != nil {
			t.Fatal(err)
		}
		if connection, s := c.Standing(t.Context(), []string{ownAccount}, ownNumber, ""); s != Own || connection != ownNumber {
			t.Errorf("got %q, %d; want %s, Own", connection, s, ownNumber)
		}
		if got := c.Owned(); !slices.Equal(got, []string{ownNumber}) {
			t.Errorf("owns %v, want %s", got, ownNumber)
		}
	})
}
