package notify

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"campaignd/campaign"
)

func TestARunSettlesWhenNoStatusIsOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		o, r := &outbox{last: began}, &receiver{answer: always(200)}
		o.tallies = []campaign.Tally{{Status: campaign.Sent, N: 1}, {Status: campaign.Delivered, N: 4}}
		o.add(campaign.Notification{Destination: "ops", Kind: campaign.NotifyRunSettled, Run: 7, Campaign: "spring",
			State: campaign.NotificationWaiting})
		stop := running(t, o, r, 1, "ops")
		time.Sleep(time.Hour)
		stop()
		if r.tries() != 0 {
			t.Fatalf("got %d requests while a message is sent and not delivered, want none", r.tries())
		}
		o.tallies = []campaign.Tally{{Status: campaign.Delivered, N: 5}}
		o.last = time.Now()
		defer running(t, o, r, 1, "ops")()
		time.Sleep(quietTime - time.Second)
		if r.tries() != 0 {
			t.Errorf("got %d requests while a read may follow, want none", r.tries())
		}
		time.Sleep(time.Hour)
		var got Message
		if r.tries() != 1 || json.Unmarshal([]byte(r.bodies[0]), &got) != nil {
			t.Fatalf("got %d requests with %q, want one with JSON", r.tries(), r.bodies)
		}
		want := Data{Text: "spring-7 is settled (5 delivered)", Run: "spring-7", Campaign: "spring"}
		if got.Type != campaign.NotifyRunSettled || !got.Timestamp.Equal(began) || got.Data.Text != want.Text || got.Data.Run != want.Run ||
			got.Data.Totals["delivered"] != 5 {
			t.Errorf("got %+v, want %+v at %s", got, want, began)
		}
	})
}

// A status that never comes does not keep a run open for ever.
func TestARunSettlesAfterAWeekWhateverIsOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, r := &outbox{last: time.Now()}, &receiver{answer: always(200)}
		o.tallies = []campaign.Tally{{Status: campaign.Sent, N: 1}, {Status: campaign.Delivered, N: 4}}
		o.add(campaign.Notification{Destination: "ops", Kind: campaign.NotifyRunSettled, Run: 7, Campaign: "spring",
			State: campaign.NotificationWaiting})
		defer looking(t, time.Minute, o, r, 1, "ops")()
		const week = 7 * 24 * time.Hour
		time.Sleep(week - time.Hour)
		if r.tries() != 0 {
			t.Errorf("an hour before a week: got %d requests, want none", r.tries())
		}
		time.Sleep(2*time.Hour + week/10)
		if r.tries() != 1 {
			t.Errorf("after a week: got %d requests, want one", r.tries())
		}
	})
}

// outboxHold is a hold of connection conn_1 by a refusal.
func outboxHold(since, until time.Time) campaign.Hold {
	return campaign.Hold{Scope: campaign.HoldConnection, ID: "conn_1", Reason: "130429",
		Source: campaign.HoldByRefusal, Since: since, Until: until}
}

func TestAnEndOfAHoldIsToldWhenItStaysAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		o, r := &outbox{}, &receiver{answer: always(200)}
		o.holds = []campaign.Hold{outboxHold(began, time.Time{})}
		o.add(campaign.Notification{Destination: "ops", Kind: campaign.NotifyHoldEnded, Subject: "connection conn_1", Reason: "130429",
			State: campaign.NotificationWaiting})
		defer running(t, o, r, 1, "ops")()
		time.Sleep(time.Hour)
		ended := time.Now()
		o.setHold(outboxHold(began, ended))
		time.Sleep(quietTime - 5*time.Second)
		back := time.Now().Add(time.Second)
		o.setHold(outboxHold(began, back)) // the same hold
		time.Sleep(quietTime - lookAgain)
		if r.tries() != 0 {
			t.Fatalf("got %d requests while the hold may come back, want none", r.tries())
		}
		time.Sleep(time.Hour)
		var got Message
		if r.tries() != 1 || json.Unmarshal([]byte(r.bodies[0]), &got) != nil {
			t.Fatalf("got %d requests with %q, want one with JSON", r.tries(), r.bodies)
		}
		if got.Type != campaign.NotifyHoldEnded || !got.Timestamp.Equal(back) || got.Data.Subject != "connection conn_1" ||
			!strings.Contains(got.Data.Text, "connection conn_1 was held from ") {
			t.Errorf("got %+v, want the end of conn_1's hold at %s", got, back)
		}
	})
}

// Another hold of the same scope says nothing about the end of this one.
func TestTheEndOfAHoldIsThatOfItsReason(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		o, r := &outbox{}, &receiver{answer: always(200)}
		other := outboxHold(began, time.Time{})
		other.Reason = "operator"
		o.holds = []campaign.Hold{other, outboxHold(began, began.Add(time.Hour))}
		o.add(campaign.Notification{Destination: "ops", Kind: campaign.NotifyHoldEnded, Subject: "connection conn_1", Reason: "130429",
			State: campaign.NotificationWaiting})
		defer running(t, o, r, 1, "ops")()
		time.Sleep(time.Hour + quietTime + lookAgain)
		if r.tries() != 1 {
			t.Errorf("got %d requests, want one: the hold by 130429 has ended, the operator's has not", r.tries())
		}
	})
}

// A run that settles after six days still has its three days of tries.
func TestThreeDaysCountFromWhenItIsDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, r := &outbox{tallies: []campaign.Tally{{Status: campaign.Accepted, N: 1}}}, &receiver{answer: always(500)}
		o.add(campaign.Notification{Destination: "ops", Kind: campaign.NotifyRunSettled, Run: 7, Campaign: "spring",
			State: campaign.NotificationWaiting})
		time.Sleep(6 * 24 * time.Hour)
		o.tallies = []campaign.Tally{{Status: campaign.Failed, N: 1}}
		const look = time.Minute
		defer looking(t, look, o, r, 1, "ops")()
		time.Sleep(24 * time.Hour)
		if n := o.get(1); n.State != campaign.NotificationPending || r.tries() < 6 {
			t.Errorf("a day after it was due: got %s after %d tries, want pending, after 6 or more", n.State, r.tries())
		}
	})
}

// The longer a run has ended, the rarer it is counted, although its events still come.
func TestAnEndedRunIsCountedByItsAge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, r := &outbox{tallies: []campaign.Tally{{Status: campaign.Accepted, N: 1}}}, &receiver{answer: always(200)}
		o.add(campaign.Notification{Destination: "ops", Kind: campaign.NotifyRunSettled, Run: 7, Campaign: "spring",
			State: campaign.NotificationWaiting})
		time.Sleep(10 * time.Hour)
		o.last = time.Now().Add(-time.Second)
		defer running(t, o, r, 1, "ops")()
		time.Sleep(10 * time.Second)
		if wait := time.Until(o.get(1).NextAt); wait < 50*time.Minute || wait > time.Hour {
			t.Errorf("10 hours after the end: got the next count in %s, want in an hour", wait)
		}
	})
}

func TestAHoldThatBeganAnewEndsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, r := &outbox{}, &receiver{answer: always(200)}
		o.add(campaign.Notification{Destination: "ops", Kind: campaign.NotifyHoldEnded, Subject: "connection conn_1", Reason: "130429",
			State: campaign.NotificationWaiting})
		time.Sleep(time.Minute)
		o.setHold(outboxHold(time.Now(), time.Time{}))
		defer running(t, o, r, 1, "ops")()
		time.Sleep(time.Minute)
		if r.tries() != 1 || !strings.Contains(r.bodies[0], "was lifted, and another has begun") {
			t.Errorf("got %d requests with %q, want one that says it began anew", r.tries(), r.bodies)
		}
	})
}
