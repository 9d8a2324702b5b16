//go:build long && unix

package postgres

import (
	"context"
	"errors"
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/internal/ledger"
	"campaignd/internal/ledger/ledgertest"
)

// A caller whose context ends during an intent learns whether the intent was committed, so that it
// can give its deliveries back.
func TestAnIntentThatIsCancelledIsNotUnknown(t *testing.T) {
	l := openAt(t, migrated(t), ledger.Options{Sender: true})
	r := ledgertest.Load(t, l, campaign.SegmentSize)
	ls := ledgertest.ClaimAll(t, l, r.No)
	from, cut := int64(0), 0
	for i := range 200 {
		ctx, cancel := context.WithCancel(t.Context())
		timer := time.AfterFunc(time.Duration(i%100)*20*time.Microsecond, cancel)
		g, err := l.Intend(ctx, []campaign.Intent{{Lease: ls[0], Connection: "conn_1", From: from, To: from + 10}})
		timer.Stop()
		cancel()
		if err == nil && g[0].To == from+10 {
			from += 10
			continue
		}
		cut++
		if !errors.Is(err, context.Canceled) {
			t.Fatalf("got %+v %v; want context.Canceled", g, err)
		}
		g, err = l.Intend(t.Context(), []campaign.Intent{{Lease: ls[0], Connection: "conn_1", From: from, To: from + 10}})
		if err != nil || g[0].To != from+10 {
			t.Fatalf("cancelled intent %d was committed, or that is unknown: %+v %v; want no error, To %+v", cut, g, err, from+10)
		}
		from += 10
	}
	if t.Logf("%d of 200 intents were cancelled", cut); cut == 0 {
		t.Errorf("%d of 200 intents were cancelled, want some", cut)
	}
}
