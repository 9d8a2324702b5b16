package ledgertest

import (
	"context"
	"fmt"
	"strconv"
	"testing"
	"time"

	"campaignd/campaign"
)

// Totals are the deliveries of a run by status.
func Totals(t *testing.T, l campaign.Ledger, no campaign.RunNo) map[campaign.Status]int64 {
	t.Helper()
	tallies, _, err := l.Tallies(t.Context(), no)
	if err != nil {
		t.Fatal(err)
	}
	sum := map[campaign.Status]int64{}
	for _, g := range tallies {
		sum[g.Status] += g.N
	}
	return sum
}

// Audited fails if Audit finds a problem.
func Audited(t *testing.T, l campaign.Ledger, no campaign.RunNo) {
	t.Helper()
	if problems, _, err := l.Audit(t.Context(), no, 10); err != nil || len(problems) > 0 {
		t.Errorf("audit: %v %v", problems, err)
	}
}

// Load makes a run of n deliveries, ready to be sent.
func Load(t testing.TB, l campaign.Ledger, n int64) campaign.Run {
	t.Helper()
	ctx := context.Background()
	r, err := l.CreateRun(ctx, campaign.Run{Campaign: "spring", ListHash: strconv.FormatInt(time.Now().UnixNano(), 36), Marketing: true})
	if err != nil {
		t.Fatal(err)
	}
	for lo := int64(0); lo < n; lo += campaign.SegmentSize {
		hi := min(n, lo+campaign.SegmentSize)
		if err := l.AppendRows(ctx, r.No, lo, Rows(lo, hi), []campaign.Segment{{Run: r.No, Index: lo / campaign.SegmentSize, Lo: lo,
			Hi: hi}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.FinishImport(ctx, r.No, n, campaign.Ready); err != nil {
		t.Fatal(err)
	}
	return r
}

// Rows are deliveries with the seqs [lo, hi), each with a phone number of its own.
func Rows(lo, hi int64) []campaign.Delivery {
	ds := make([]campaign.Delivery, 0, hi-lo)
	for seq := lo; seq < hi; seq++ {
		ds = append(ds, campaign.Delivery{Seq: seq, Row: seq + 1, To: fmt.Sprintf("+%d", 2348030000000+seq), Key: 2348030000000 + seq,
			Cells: []string{fmt.Sprintf("First%d", seq), "Lastname of some length", "SPRING-2026",
				"https://example.com/o/" + strconv.FormatInt(seq, 36)}})
	}
	return ds
}

// ClaimAll leases every segment of a run.
func ClaimAll(t testing.TB, l campaign.Ledger, no campaign.RunNo) []campaign.Lease {
	t.Helper()
	ls, err := l.Claim(context.Background(), campaign.Claim{Owner: "test", Connection: "conn_1", Runs: []campaign.RunNo{no}, Max: 1 << 20,
		Lease: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	return ls
}

// mustIntend commits an intent and does not check what it is granted.
func mustIntend(t testing.TB, l campaign.Ledger, in campaign.Intent) {
	t.Helper()
	if _, err := l.Intend(t.Context(), []campaign.Intent{in}); err != nil {
		t.Fatalf("intending: %v; want no error", err)
	}
}

// mustRecord records results.
func mustRecord(t testing.TB, l campaign.Ledger, rs []campaign.Result) {
	t.Helper()
	if err := l.Record(t.Context(), rs); err != nil {
		t.Fatalf("recording: %v; want no error", err)
	}
}

// MessageID is a message id of the usual length.
func MessageID(no campaign.RunNo, seq int64) string {
	return fmt.Sprintf("wamid.HBgNMjM0ODAzMDAwMDAwMBUCABEYEjlBM0NBNUIzRDRDRDY3%02d%010d", no, seq)
}

// Acceptances are the receipts of the first attempts of the deliveries [from, to).
func Acceptances(l campaign.Lease, from, to int64) []campaign.Result {
	rs := make([]campaign.Result, 0, to-from)
	now := time.Now()
	for seq := from; seq < to; seq++ {
		rs = append(rs, campaign.Result{Run: l.Run, Seq: seq, Connection: "conn_1", Attempt: 1,
			Kind: campaign.ResultAccepted, At: now,
			Epoch: l.Epoch, MessageID: MessageID(l.Run, seq)})
	}
	return rs
}

// GrantedDespiteAHold adds a hold of an account through one ledger. It reports whether another
// ledger of the same database then grants an intent of that account.
func GrantedDespiteAHold(t *testing.T, through, asked campaign.Ledger) bool {
	t.Helper()
	s := ClaimAll(t, asked, Load(t, asked, 1).No)[0]
	if _, err := through.AddHolds(t.Context(), []campaign.Hold{{Scope: campaign.HoldAccount, ID: "acc", Reason: "131042",
		Source: campaign.HoldByStatus, Since: time.Now()}}); err != nil {
		t.Fatal(err)
	}
	g, err := asked.Intend(t.Context(), []campaign.Intent{{Lease: s, Connection: "conn_1", To: 1, Origin: campaign.Origin{Account: "acc"}}})
	if err != nil {
		t.Fatal(err)
	}
	return !g[0].Denied
}
