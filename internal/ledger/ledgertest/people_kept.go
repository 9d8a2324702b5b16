package ledgertest

import (
	"context"
	"testing"
	"time"

	"campaignd/campaign"
)

// FreedEarly lets two runs reach one recipient with a tier of one place, and refuses the message of
// the first. It reports whether another recipient then finds the place free.
func FreedEarly(t testing.TB, l campaign.Ledger) bool {
	t.Helper()
	ask := func(run campaign.Lease, from, to int64) campaign.Granted {
		g, err := l.Intend(t.Context(), []campaign.Intent{{Lease: run, Connection: "conn_1", From: from, To: to,
			Tier: campaign.Tier{Portfolio: "main", Places: 1}}})
		if err != nil {
			t.Fatalf("an intent: %v; want no error", err)
		}
		return g[0]
	}
	first, second := ClaimAll(t, l, Load(t, l, 2).No)[0], ClaimAll(t, l, Load(t, l, 2).No)[0]
	ask(first, 0, 1)
	ask(second, 0, 1)
	mustRecord(t, l, []campaign.Result{refusal(first, 0)})
	return ask(first, 1, 2).To == 2
}

// KeptOfARefusal sends to one recipient with a tier of one place and a frequency cap, and refuses
// the message. It reports whether another run then finds the place, or the contact, taken. The
// tests of the backends use it to detect the mutations that return neither.
func KeptOfARefusal(t testing.TB, l campaign.Ledger) (place, contact bool) {
	t.Helper()
	ctx := context.Background()
	ask := func(run campaign.Lease, from, to int64) campaign.Granted {
		g, err := l.Intend(ctx, []campaign.Intent{{Lease: run, Connection: "conn_1", From: from, To: to,
			Tier: campaign.Tier{Portfolio: "main", Places: 1}, Cap: &campaign.FrequencyLimit{Messages: 1, Per: campaign.Duration(time.Hour)}}})
		if err != nil {
			t.Fatalf("an intent: %v; want no error", err)
		}
		return g[0]
	}
	// The recipient of seq 0 is the same in both runs; that of seq 1 is another.
	a, b := Load(t, l, 2), Load(t, l, 2)
	first, second := ClaimAll(t, l, a.No)[0], ClaimAll(t, l, b.No)[0]
	ask(first, 0, 1)
	if err := l.Record(ctx, []campaign.Result{refusal(first, 0)}); err != nil {
		t.Fatalf("a refusal: %v; want no error", err)
	}
	if place = ask(first, 1, 2).To == 1; place { // seq 1 needs the place that seq 0 gave back
		return place, false
	}
	_, contact = ask(second, 0, 1).Skipped[0]
	return place, contact
}
