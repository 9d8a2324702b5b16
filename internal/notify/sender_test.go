package notify

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"campaignd/campaign"
	"campaignd/internal/messaging"
)

const aSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

// destination is one named name.
func destination(name string) Destination {
	return Destination{Name: name, URL: messaging.NewSecret("https://" + name + ".example/in"),
		Secrets: []messaging.Secret{messaging.NewSecret(aSecret)}}
}

// running runs senders over one outbox until the returned function is called.
func running(t *testing.T, o *outbox, r *receiver, senders int, names ...string) (stop func()) {
	t.Helper()
	return looking(t, every, o, r, senders, names...)
}

// looking is running with another time between two looks at the outbox.
func looking(t *testing.T, every time.Duration, o *outbox, r *receiver, senders int, names ...string) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for range senders {
		var all []Destination
		for _, name := range names {
			all = append(all, destination(name))
		}
		s, err := New(Options{Ledger: o, Destinations: all})
		if err != nil {
			t.Fatal(err)
		}
		s.client.Transport = r
		s.every = every
		wg.Go(func() { s.Run(ctx) })
	}
	return func() {
		cancel()
		wg.Wait()
	}
}

func TestANotificationIsTriedForThreeDays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, r := &outbox{}, &receiver{answer: always(500)}
		began := time.Now()
		o.add(campaign.Notification{Destination: "ops", Kind: campaign.NotifyRunPaused, Run: 3, Campaign: "spring"})
		const look = time.Minute
		stop := looking(t, look, o, r, 2, "ops")
		defer stop()
		time.Sleep(4 * 24 * time.Hour)
		n := o.get(1)
		if r.tries() != len(waits)+1 || n.State != campaign.NotificationDead || n.Error != "answered 500" {
			t.Fatalf("got %d tries and %+v, want %d and that it is given up", r.tries(), n, len(waits)+1)
		}
		if last := r.at[len(waits)].Sub(began); last < 71*time.Hour || last > giveUp+look {
			t.Errorf("the last try came after %s, want within three days", last)
		}
		for i, w := range waits {
			if apart := r.at[i+1].Sub(r.at[i]); apart < w || apart > w+2*look {
				t.Errorf("try %d came %s after the one before, want %s", i+2, apart, w)
			}
		}
		again := n
		again.State, again.Attempts, again.Since, again.NextAt = campaign.NotificationPending, 0, time.Now(), time.Now()
		r.set(always(204))
		if ok, err := o.UpdateNotification(t.Context(), n, again); err != nil || !ok {
			t.Fatalf("sending it again: %v, %v; want true", ok, err)
		}
		time.Sleep(2 * look)
		if got := o.get(1); got.State != campaign.NotificationSent || got.Error != "" || r.tries() != len(waits)+2 {
			t.Errorf("got %+v after %d tries, want it sent by one more", got, r.tries())
		}
		if ids, bodies := slices.Compact(r.ids), slices.Compact(r.bodies); len(ids) != 1 || len(bodies) != 1 {
			t.Errorf("got the ids %q and the bodies %q, want one of each", ids, bodies)
		}
	})
}

// The three days begin with the first try: no process may have run since the event.
func TestALateFirstTryIsFollowedByOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, r := &outbox{}, &receiver{answer: always(503)}
		o.add(campaign.Notification{Destination: "ops", Kind: campaign.NotifyRunFinished, Run: 3, Campaign: "spring"})
		time.Sleep(giveUp + time.Hour)
		defer running(t, o, r, 1, "ops")()
		time.Sleep(2 * every)
		if got := o.get(1); r.tries() != 1 || got.State != campaign.NotificationPending {
			t.Fatalf("after the first try: got %d tries and %+v, want 1 and that it is pending", r.tries(), got)
		}
		r.set(always(200))
		time.Sleep(waits[0] + 2*every)
		if got := o.get(1); r.tries() != 2 || got.State != campaign.NotificationSent {
			t.Errorf("got %d tries and %+v, want 2 and that it is sent", r.tries(), got)
		}
	})
}

func TestReplicasSendEachNotificationOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, r := &outbox{}, &receiver{answer: always(200)}
		stop := running(t, o, r, 3, "ops", "chat")
		defer stop()
		for i := range 120 {
			o.add(campaign.Notification{Destination: []string{"ops", "chat"}[i%2], Kind: campaign.NotifyHold, Detail: "held"})
		}
		time.Sleep(time.Minute)
		n := r.tries()
		ids := slices.Compact(slices.Sorted(slices.Values(r.ids)))
		if n != 120 || len(ids) != 120 {
			t.Errorf("got %d requests with %d ids, want 120 of each", n, len(ids))
		}
	})
}

// A replica that does not know the destination yet, or no more, leaves its notifications for three
// days. A process without a destination tidies too.
func TestNotificationsOfARemovedDestinationEnd(t *testing.T) {
	for _, names := range [][]string{{"ops"}, nil} {
		synctest.Test(t, func(t *testing.T) {
			o, r := &outbox{}, &receiver{answer: always(200)}
			for i := range batch + 10 {
				state := []campaign.NotificationState{campaign.NotificationPending, campaign.NotificationWaiting}[i%2]
				o.add(campaign.Notification{Destination: "gone", Kind: campaign.NotifyHold, State: state})
			}
			defer looking(t, time.Minute, o, r, 1, names...)()
			time.Sleep(giveUp - time.Minute)
			if got := o.get(1); got.State != campaign.NotificationPending {
				t.Errorf("after %s: %s; want it pending", giveUp-time.Minute, got.State)
			}
			time.Sleep(2 * tidyEvery)
			for no := range int64(batch + 10) {
				if got := o.get(no + 1); got.State != campaign.NotificationDead || got.Error == "" || got.Attempts != 0 {
					t.Fatalf("notification %d: %+v; want it dead, untried, with the reason", no+1, got)
				}
			}
			const month = 30 * 24 * time.Hour
			if age := time.Since(o.tidied); r.tries() != 0 || age < month || age > month+2*time.Hour {
				t.Errorf("%d requests, and what is older than %s was removed; want 0, %s", r.tries(), age, month)
			}
		})
	}
}

// A ledger that is read and cannot be written, such as one on a full disk, is not asked without
// end.
func TestAnOutboxThatTakesNoUpdateIsReadOnceASecond(t *testing.T) {
	for _, state := range []campaign.NotificationState{campaign.NotificationPending, campaign.NotificationWaiting} {
		synctest.Test(t, func(t *testing.T) {
			o, r := &outbox{refuses: errors.New("the disk is full")}, &receiver{answer: always(200)}
			for range batch {
				o.add(campaign.Notification{Destination: "ops", Kind: campaign.NotifyHold, State: state})
			}
			stop := running(t, o, r, 1, "ops")
			time.Sleep(10*every + every/2)
			stop()
			if o.reads != 11 || r.tries() != 0 {
				t.Errorf("%s: the outbox was read %d times in 10 s, with %d requests; want 11, 0", state, o.reads, r.tries())
			}
		})
	}
}

// A process that dies after its request and before the record leaves a try that is taken.
func TestADeadProcessTryIsRepeatedWithItsID(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, r := &outbox{}, &receiver{answer: always(0)} // no answer comes before the end
		o.add(campaign.Notification{Destination: "ops", Kind: campaign.NotifyRunStarted, Run: 1, Campaign: "a"})
		stop := running(t, o, r, 1, "ops")
		time.Sleep(5 * time.Second)
		stop()
		r.set(always(200))
		defer running(t, o, r, 1, "ops")()
		time.Sleep(2 * tryTime)
		if got := o.get(1); r.tries() != 2 || r.ids[0] != r.ids[1] || got.State != campaign.NotificationSent {
			t.Errorf("got %d tries with the ids %q and %+v, want two with one id, and that it is sent", r.tries(), r.ids, got)
		}
	})
}

func TestAnAnswerSaysWhatFollows(t *testing.T) {
	for name, c := range map[string]struct {
		status int
		header http.Header
		state  campaign.NotificationState
		next   time.Duration // of the next try
	}{
		"a redirect is not followed": {302, http.Header{"Location": {"http://169.254.169.254/"}}, campaign.NotificationPending, waits[0]},
		"gone":                       {410, nil, campaign.NotificationDead, 0},
		"Retry-After":                {429, http.Header{"Retry-After": {"120"}}, campaign.NotificationPending, 2 * time.Minute},
		"a Retry-After of a year":    {503, http.Header{"Retry-After": {"31536000"}}, campaign.NotificationPending, 24 * time.Hour},
		"a Retry-After with a date": { // synctest begins at midnight
			429, http.Header{"Retry-After": {"Sat, 01 Jan 2000 00:02:00 GMT"}}, campaign.NotificationPending, 2 * time.Minute},
		"a Retry-After in words": {429, http.Header{"Retry-After": {"5m"}}, campaign.NotificationPending, waits[0]},
		"no answer in time":      {0, nil, campaign.NotificationPending, waits[0]},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o, r := &outbox{}, &receiver{answer: func(*http.Request) (int, http.Header) { return c.status, c.header }}
				o.add(campaign.Notification{Destination: "ops", Kind: campaign.NotifyRunStarted})
				s, err := New(Options{Ledger: o, Destinations: []Destination{destination("ops")}})
				if err != nil {
					t.Fatal(err)
				}
				s.client.Transport = r
				s.try(t.Context(), &s.o.Destinations[0], o.get(1))
				got := o.get(1)
				if got.State != c.state || c.next > 0 && time.Until(got.NextAt) != c.next || r.tries() != 1 || got.Error == "" {
					t.Errorf("got %+v after %d requests, want %s, the next try in %s", got, r.tries(), c.state, c.next)
				}
			})
		})
	}
}

func TestASlowDestinationDelaysNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := &outbox{}
		r := &receiver{answer: func(req *http.Request) (int, http.Header) {
			if req.URL.Host == "slow.example" {
				return 0, nil
			}
			return 200, nil
		}}
		for range 20 {
			o.add(campaign.Notification{Destination: "slow", Kind: campaign.NotifyHold})
		}
		o.add(campaign.Notification{Destination: "ops", Kind: campaign.NotifyHold})
		defer running(t, o, r, 1, "slow", "ops")()
		time.Sleep(requestTime)
		if got := o.get(21); got.State != campaign.NotificationSent {
			t.Errorf("got %+v, want it sent", got)
		}
	})
}

func TestAnAddressThatCannotBeReachedIsNotLogged(t *testing.T) {
	o := &outbox{}
	o.add(campaign.Notification{Destination: "ops", Kind: campaign.NotifyHold})
	s, err := New(Options{Ledger: o, Destinations: []Destination{{Name: "ops", URL: messaging.NewSecret("https://x.example/hush"),
		Format: Slack}}})
	if err != nil {
		t.Fatal(err)
	}
	s.client.Transport = failing{}
	s.try(t.Context(), &s.o.Destinations[0], o.get(1))
	if got := o.get(1).Error; got != "no such host" {
		t.Errorf("got the error %q, want it without the address", got)
	}
}

type failing struct{}

func (failing) RoundTrip(*http.Request) (*http.Response, error) {
	return nil, errors.New("no such host")
}
