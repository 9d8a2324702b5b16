package webhooks

import (
	"fmt"
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/internal/ledger/ledgertest"
)

// userEvents are the platform's events of persons whom it names by a user id.
type userEvents struct{ at time.Time }

func (u userEvents) change(field, value string) string {
	return `{"object":"whatsapp_business_account","entry":[{"id":"1","changes":[{"field":"` + field +
		`","value":{"messaging_product":"whatsapp",
		"metadata":{"display_phone_number":"15555550100"},` + value + `}}]}]}`
}

func (u userEvents) stop(user, context string) string {
	return u.change("messages", fmt.Sprintf(`"messages":[{"from_user_id":%q,"id":"wamid.IN-%s","timestamp":"%d","type":"text",
		"text":{"body":"STOP"},"context":{"from":"15555550100","id":%q}}]`, user, user, u.at.Unix(), context))
}

func (u userEvents) button(user, context string) string {
	return u.change("messages", fmt.Sprintf(`"messages":[{"from_user_id":%q,"id":"wamid.IN-%s","timestamp":"%d","type":"button",
		"button":{"payload":"STOP","text":"Stop"},"context":{"from":"15555550100","id":%q}}]`, user, user, u.at.Unix(), context))
}

func (u userEvents) wish(user, value string) string {
	return u.change("user_preferences", fmt.Sprintf(`"user_preferences":[{"user_id":%q,"category":"marketing_messages","value":%q,
		"timestamp":%d}]`, user, value, u.at.Unix()))
}

func (u userEvents) status(message, number, user string) string {
	return u.change("messages", fmt.Sprintf(`"statuses":[{"id":%q,"status":"sent","timestamp":"%d","recipient_id":%q,"recipient_user_id":%q}]`,
		message, u.at.Unix(), number, user))
}

// A person whom events name by a user id alone is opted out under the number that a message of ours
// or a pair of the two tells, in every order, also after a restart.
func TestAnOptOutWithoutANumberIsObeyed(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	l, take, done := onLedger(t, folder)
	run := ledgertest.Load(t, l, 20)
	lease := ledgertest.ClaimAll(t, l, run.No)[0]
	if _, err := l.Intend(t.Context(), []campaign.Intent{{Lease: lease, Connection: "conn_1", To: 20}}); err != nil {
		t.Fatal(err)
	}
	if err := l.Record(t.Context(), ledgertest.Acceptances(lease, 0, 10)); err != nil {
		t.Fatal(err)
	}
	id := func(seq int64) string { return ledgertest.MessageID(run.No, seq) }
	rows := ledgertest.Rows(0, 20)
	user := func(seq int64) string { return fmt.Sprintf("US.100%d", seq) }
	out := func(seq int64, want bool, how string) {
		t.Helper()
		why, err := l.SuppressedKeys(t.Context(), []int64{rows[seq].Key}, true, nil, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		if got := why[rows[seq].Key] == campaign.OptedOut; got != want {
			t.Errorf("%s: opted out %v, want %v", how, got, want)
		}
	}
	u := userEvents{time.Now().Add(-time.Minute)}
	number := func(seq int64) string { return rows[seq].To[1:] }

	take(u.stop(user(0), id(0)))
	out(0, true, "a STOP in answer to our message")
	take(u.button(user(1), id(1)))
	out(1, true, "a button below our message")
	take(u.status(id(2), number(2), user(2)), u.wish(user(2), "stop"))
	out(2, true, "a preference after a status that named both ids")
	take(u.change("messages", fmt.Sprintf(`"contacts":[{"wa_id":%q,"user_id":%q}],"messages":[{"from":%[1]q,"id":"wamid.I","type":"text",
		"text":{"body":"hi"}}]`, number(3), user(3))), u.stop(user(3), ""))
	out(3, true, "a STOP after a message whose contact named both ids")
	take(u.change("messages", fmt.Sprintf(`"statuses":[{"id":%q,"status":"sent","timestamp":"1","recipient_user_id":%q}]`, id(4), user(4))),
		u.stop(user(4), ""))
	out(4, true, "a STOP after a status that named the user id alone")
	take(u.stop(user(5), ""))
	out(5, false, "a STOP of a stranger")
	take(u.status(id(5), number(5), user(5)))
	out(5, true, "a STOP before the status that named both ids")
	take(u.stop(user(6), ""), u.stop(user(11), id(11)), u.status(id(7), number(7), user(7)), u.wish("US.NOBODY", "stop"))
	u.at = u.at.Add(time.Second)
	take(u.wish(user(0), "resume"), u.wish("US.NOBODY", "resume"))
	out(0, false, "a preference that resumes, after a STOP")
	take("[" + u.stop(user(8), id(8)) + "," + u.wish(user(8), "resume") + "]")
	out(8, true, "a STOP and a resume of the same second in one body")

	done()
	l, take, done = onLedger(t, folder)
	defer func() { done() }()
	out(1, true, "a button, and a restart")
	take(u.stop(user(7), ""))
	out(7, true, "a STOP after a restart, the status before it")
	take(u.status(id(6), number(6), user(6)))
	out(6, true, "a status after a restart, the STOP before it")
	if w, err := l.Unattributed(t.Context()); err != nil || w.N != 3 || w.UserID == "" || w.Since.IsZero() {
		t.Errorf("%+v, %v wait; want 3: of the message 11, and of US.NOBODY", w, err)
	}
	if err := l.Record(t.Context(), ledgertest.Acceptances(lease, 11, 12)); err != nil {
		t.Fatal(err)
	}
	if swept, err := l.Sweep(t.Context(), time.Now()); err != nil || swept.Unattributed != 2 {
		t.Errorf("swept %+v, %v; want 2 that wait", swept, err)
	}
	out(11, true, "a STOP in answer to a message before its receipt was recorded")
}

// A failed message of a person without a number counts for the number that it was sent to.
func TestAFailureWithoutANumberIsAttributed(t *testing.T) {
	t.Parallel()
	l, take, done := onLedger(t, t.TempDir())
	defer done()
	run := ledgertest.Load(t, l, 2)
	lease := ledgertest.ClaimAll(t, l, run.No)[0]
	if _, err := l.Intend(t.Context(), []campaign.Intent{{Lease: lease, Connection: "conn_1", To: 2}}); err != nil {
		t.Fatal(err)
	}
	if err := l.Record(t.Context(), ledgertest.Acceptances(lease, 0, 2)); err != nil {
		t.Fatal(err)
	}
	for seq, code := range []int{131050, 131026} {
		take(fmt.Sprintf(`{"type":"message.status","data":{"messageId":%q,"status":"failed","timestamp":1790000000,"recipient_user_id":"US.%d",
			"error":{"code":%d}}}`, ledgertest.MessageID(run.No, int64(seq)), seq, code))
	}
	rows := ledgertest.Rows(0, 2)
	got, err := l.SuppressedKeys(t.Context(), []int64{rows[0].Key, rows[1].Key}, true, nil, time.Unix(1790000000, 0))
	if err != nil || got[rows[0].Key] != campaign.OptedOut || got[rows[1].Key] != campaign.Unreachable {
		t.Errorf("%v, %v; want the first opted out, the second unreachable", got, err)
	}
}

// The ledger is told of a pair once a day, not with each status of each message.
func TestAPairIsToldOnceADay(t *testing.T) {
	u := userEvents{time.Now()}
	pair := func(n int) string { return u.status(fmt.Sprintf("wamid.A%d", n), "15555550101", "US.1") }
	e, _ := folded(t, Options{}, pair(1), pair(2), pair(3))
	if len(e.Pairs) != 1 || e.Pairs[0].UserID != "US.1" || e.Pairs[0].Key != 15555550101 || e.Pairs[0].To != "+15555550101" {
		t.Errorf("told %+v, want US.1 with +15555550101 once", e.Pairs)
	}
	var p pairs
	now := time.Now()
	p.stored(e.Pairs, now)
	if got := [2]bool{p.known(e.Pairs[0], now), p.known(e.Pairs[0], now.Add(24*time.Hour))}; got != [2]bool{true, false} {
		t.Errorf("known today and tomorrow: %v, want true and false", got)
	}
	if e, _ = folded(t, Options{}, status(1, "sent", noon)); len(e.Pairs) != 0 {
		t.Errorf("a status without a user id told %+v, want nothing", e.Pairs)
	}
}
