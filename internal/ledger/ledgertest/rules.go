package ledgertest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"campaignd/campaign"
	"campaignd/internal/ledger"
)

// Some rules of package ledger are written a second time in the SQL of a backend, because a
// statement writes many rows. The tests below compare the function with the backend, case by case.

// withOutcomes makes a leased run whose deliveries have these outcomes.
func withOutcomes(t *testing.T, l Tables, rows []ledger.Row) campaign.Lease {
	t.Helper()
	lease := ClaimAll(t, l, Load(t, l, int64(len(rows))).No)[0]
	var values []string
	for seq, row := range rows {
		if row.State != 0 {
			values = append(values, fmt.Sprintf("(%d, %d, %d, %d)", ledger.RowID(lease.Run, int64(seq)), row.State, row.Attempt, row.Flags))
		}
	}
	alter(t, l, `INSERT INTO outcome (rid, state, attempt, flags) VALUES `+strings.Join(values, ", "))
	return lease
}

// outcomeOf reads an outcome.
func outcomeOf(t *testing.T, l Tables, no campaign.RunNo, seq int64) (row ledger.Row) {
	t.Helper()
	text := stored(t, l, fmt.Sprintf(`SELECT coalesce(max(state || ' ' || attempt || ' ' || flags), '0 0 0') FROM outcome WHERE rid = %d`,
		ledger.RowID(no, seq)))
	if _, err := fmt.Sscan(text, &row.State, &row.Attempt, &row.Flags); err != nil {
		t.Fatalf("outcome %q: %v; want no error", text, err)
	}
	return row
}

// Each kind of result is merged into each outcome as ledger.Merge.Over says.
func resultsMergeByTheRule(t *testing.T, l Tables) {
	rows := []ledger.Row{{}}
	for state := ledger.Deferred; state <= ledger.Skipped; state++ {
		for _, attempt := range []int{1, 2} {
			for _, flags := range []int64{0, ledger.FlagMaybeDuplicate, ledger.FlagNoResend} {
				rows = append(rows, ledger.Row{State: state, Attempt: attempt, Flags: flags})
			}
		}
	}
	var results []campaign.Result
	for _, attempt := range []int{1, 2} {
		for _, epoch := range []int64{0, 1} {
			for kind := campaign.ResultAccepted; kind <= campaign.ResultDoubt; kind++ {
				r := campaign.Result{Kind: kind, Attempt: attempt, Epoch: epoch, Connection: "conn_1", At: at(0)}
				results = append(results, r)
				if kind == campaign.ResultDoubt {
					r.NoResend = true
					results = append(results, r)
				}
			}
		}
	}
	lease := withOutcomes(t, l, slices.Repeat(rows, len(results)))
	rs := make([]campaign.Result, 0, len(rows)*len(results))
	for _, r := range results {
		for range rows {
			r.Run, r.Seq, r.Epoch = lease.Run, int64(len(rs)), lease.Epoch-1+r.Epoch
			if r.Kind == campaign.ResultAccepted {
				r.MessageID = MessageID(r.Run, r.Seq)
			}
			rs = append(rs, r)
		}
	}
	mustRecord(t, l, rs)
	for i := range rs {
		r, was := &rs[i], rows[i%len(rows)]
		want := was
		if m, ok := ledger.MergeOf(r).Over(was); ok && (!m.Fenced || r.Epoch == lease.Epoch) {
			if want.Flags |= m.Flags; !m.Noted {
				want.State, want.Attempt = m.State, max(m.Attempt, was.Attempt)
			}
		}
		if got := outcomeOf(t, l, r.Run, r.Seq); got != want {
			t.Errorf("%+v on %+v: got %+v, want %+v", *r, was, got, want)
		}
	}
}

// A retry that is suppressed, and one that SkipQueued skips, become what ledger.GivenUp says.
func whatIsGivenUpMayHaveBeenSent(t *testing.T, l Tables) {
	var rows []ledger.Row
	for flags := range int64(64) {
		rows = append(rows, ledger.Row{State: ledger.Deferred, Attempt: 1, Flags: flags})
	}
	lease := withOutcomes(t, l, rows)
	var stops []campaign.Suppression
	in := campaign.Intent{Lease: lease, Connection: "conn_1", From: lease.Mark, To: lease.Mark}
	for _, d := range Rows(0, 32) {
		stops = append(stops, campaign.NewSuppression(d.Key, d.To, campaign.ScopeAll, "stop", at(0)))
		in.Retries, in.Keys = append(in.Retries, campaign.Retry{Delivery: d, Attempt: 2}), append(in.Keys, d.Key)
	}
	if _, err := l.Suppress(t.Context(), stops); err != nil {
		t.Fatalf("suppressing: %v; want no error", err)
	}
	if g, err := l.Intend(t.Context(), []campaign.Intent{in}); err != nil || len(g) != 1 || len(g[0].Skipped) != 32 {
		t.Fatalf("intending: %+v, %v; want 32 skipped", g, err)
	}
	if n, err := l.SkipQueued(t.Context(), lease, campaign.Expired); err != nil || n != 32 {
		t.Fatalf("skipping: %d, %v; want 32", n, err)
	}
	for seq, was := range rows {
		want := was
		want.State = ledger.GivenUp(ledger.Skipped, was.Flags)
		if got := outcomeOf(t, l, lease.Run, int64(seq)); got != want {
			t.Errorf("retry %d: got %+v, want %+v", seq, got, want)
		}
	}
}

// A claim chooses runs as ledger.Claims says, and the filter of unfinished runs those that have not
// ended.
func theStateOfARunSaysWhatAClaimTakes(t *testing.T, l Tables) {
	no := Load(t, l, 1).No
	for _, state := range []campaign.State{campaign.Importing, campaign.WaitingApproval, campaign.Ready, campaign.Running, campaign.Paused,
		campaign.Finished, campaign.Cancelled, campaign.RunStateFailed} {
		for _, wanted := range []campaign.Wanted{campaign.WantRun, campaign.WantPause, campaign.WantCancel} {
			for _, cancelled := range []bool{false, true} {
				alter(t, l, fmt.Sprintf(`UPDATE run SET state = '%s', wanted = '%s' WHERE no = %d`, state, wanted, no))
				unfinished, err := l.Runs(t.Context(), campaign.RunFilter{Unfinished: true})
				if err != nil || len(unfinished) > 0 == state.Ended() {
					t.Errorf("%s: got %d unfinished runs, %v; want none exactly if it has ended", state, len(unfinished), err)
				}
				c := campaign.Claim{Owner: "a", Connection: "conn_1", Runs: []campaign.RunNo{no}, Max: 1, Lease: gone, Cancelled: cancelled}
				ls, err := l.Claim(t.Context(), c)
				if want := ledger.Claims(&c, state, wanted); err != nil || len(ls) > 0 != want {
					t.Errorf("%s, wanted %s, cancelled %v: got %+v, %v; want one claimed: %v", state, wanted, cancelled, ls, err, want)
				}
			}
		}
	}
}
