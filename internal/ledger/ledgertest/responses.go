package ledgertest

import (
	"testing"
	"time"

	"campaignd/campaign"
)

// attributed attributes what waits, and fails unless it judged want.
func (f *fixture) attributed(want int) {
	f.Helper()
	if n, _, err := f.l.AttributeResponses(f.ctx, 100); err != nil || n != want {
		f.Errorf("judged %d replies, %v; want %d", n, err, want)
	}
}

// responded fails unless a run has these responses.
func (f *fixture) responded(about string, no campaign.RunNo, replied, optedOut int64) {
	f.Helper()
	want := campaign.Responses{Replied: replied, OptedOut: optedOut}
	if r, err := f.l.Responses(f.ctx, no); err != nil || r == nil || *r != want {
		f.Errorf("%s: responses to run %d: %+v, %v; want %+v", about, no, r, err, want)
	}
}

// acceptedAt makes a run over n recipients whose messages were accepted at a second.
func (f *fixture) acceptedAt(n int64, second int) campaign.Run {
	f.Helper()
	r, l := f.leased(n, long)
	f.intend(intent(l, 0, n))
	for seq := range n {
		a := acceptance(l, seq)
		a.At = at(second)
		f.record(a)
	}
	return r
}

// stops is the opt-out of a recipient by a message.
func stops(seq int64, second int, answers string) campaign.Suppression {
	return campaign.NewSuppression(key(seq), "", campaign.ScopeMarketing, "stop", at(second)).Proven(campaign.Proof{Answers: answers})
}

var responsePromises = []promise{
	{"AReplyBelongsToTheMessageThatItAnswers", func(f *fixture) {
		first, second := f.acceptedAt(5, 10), f.acceptedAt(5, 1000)
		f.numbersKept(2)
		e := campaign.Events{
			Replies: []campaign.Reply{
				{Key: key(0), Answers: messageID(first.No, 0), At: at(2000)},
				{Answers: messageID(first.No, 1), At: at(2000)}, // of a person without a number
				{Key: key(2), At: at(2000)},                     // the last message is that of the second run
				{Key: key(3), At: at(900)},                      // it is older than that
				{Key: key(4), Answers: "wamid.other", At: at(2000)},
				{Key: key(77), At: at(2000)}, // nobody's
				{Key: key(2), At: at(2500)},  // once more
			},
			Suppressions: []campaign.Suppression{stops(0, 2000, messageID(first.No, 0)), stops(3, 1001, ""), stops(88, 2000, ""),
				campaign.NewSuppression(key(1), "", campaign.ScopeMarketing, "failed:131050", at(2000))},
		}
		f.done(f.l.Apply(f.ctx, e))
		f.responded("before it is attributed", first.No, 0, 0)
		f.attributed(10)
		for range 2 {
			f.responded("the first run", first.No, 3, 1)
			f.responded("the second run", second.No, 2, 1)
			f.done(f.l.Apply(f.ctx, e)) // the service delivers it again
			f.attributed(10)
			f.attributed(0)
		}
	}},
	{"AReplyAfterAWeekBelongsToNoRun", func(f *fixture) {
		r := f.acceptedAt(5, 1000)
		f.numbersKept(1)
		week := int(campaign.ResponseFor / time.Second)
		f.done(f.l.Apply(f.ctx, campaign.Events{Replies: []campaign.Reply{
			{Key: key(0), At: at(1000 + week)}, {Key: key(1), At: at(1001 + week)}, // the last moment, and one second later
			{Key: key(2), At: at(1000 - 60)}, {Key: key(3), At: at(1000 - 61)}, // of a clock that is late
			{Key: key(4), Answers: messageID(r.No, 4), At: at(9000 + week)},
		}}))
		f.attributed(5)
		f.responded("a week later", r.No, 3, 0)
	}},
	{"AReplyWaitsUntilItsNumberCanBeFound", func(f *fixture) {
		r := f.acceptedAt(2, 10)
		f.done(f.l.Apply(f.ctx, campaign.Events{Replies: []campaign.Reply{{Key: key(0), At: at(20)},
			{Key: key(1), Answers: messageID(r.No, 1), At: at(20)}}}))
		f.attributed(1)
		f.responded("before the numbers are kept", r.No, 1, 0)
		f.numbersKept(1)
		f.attributed(1)
		f.responded("after the numbers are kept", r.No, 2, 0)
	}},
	{"ResponsesOutliveTheirRows", func(f *fixture) {
		r := f.over(10)
		f.done(f.l.Apply(f.ctx, campaign.Events{Suppressions: []campaign.Suppression{stops(5, 20, messageID(r.No, 5))},
			Replies: []campaign.Reply{{Answers: messageID(r.No, 6), At: at(20)}}}))
		f.attributed(2)
		f.done(f.l.Erase(f.ctx, key(5)))
		f.responded("after an erasure", r.No, 1, 1)
		f.retires(later(), 10)
		f.responded("after retention", r.No, 1, 1)
	}},
}

// A run from before the ledger kept responses has none, not 0.
func responsesAreUnknownBeforeTheyWereKept(t *testing.T, l Tables) {
	r := Load(t, l, 2)
	if got, err := l.Responses(t.Context(), r.No); err != nil || got == nil {
		t.Errorf("responses: %+v, %v; want some", got, err)
	}
	alter(t, l, `UPDATE response_state SET since = (SELECT max(created_at) + 1 FROM run)`)
	if got, err := l.Responses(t.Context(), r.No); err != nil || got != nil {
		t.Errorf("responses of an older run: %+v, %v; want none", got, err)
	}
}
