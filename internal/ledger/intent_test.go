package ledger

import (
	"strings"
	"testing"
	"time"

	"campaignd/campaign"

	"github.com/google/go-cmp/cmp"
)

type intent = campaign.Intent

// ready is a segment of 0 to 8 at mark 2, in a running run of two deliveries more.
func ready(change func(*Sending, *intent)) (*Sending, *intent) {
	s := &Sending{Epoch: 7, Hi: 8, Mark: 2, State: campaign.Running, Wanted: campaign.WantRun, Budget: 5, Taken: 3}
	in := &intent{Lease: campaign.Lease{Segment: campaign.Segment{Run: 3}, Epoch: 7}, Connection: "conn_1", From: 2, To: 6}
	if change != nil {
		change(s, in)
	}
	return s, in
}

func TestAnIntentIsAdmittedFencedDeniedOrWrong(t *testing.T) {
	t.Parallel()
	none, fenced, denied := campaign.Granted{}, campaign.Granted{Fenced: true}, campaign.Granted{Denied: true, To: 2}
	ofConnection := campaign.Hold{Scope: campaign.HoldConnection, ID: "conn_1", Reason: "131048"}
	ofAnother := campaign.Hold{Scope: campaign.HoldConnection, ID: "conn_2", Reason: "131048"}
	ofAccount := campaign.Hold{Scope: campaign.HoldAccount, ID: "acc", Reason: "131042"}
	for name, c := range map[string]struct {
		change  func(*Sending, *intent)
		want    campaign.Granted
		ok      bool
		problem string
	}{
		"Admitted":       {nil, none, true, ""},
		"BoundToThisOne": {func(s *Sending, _ *intent) { s.Connection = "conn_1" }, none, true, ""},
		"ReadyRun":       {func(s *Sending, _ *intent) { s.State = campaign.Ready }, none, true, ""},
		"ToTheEnd":       {func(_ *Sending, in *intent) { in.To = 8 }, none, true, ""},
		"OtherEpoch":     {func(s *Sending, _ *intent) { s.Epoch = 8 }, fenced, false, ""},
		"OtherMark":      {func(s *Sending, _ *intent) { s.Mark = 3 }, fenced, false, ""},
		"Done":           {func(s *Sending, _ *intent) { s.Done = true }, fenced, false, ""},
		"PauseWanted":    {func(s *Sending, _ *intent) { s.Wanted = campaign.WantPause }, denied, false, ""},
		"Paused":         {func(s *Sending, _ *intent) { s.State = campaign.Paused }, denied, false, ""},
		"InTime":         {func(_ *Sending, in *intent) { in.Until = time.Now().Add(time.Hour) }, none, true, ""},
		"Late": {func(_ *Sending, in *intent) { in.Until = time.Now() },
			campaign.Granted{Denied: true, To: 2, Limit: campaign.Limit{By: campaign.ByWindow}}, false, ""},
		"HeldByAnother": {func(s *Sending, _ *intent) { s.Holds = []campaign.Hold{ofAnother} }, none, true, ""},
		"HeldByItsConnection": {func(s *Sending, _ *intent) { s.Holds = []campaign.Hold{ofConnection} },
			campaign.Granted{Denied: true, To: 2, HeldBy: ofConnection}, false, ""},
		"HeldByItsAccount": {func(s *Sending, in *intent) { s.Holds, in.Origin.Account = []campaign.Hold{ofAccount}, "acc" },
			campaign.Granted{Denied: true, To: 2, HeldBy: ofAccount}, false, ""},
		"OfAnotherConnection": {func(s *Sending, _ *intent) { s.Connection = "conn_2" }, none, false, "has the connection conn_2"},
		"NoConnection":        {func(_ *Sending, in *intent) { in.Connection = "" }, none, false, "an intent needs a connection"},
		"Backwards":           {func(_ *Sending, in *intent) { in.To = 1 }, none, false, "an intent for 2 to 1 of 0 to 8"},
		"BeyondTheEnd":        {func(_ *Sending, in *intent) { in.To = 9 }, none, false, "an intent for 2 to 9 of 0 to 8"},
		"RetryOfTheNext":      {func(_ *Sending, in *intent) { in.Retries = retries(8) }, none, false, "retry of seq 8 is not of segment 0"},
		"RetryOfTheEarlier":   {func(s *Sending, in *intent) { s.Lo, in.Retries = 1, retries(0) }, none, false, "retry of seq 0 is not of"},
		"RetryOfTheBorders":   {func(_ *Sending, in *intent) { in.Retries = retries(0, 7) }, none, true, ""},
	} {
		s, in := ready(c.change)
		got, ok, err := s.Admit(in)
		if d := cmp.Diff(c.want, got); d != "" || ok != c.ok {
			t.Errorf("%s: admitted %v, want %v; the answer (-want +got):\n%s", name, ok, c.ok, d)
		}
		if (err != nil) != (c.problem != "") || err != nil && !strings.Contains(err.Error(), c.problem) {
			t.Errorf("%s: %v; want an error with %q, none if that is empty", name, err, c.problem)
		}
	}
}

// retries are second attempts.
func retries(seqs ...int64) (all []campaign.Retry) {
	for _, seq := range seqs {
		all = append(all, campaign.Retry{Delivery: campaign.Delivery{Seq: seq}, Attempt: 2})
	}
	return all
}

func TestAnIntentIsGrantedUntilTheBudgetEnds(t *testing.T) {
	t.Parallel()
	const run = 3
	row := func(seq int64) int64 { return RowID(run, seq) }
	stop := func(seqs ...int64) map[int64]campaign.SkipReason {
		m := map[int64]campaign.SkipReason{}
		for _, seq := range seqs {
			m[row(seq)] = campaign.OptedOut
		}
		return m
	}
	waiting := func(state Outcome, attempt int, seqs ...int64) map[int64]Waiting {
		m := map[int64]Waiting{}
		for _, seq := range seqs {
			m[row(seq)] = Waiting{state, attempt}
		}
		return m
	}
	type skips = map[int64]campaign.SkipReason
	over := func(to int64, s skips) campaign.Granted {
		return campaign.Granted{To: to, OverBudget: true, Skipped: s}
	}
	first := []campaign.Retry{{Delivery: campaign.Delivery{Seq: 1}, Attempt: 1}}
	for name, c := range map[string]struct {
		change func(*Sending, *intent)
		rows   SendingRows
		want   Decision
	}{
		"PartOfTheGroup": {nil, SendingRows{}, Decision{Answer: over(4, nil), Write: true, Mark: 4, Count: 2}},
		"NoBudget": {func(s *Sending, _ *intent) { s.Budget = 0 }, SendingRows{},
			Decision{Answer: campaign.Granted{To: 6}, Write: true, Mark: 6, Count: 4}},
		"ResumedWhileLeased": {func(s *Sending, in *intent) { s.State, in.To = campaign.Ready, 3 }, SendingRows{},
			Decision{Answer: campaign.Granted{To: 3}, Write: true, Mark: 3, Count: 1, Start: true}},
		"OutcomesAndStoppedCostNothing": {nil, SendingRows{WithOutcome: map[int64]bool{row(2): true, row(3): true}, Suppressed: stop(3, 4)},
			Decision{Write: true, Mark: 6, Count: 1, Skip: skips{4: campaign.OptedOut},
				Answer: campaign.Granted{To: 6, Skipped: skips{4: campaign.OptedOut}}}},
		"NothingLeft": {func(s *Sending, _ *intent) { s.Taken = 5 }, SendingRows{},
			Decision{Answer: campaign.Granted{To: 2, OverBudget: true, Denied: true}}},
		"MoreTakenThanItAllows": {func(s *Sending, _ *intent) { s.Taken = 6 }, SendingRows{},
			Decision{Answer: campaign.Granted{To: 2, OverBudget: true, Denied: true}}},
		"NothingAskedFor": {func(s *Sending, in *intent) { s.Taken, in.To = 5, 2 }, SendingRows{},
			Decision{Answer: over(2, nil), Write: true, Mark: 2}},
		"ARetryThatWasCounted": {func(s *Sending, in *intent) { s.Taken, in.To, in.Retries = 5, 2, retries(1) },
			SendingRows{Retries: waiting(Deferred, 1, 1)},
			Decision{Answer: over(2, nil), Write: true, Mark: 2, Grant: retries(1)}},
		"ARetryThatWasGivenBack": {func(_ *Sending, in *intent) { in.To, in.Retries = 3, first },
			SendingRows{Retries: waiting(Deferred, 0, 1)},
			Decision{Answer: over(3, nil), Write: true, Mark: 3, Count: 2, Grant: first}},
		"ARetryBeyondTheBudget": {func(s *Sending, in *intent) { s.Taken, in.To, in.Retries = 5, 2, first },
			SendingRows{Retries: waiting(Deferred, 0, 1)},
			Decision{Answer: campaign.Granted{To: 2, OverBudget: true, Denied: true}}},
		"ARetryBeyondTheBudgetOfTheGroup": {func(_ *Sending, in *intent) { in.To, in.Retries = 4, first },
			SendingRows{Retries: waiting(Deferred, 0, 1)}, // it is not granted: it must not be posted
			Decision{Answer: over(4, skips{1: ""}), Write: true, Mark: 4, Count: 2}},
		"OneBeyondItBesideAStoppedOne": {func(s *Sending, in *intent) { s.Taken, in.To, in.Retries = 5, 2, append(retries(0), first...) },
			SendingRows{Retries: map[int64]Waiting{row(0): {Deferred, 1}, row(1): {Deferred, 0}}, Suppressed: stop(0)},
			Decision{Answer: over(2, skips{0: campaign.OptedOut, 1: ""}), Write: true, Mark: 2, SkipRetries: skips{0: campaign.OptedOut}}},
		"StaleRetries": {func(_ *Sending, in *intent) { in.To, in.Retries = 2, retries(0, 1) },
			SendingRows{Retries: waiting(Retrying, 1, 1), Suppressed: stop(0, 1)},
			Decision{Answer: campaign.Granted{To: 2, Skipped: skips{0: "", 1: ""}}, Write: true, Mark: 2}},
		"ARetryOfAnotherAttempt": {func(_ *Sending, in *intent) { in.To, in.Retries = 2, retries(1) },
			SendingRows{Retries: waiting(Deferred, 2, 1)},
			Decision{Answer: campaign.Granted{To: 2, Skipped: skips{1: ""}}, Write: true, Mark: 2}},
		"TheSameRetryTwice": {func(_ *Sending, in *intent) { in.To, in.Retries = 2, retries(1, 1) },
			SendingRows{Retries: waiting(Deferred, 1, 1)},
			Decision{Answer: campaign.Granted{To: 2, Skipped: skips{1: ""}}, Write: true, Mark: 2, Grant: retries(1)}},
	} {
		s, in := ready(c.change)
		if d := cmp.Diff(c.want, s.Grant(in, c.rows)); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
}
