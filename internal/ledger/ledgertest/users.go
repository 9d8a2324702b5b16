package ledgertest

import (
	"fmt"
	"testing"
	"time"

	"campaignd/campaign"
)

// wants is a wish of a person whom the event names by a user id alone.
func wants(user, answers string, resume bool, second int) campaign.Wish {
	return campaign.Wish{UserID: user, Answers: answers, Resume: resume, Suppression: campaign.Suppression{Scope: campaign.ScopeMarketing,
		Source: "stop", At: at(second), ReceivedAt: at(second), Proof: campaign.Proof{User: user, Message: fmt.Sprint("wamid.in", user, second)}}}
}

// has says that a person with the user id has the number of seq.
func has(user string, seq int64) campaign.Events {
	return campaign.Events{Pairs: []campaign.Pair{{UserID: user, Key: key(seq), To: fmt.Sprintf("+%d", key(seq)), At: at(0)}}}
}

// wished is a batch of wishes.
func wished(ws ...campaign.Wish) campaign.Events { return campaign.Events{Wishes: ws} }

// opted fails unless exactly the numbers of these seqs are opted out, and that many wishes wait.
func (f *fixture) opted(waiting int64, how string, seqs ...int64) {
	f.Helper()
	var got []int64
	for _, s := range f.suppressed() {
		if s.To != fmt.Sprintf("+%d", s.Key) || s.Proof.User == "" {
			f.Errorf("%s: %+v; want its number and its user id", how, s)
		}
		got = append(got, s.Key-key(0))
	}
	w, err := f.l.Unattributed(f.ctx)
	f.ok(err)
	if fmt.Sprint(got) != fmt.Sprint(seqs) || w.N != waiting {
		f.Errorf("%s: %v are opted out and %+v wait; want %v and %d", how, got, w, seqs, waiting)
	}
}

var userPromises = []promise{
	{"AWishIsOfTheRecipientOfItsMessage", func(f *fixture) {
		r := f.accepts(3)
		a := f.applied(wished(wants("US.1", messageID(r.No, 1), false, 10)))
		f.opted(0, "in answer to the message of 1", 1)
		if a.Unattributed != 0 {
			f.Errorf("applied %+v; want none unattributed", a)
		}
		f.applied(wished(wants("US.1", "", true, 20))) // the answer has told the number of US.1
		f.opted(0, "and resumed by user id")
		f.applied(wished(wants("US.1", messageID(r.No, 1), false, 10)))
		f.opted(0, "the first again")
	}},
	{"AWishIsOfTheNumberThatAPairTells", func(f *fixture) {
		f.applied(has("US.1", 1))
		f.applied(wished(wants("US.1", "", false, 10)))
		f.opted(0, "a pair, then a wish", 1)
		a := f.applied(wished(wants("US.2", "", false, 10), wants("US.2", "", true, 5)))
		f.opted(2, "a wish without a pair", 1)
		if a.Unattributed != 2 {
			f.Errorf("applied %+v; want 2 unattributed", a)
		}
		if a := f.applied(wished(wants("US.2", "", false, 10))); a.Unattributed != 0 {
			f.Errorf("the same wish again: %+v; want none unattributed", a)
		}
		f.applied(has("US.3", 3))
		f.opted(2, "the pair of another person", 1)
		f.applied(has("US.2", 2))
		f.opted(0, "and then the pair", 1, 2)
		both := wished(wants("US.4", "", false, 10))
		both.Pairs = has("US.4", 4).Pairs
		f.applied(both)
		f.opted(0, "both in one batch", 1, 2, 4)
	}},
	{"APairIsToldByTheRecipientOfAMessage", func(f *fixture) {
		r := f.accepts(2)
		f.applied(campaign.Events{Pairs: []campaign.Pair{{UserID: "US.1", Message: messageID(r.No, 1)},
			{UserID: "US.2", Message: "wamid.other"}}})
		f.applied(wished(wants("US.1", "", false, 10), wants("US.2", "", false, 10)))
		f.opted(1, "a status that named the user id alone", 1)
	}},
	{"AStopIsOfEachNumberAndAResumeOfOne", func(f *fixture) {
		f.applied(has("US.1", 1))
		f.applied(has("US.1", 2))
		f.applied(wished(wants("US.1", "", false, 10)))
		f.opted(0, "a person with two numbers", 1, 2)
		f.applied(wished(wants("US.1", "", true, 20)))
		f.opted(1, "who resumes", 1, 2)
	}},
	{"AWishWaitsForItsReceipt", func(f *fixture) {
		r, l := f.begun(3, 3)
		f.applied(wished(wants("US.1", messageID(r.No, 1), false, 10)))
		f.opted(1, "an answer to a message that no delivery has")
		if s := f.sweep(); s.Unattributed != 1 {
			f.Errorf("swept %+v; want 1 that waits", s)
		}
		f.record(acceptance(l, 1))
		if s := f.sweep(); s.Unattributed != 0 {
			f.Errorf("swept %+v; want none that waits", s)
		}
		f.opted(0, "when the receipt is recorded", 1)
	}},
	{"AWishThatWaitedCountsFromItsFirstReceipt", func(f *fixture) {
		resume := wants("US.1", "", true, 240)
		for _, received := range []int{0, 100} {
			resume.ReceivedAt = at(received)
			f.applied(wished(resume))
		}
		f.applied(wished(wants("US.1", "", false, 10)))
		f.applied(has("US.1", 1))
		f.opted(0, "a resume from the future before the stop", 1)
		resume.ReceivedAt = at(5000)
		f.applied(wished(resume))
		f.opted(0, "and again", 1)
	}},
	{"AMoveOfAUserIDTakesItsStopsAlong", func(f *fixture) {
		f.applied(has("US.1", 1))
		f.applied(wished(wants("US.1", "", false, 10)))
		to := func(user string, seq int64) campaign.Events {
			return campaign.Events{Moved: []campaign.Move{{FromUser: user, To: key(seq), ToPhone: fmt.Sprintf("+%d", key(seq)), At: at(20)}}}
		}
		f.applied(to("US.1", 5))
		f.opted(0, "a move of a person with a pair", 1, 5)
		if a := f.applied(to("US.2", 6)); a.Unattributed != 1 {
			f.Errorf("a move of a stranger: %+v; want it unattributed", a)
		}
	}},
	{"AMoveToANumberThatIsToldTakesItsStopsAlong", func(f *fixture) {
		moved := func(with campaign.Events, to int64, second int) {
			f.Helper()
			with.Moved = []campaign.Move{{FromUser: "US.1", To: key(to), ToPhone: fmt.Sprintf("+%d", key(to)), At: at(second)}}
			if a := f.applied(with); a.Unattributed != 0 {
				f.Errorf("a move of US.1 to %d: %+v; want it attributed", to, a)
			}
		}
		f.applied(has("US.1", 1))
		f.applied(campaign.Events{Suppressions: []campaign.Suppression{campaign.NewSuppression(key(1), fmt.Sprintf("+%d", key(1)),
			campaign.ScopeMarketing, "stop", at(10)).Proven(campaign.Proof{User: "US.1"})}})
		moved(has("US.1", 5), 5, 20)
		f.opted(0, "the event tells the new number of the user id too", 1, 5)
		f.applied(has("US.1", 6))
		moved(campaign.Events{}, 6, 30)
		f.opted(0, "and an event before a second move did", 1, 5, 6)
	}},
	{"AWishOlderThanAYearIsForgotten", func(f *fixture) {
		f.applied(wished(wants("US.1", "", false, 10)))
		if s, err := f.l.Sweep(f.ctx, at(0).AddDate(1, 0, 0)); err != nil || s.Unattributed != 1 {
			f.Errorf("after a year: %+v, %v; want 1 that waits", s, err)
		}
		if s, err := f.l.Sweep(f.ctx, at(0).AddDate(1, 0, 2)); err != nil || s.Unattributed != 0 {
			f.Errorf("and two days: %+v, %v; want none that waits", s, err)
		}
	}},
	{"RetentionDeletesPairs", func(f *fixture) {
		f.applied(has("US.1", 1))
		f.done(f.l.Retire(f.ctx, at(0)))
		f.applied(wished(wants("US.1", "", false, 10)))
		f.opted(0, "a pair of the last day that is kept", 1)
		f.done(f.l.Retire(f.ctx, at(1)))
		f.applied(wished(wants("US.1", "", false, 11)))
		f.opted(1, "a pair that is too old", 1)
	}},
}

// applied is Apply without an error.
func (f *fixture) applied(e campaign.Events) campaign.Applied {
	f.Helper()
	a, err := f.l.Apply(f.ctx, e)
	f.ok(err)
	return a
}

// An erasure removes the user ids of a person, and their wishes.
func anErasureRemovesUserIDs(t *testing.T, l Tables) {
	apply := func(e campaign.Events) {
		t.Helper()
		if _, err := l.Apply(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	apply(has("US.1", 1))
	apply(has("US.1", 2))
	apply(has("US.3", 3))
	apply(wished(wants("US.1", "", true, 10), wants("US.4", "", false, 10))) // two numbers, so it waits
	erase(t, l, 1, campaign.Erased{})
	apply(has("US.1", 1))
	nowhere(t, l, 1)
	for query, want := range map[string]string{
		`SELECT CAST(count(*) AS text) FROM wish WHERE user_id = 'US.1'`:      "0",
		`SELECT CAST(count(*) AS text) FROM wish`:                             "1",
		`SELECT CAST(count(*) AS text) FROM user_pair WHERE user_id = 'US.3'`: "1",
	} {
		if got := stored(t, l, query); got != want {
			t.Errorf("%s: %s; want %s", query, got, want)
		}
	}
}

// The oldest wishes beyond the cap go first.
func theOldestWishesGoFirst(t *testing.T, l Tables) {
	alter(t, l, `INSERT INTO wish (user_id, answers, mh, event, scope, resume, source, at, until, received, proof)
		WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100002)
		SELECT 'US.' || CAST(i AS text), '', 0, '', 'marketing', false, 'stop', 1, 0, 4000000000000, '' FROM n`)
	if s, err := l.Sweep(t.Context(), time.Now()); err != nil || s.Unattributed != 100_000 {
		t.Errorf("swept %+v, %v; want 100000 that wait", s, err)
	}
	if got := stored(t, l, `SELECT user_id FROM wish ORDER BY id LIMIT 1`); got != "US.3" {
		t.Errorf("the oldest is %s; want US.3", got)
	}
}
