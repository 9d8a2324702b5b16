package ledgertest

import (
	"fmt"
	"testing"
	"time"

	"campaignd/campaign"

	"github.com/google/go-cmp/cmp"
)

// budgeted makes a run of n deliveries with a budget.
func budgeted(t *testing.T, l campaign.Ledger, n, budget int64) campaign.Run {
	t.Helper()
	r, err := l.CreateRun(t.Context(), campaign.Run{Campaign: "spring", ListHash: fmt.Sprint(time.Now().UnixNano()), Budget: budget,
		Marketing: true})
	if err == nil {
		err = l.AppendRows(t.Context(), r.No, 0, Rows(0, n), []campaign.Segment{{Run: r.No, Hi: n}})
	}
	if err == nil {
		err = l.FinishImport(t.Context(), r.No, n, campaign.Ready)
	}
	if err != nil {
		t.Fatalf("making a run: %v; want no error", err)
	}
	return r
}

// A delivery that was given back unposted does not count against the budget any more. Its retry
// needs the budget again, and does not delay other deliveries.
func aRetryBeyondTheBudgetIsHeldAndNotSkipped(t *testing.T, l Tables) {
	r := budgeted(t, l, 5, 3)
	lease := ClaimAll(t, l, r.No)[0]
	now := time.Now()
	intend := func(i campaign.Intent) campaign.Granted {
		t.Helper()
		i.Lease, i.Connection = lease, "conn_1"
		g, err := l.Intend(t.Context(), []campaign.Intent{i})
		if err != nil || len(g) != 1 {
			t.Fatalf("intending: %+v, %v; want one answer and no error", g, err)
		}
		return g[0]
	}
	if g := intend(campaign.Intent{To: 3}); g.To != 3 || !g.OverBudget {
		t.Fatalf("the first three: %+v; want up to 3, over budget", g)
	}
	if err := l.Release(t.Context(), lease, []int64{0, 1}); err != nil {
		t.Fatalf("giving two back: %v; want no error", err)
	}
	lease = ClaimAll(t, l, r.No)[0]
	if g := intend(campaign.Intent{From: 3, To: 5}); g.To != 5 || !g.OverBudget {
		t.Fatalf("two others: %+v; want up to 5, over budget", g)
	}
	ds := Rows(0, 2)
	both := []campaign.Retry{{Delivery: ds[0], Attempt: 1}, {Delivery: ds[1], Attempt: 1}}
	denied := campaign.Granted{Denied: true, To: 5, OverBudget: true}
	if d := cmp.Diff(denied, intend(campaign.Intent{From: 5, To: 5, Retries: both})); d != "" {
		t.Errorf("retries without a budget (-want +got):\n%s", d)
	}
	if got := Totals(t, l, r.No)[campaign.Queued]; got != 2 {
		t.Errorf("still queued: %d; want 2", got)
	}
	if _, err := l.Suppress(t.Context(), []campaign.Suppression{{Key: ds[1].Key, Scope: campaign.ScopeAll, At: now}}); err != nil {
		t.Fatalf("suppressing: %v; want no error", err)
	}
	want := campaign.Granted{To: 5, OverBudget: true, Skipped: map[int64]campaign.SkipReason{0: "", 1: campaign.Suppressed}}
	if d := cmp.Diff(want, intend(campaign.Intent{From: 5, To: 5, Retries: both})); d != "" {
		t.Errorf("one of them suppressed meanwhile (-want +got):\n%s", d)
	}
	if got := Totals(t, l, r.No); got[campaign.Queued] != 1 || got[campaign.Skipped] != 1 {
		t.Errorf("totals %v; want 1 queued, 1 skipped", got)
	}
}

// An intent that asks for nothing new is never denied. It is granted up to the mark, also when the
// budget is used up.
func anIntentForNothingIsNotHeld(t *testing.T, l Tables) {
	r := budgeted(t, l, 4, 2)
	lease := ClaimAll(t, l, r.No)[0]
	answered := []campaign.Retry{{Delivery: Rows(0, 1)[0], Attempt: 2}} // no longer due
	for _, c := range []struct {
		what string
		in   campaign.Intent
		want campaign.Granted
	}{
		{"nothing, at first", campaign.Intent{}, campaign.Granted{}},
		{"one delivery", campaign.Intent{To: 1}, campaign.Granted{To: 1}},
		{"nothing, within the budget", campaign.Intent{From: 1, To: 1}, campaign.Granted{To: 1}},
		{"the last of the budget", campaign.Intent{From: 1, To: 3}, campaign.Granted{To: 2, OverBudget: true}},
		{"nothing, over the budget", campaign.Intent{From: 2, To: 2}, campaign.Granted{To: 2, OverBudget: true}},
		{"a stale retry", campaign.Intent{From: 2, To: 2, Retries: answered},
			campaign.Granted{To: 2, OverBudget: true, Skipped: map[int64]campaign.SkipReason{0: ""}}},
		{"one too many", campaign.Intent{From: 2, To: 3}, campaign.Granted{To: 2, OverBudget: true, Denied: true}},
	} {
		c.in.Lease, c.in.Connection = lease, "conn_1"
		g, err := l.Intend(t.Context(), []campaign.Intent{c.in})
		if err != nil || len(g) != 1 {
			t.Fatalf("%s: %+v, %v; want one answer and no error", c.what, g, err)
		}
		if d := cmp.Diff(c.want, g[0]); d != "" {
			t.Errorf("%s (-want +got):\n%s", c.what, d)
		}
	}
}

// BudgetKept gives back the one delivery that a budget of one allowed, and reports whether the
// budget is still used up. The tests of the backends use it to detect the mutation that does not
// return the budget.
func BudgetKept(t *testing.T, l campaign.Ledger) bool {
	t.Helper()
	r := budgeted(t, l, 2, 1)
	lease := ClaimAll(t, l, r.No)[0]
	grantedTo(t, l, lease, 0, 1)
	if err := l.Release(t.Context(), lease, []int64{0}); err != nil {
		t.Fatalf("giving one back: %v; want no error", err)
	}
	return grantedTo(t, l, ClaimAll(t, l, r.No)[0], 1, 2) != 2
}

// BudgetOfASegment asks for both segments of a run with a budget of one, and reports whether one
// delivery of each was granted. The tests of the backends use it to detect the mutation that counts
// the budget for each segment.
func BudgetOfASegment(t *testing.T, l campaign.Ledger) bool {
	t.Helper()
	r, err := l.CreateRun(t.Context(), campaign.Run{Campaign: "spring", ListHash: "two segments", Budget: 1})
	for i := range int64(2) {
		lo := i * campaign.SegmentSize
		if err == nil {
			err = l.AppendRows(t.Context(), r.No, i, Rows(lo, lo+1), []campaign.Segment{{Run: r.No, Index: i, Lo: lo, Hi: lo + 1}})
		}
	}
	if err == nil {
		err = l.FinishImport(t.Context(), r.No, 2, campaign.Ready)
	}
	if err != nil {
		t.Fatalf("making a run: %v; want no error", err)
	}
	leases := ClaimAll(t, l, r.No)
	first := grantedTo(t, l, leases[0], leases[0].Lo, leases[0].Hi)
	second := grantedTo(t, l, leases[1], leases[1].Lo, leases[1].Hi)
	return first == leases[0].Hi && second == leases[1].Hi
}

// grantedTo intends the deliveries [from, to), and returns the new mark.
func grantedTo(t *testing.T, l campaign.Ledger, lease campaign.Lease, from, to int64) int64 {
	t.Helper()
	g, err := l.Intend(t.Context(), []campaign.Intent{{Lease: lease, Connection: "conn_1", From: from, To: to}})
	if err != nil || len(g) != 1 {
		t.Fatalf("intending %d to %d: %+v, %v; want one answer and no error", from, to, g, err)
	}
	return g[0].To
}
