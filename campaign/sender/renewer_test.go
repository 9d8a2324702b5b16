package sender

import (
	"context"
	"errors"
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/throttle"
)

// renewing is a ledger that renews the leases that it still knows.
type renewing struct {
	stubLedger
	known []campaign.Lease
	asked int
	err   error
}

func (l *renewing) Renew(_ context.Context, leases []campaign.Lease, _ time.Duration) ([]campaign.Lease, error) {
	l.asked = len(leases)
	return l.known, l.err
}

// A lease that the ledger does not renew is another owner's by now: nothing more is posted for it.
// While the ledger cannot be asked, a lease runs out by itself.
func TestALeaseThatIsNotRenewedIsLost(t *testing.T) {
	lease := func(index, epoch int64, until int) campaign.Lease {
		return campaign.Lease{Segment: campaign.Segment{Run: 1, Index: index}, Epoch: epoch, Until: time.Unix(int64(until), 0)}
	}
	l := &renewing{known: []campaign.Lease{lease(0, 2, 60), lease(1, 5, 60)}} // the second is in its next epoch
	e, err := New(l, nil, throttle.NewLocal(), Options{Owner: "a"})
	if err != nil {
		t.Fatal(err)
	}
	w := newWorker(e, "conn_1")
	var all []*segment
	for _, held := range []campaign.Lease{lease(0, 2, 30), lease(1, 4, 30), lease(2, 3, 30)} {
		all = append(all, newSegment(&run{no: 1}, held, nil))
	}
	look := func(step string, asked int, until [3]int64, lost [3]bool) {
		t.Helper()
		if l.asked != asked {
			t.Errorf("%s: asked for %d leases, want %d", step, l.asked, asked)
		}
		for i, s := range all {
			if got := s.until.Load() / int64(time.Second); got != until[i] || s.lost.Load() != lost[i] {
				t.Errorf("%s: lease %d until %d, lost %v, want %d, %v", step, i, got, s.lost.Load(), until[i], lost[i])
			}
		}
	}
	if asked, err := w.renewer.renew(t.Context()); asked || err != nil {
		t.Errorf("with nothing held: asked %v, %v, want false and no error", asked, err)
	}
	w.renewer.keep(all)
	l.err = errors.New("away")
	if asked, err := w.renewer.renew(t.Context()); !asked || !errors.Is(err, l.err) {
		t.Errorf("with the ledger away: asked %v, %v, want true and %v", asked, err, l.err)
	}
	look("with the ledger away", 3, [3]int64{30, 30, 30}, [3]bool{})
	l.err = nil
	for range 2 {
		if asked, err := w.renewer.renew(t.Context()); !asked || err != nil {
			t.Errorf("renewed: asked %v, %v, want true and no error", asked, err)
		}
	}
	look("renewed twice", 1, [3]int64{60, 30, 30}, [3]bool{false, true, true})
}
