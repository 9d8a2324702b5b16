package wording

import (
	"testing"
	"time"

	"campaignd/campaign"

	"github.com/google/go-cmp/cmp"
)

func TestTheStoryOfARunIsTold(t *testing.T) {
	t.Parallel()
	state := func(s campaign.State, detail string) campaign.HistoryEntry {
		return campaign.HistoryEntry{Kind: campaign.HistoryState, Value: string(s), Detail: detail}
	}
	entry := func(k campaign.HistoryKind, value, id, detail string) campaign.HistoryEntry {
		return campaign.HistoryEntry{Kind: k, Value: value, ID: id, Detail: detail}
	}
	hold := func(k campaign.HistoryKind, hour int, by campaign.HoldSource, who, why string, until int) campaign.HistoryEntry {
		at := func(hour int) time.Time { return time.Date(2026, 9, 21, hour, 0, 0, 0, time.UTC) }
		e := campaign.HistoryEntry{At: at(hour), Kind: k, Value: string(campaign.HoldConnection), ID: "conn_2", Detail: string(by), Source: by,
			Who: who, Why: why}
		if k == campaign.HistoryHoldEnded && by == campaign.HoldByEvent {
			e.Detail = string(campaign.HoldByOperator)
		}
		if until > 0 {
			e.Until = at(until)
		}
		return e
	}
	by := func(who string, e campaign.HistoryEntry) campaign.HistoryEntry { e.Who = who; return e }
	wants := func(who string, w campaign.Wanted) campaign.HistoryEntry {
		return by(who, entry(campaign.HistoryWanted, string(w), "", ""))
	}
	h := campaign.History{Entries: []campaign.HistoryEntry{
		state(campaign.WaitingApproval, ""), wants("ada", campaign.WantPause), by("obi", state(campaign.Ready, "")),
		by("ada", entry(campaign.HistoryCanary, "", "", "")), wants("ada", campaign.WantRun), state(campaign.Running, ""),
		entry(campaign.HistoryCanary, "", "", ""),
		wants("nia", campaign.WantPause), state(campaign.Paused, "operator: paused by the operator"),
		wants("obi", campaign.WantRun), by("obi", state(campaign.Ready, "")), state(campaign.Running, ""),
		state(campaign.Paused, "operator: lunch"), state(campaign.Running, ""), // of a run that was launched as paused
		by("ada", entry(campaign.HistoryLimits, `{"rate":12}`, "", "")), entry(campaign.HistoryLimits, `{"rate":12,"weight":3}`, "", ""),
		entry(campaign.HistoryHold, string(campaign.HoldConnection), "conn_1", "131048"),
		entry(campaign.HistoryHoldEnded, string(campaign.HoldConnection), "conn_1", "131048"),
		entry(campaign.HistoryHold, string(campaign.HoldRun), campaign.HoldAny, "maintenance"),
		hold(campaign.HistoryHold, 0, campaign.HoldByOperator, "ada", "a new line", 2), // as the ledger writes it
		hold(campaign.HistoryHold, 1, campaign.HoldByOperator, "nia", "", 0),
		hold(campaign.HistoryHoldEnded, 2, campaign.HoldByOperator, "obi", "", 0),
		hold(campaign.HistoryHold, 3, campaign.HoldByBreaker, "", "9 of 10 answers prove nothing", 4),
		hold(campaign.HistoryHold, 5, campaign.HoldByBreaker, "", "9 of 10 answers prove nothing", 6),
		hold(campaign.HistoryHoldEnded, 6, campaign.HoldByBreaker, "", "", 0),
		hold(campaign.HistoryHold, 7, campaign.HoldByOperator, "", "", 0), hold(campaign.HistoryHoldEnded, 8, campaign.HoldByEvent, "", "", 0),
		state(campaign.Paused, "breaker: 131049"), by("nia", state(campaign.Ready, "")), state(campaign.Paused, "ledger"),
		wants("ada", campaign.WantCancel), by("ada", state(campaign.Ready, "")),
		state(campaign.RunStateFailed, ": the template is gone"), state(campaign.Cancelled, ""), state(campaign.Finished, ""),
	}}
	var got []string
	for _, s := range Story(h, campaign.Run{CreatedAt: time.Unix(1, 0), LaunchedBy: "desk"}) {
		got = append(got, s.Sentence)
	}
	want := []string{
		"launched by desk", "it waited for its approval", "paused by ada", "approved by obi", "the other rows were released by ada",
		"resumed by ada", "sending began", "the other rows were released after the canary", "paused by nia", "resumed by obi",
		"paused by an operator: lunch", "its limits were changed by ada: 12 messages per second",
		"its limits were changed by an operator: weight 3",
		"connection conn_1 was held: the number is restricted because people blocked or reported it; " +
			"check its quality before going on (131048)", "the hold of connection conn_1 ended",
		"every run was held: maintenance",
		"connection conn_2 was held by ada until 2026-09-21 02:00:00 UTC: a new line", "the hold of connection conn_2 was renewed by nia",
		"the hold of connection conn_2 was lifted by obi",
		"connection conn_2 was held until 2026-09-21 04:00:00 UTC: 9 of 10 answers prove nothing (breaker)",
		"connection conn_2 was held again until 2026-09-21 06:00:00 UTC: 9 of 10 answers prove nothing (breaker)",
		"the hold of connection conn_2 ended by a proven answer", "connection conn_2 was held by an operator",
		"the hold of connection conn_2 ended by an event of the service",
		"paused by its breaker: 131049", "resumed by nia", "paused, because the ledger went back in time", "cancelled by ada",
		"failed: the template is gone", "ended as cancelled", "finished",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("story (-want +got):\n%s", d)
	}
}

// A pause comes with the command that ends it.
func TestEveryPauseNamesItsRemedy(t *testing.T) {
	if got, want := Remedy("spring-7"), "`campaignd resume spring-7` resumes it"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
