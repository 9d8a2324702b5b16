package ledger

import (
	"testing"

	"campaignd/campaign"
)

// An acceptance replaces every outcome except an acceptance; other results replace only the outcome
// of their own attempt.
func TestOnlyItsOwnAttemptIsAnswered(t *testing.T) {
	t.Parallel()
	states := []Outcome{Deferred, Retrying, Doubt, Unknown, Accepted, Refused, Skipped}
	for _, c := range []struct {
		kind      campaign.ResultKind
		same      []Outcome // replaced by a result of the same attempt
		different []Outcome // of another attempt
	}{
		{campaign.ResultAccepted, []Outcome{Deferred, Retrying, Doubt, Unknown, Refused, Skipped},
			[]Outcome{Deferred, Retrying, Doubt, Unknown, Refused, Skipped}},
		{campaign.ResultRefused, []Outcome{Retrying, Doubt}, nil},
		{campaign.ResultDeferred, []Outcome{Retrying, Doubt}, nil},
		{campaign.ResultDoubt, []Outcome{Retrying}, nil},
		{99, nil, nil},
	} {
		for attempt, want := range map[int][]Outcome{1: c.different, 2: c.same, 3: c.different} {
			for _, o := range states {
				wanted := false
				for _, w := range want {
					wanted = wanted || w == o
				}
				m, got := MergeOf(&campaign.Result{Kind: c.kind, Attempt: attempt}).Over(Row{State: o, Attempt: 2})
				if got != wanted || m.Noted {
					t.Errorf("kind %d of attempt %d on state %d of attempt 2: %v, noted %v; want %v, false", c.kind, attempt, o, got, m.Noted, wanted)
				}
			}
		}
	}
}

func TestOnlyAWebhooksStatusHasARank(t *testing.T) {
	t.Parallel()
	for s, want := range map[campaign.Status]Rank{campaign.Sent: 1, campaign.Failed: 2, campaign.Delivered: 3, campaign.Read: 4,
		campaign.Accepted: 0, campaign.Refused: 0, campaign.Queued: 0, "": 0} {
		if got, err := StatusRank(campaign.StatusEvent{MessageID: "wamid.1", Status: s}); got != want || (err == nil) != (want > 0) {
			t.Errorf("%q: rank %d, %v; want %d, and an error if that is 0", s, got, err, want)
		}
		if got, err := StatusRank(campaign.StatusEvent{Status: s}); got != 0 || err == nil {
			t.Errorf("%q without a message id: rank %d, %v; want 0 and an error", s, got, err)
		}
	}
}
