package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"campaignd/internal/sandbox/inprocess"
)

// The retries come after 1 min, 5 min, 30 min, 2 h and 6 h, then no more
// (docs/service.md#delivery-of-events).
func TestRetriesFollowTheScheduleExactly(t *testing.T) {
	o := Options{Statuses: StatusProfile{Recipients: []Recipient{{Phone: "+23480312345", Fate: FateUndelivered}}}}
	bubble(t, o, func(t *testing.T, c *scene) {
		c.hook.status = func(int, delivery) int { return 503 }
		id := messageID(t, c.send(t, "conn_1", "+23480312345", "newsletter"))
		c.settle(t)
		got := c.hook.deliveries()
		want := []time.Duration{0, time.Minute, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 6 * time.Hour}
		if len(got) != len(want) {
			t.Fatalf("%d deliveries, want %d", len(got), len(want))
		}
		for i := 1; i < len(got); i++ {
			if wait := got[i].at.Sub(got[i-1].at); wait != want[i] {
				t.Errorf("retry %d after %v, want %v", i, wait, want[i])
			}
			if string(got[i].body) != string(got[0].body) {
				t.Errorf("retry %d has another body, want the first one", i)
			}
		}
		m, _ := c.s.Message(id)
		if st := m.Statuses[0]; st.Posts != 6 || !st.AckedAt.IsZero() {
			t.Errorf("posts = %d, answered 2xx at %v, want 6 and never", st.Posts, st.AckedAt)
		}
		if c.s.Truth().Fired["webhook_abandoned"] != 1 {
			t.Error("the abandoned webhook is not counted, want 1")
		}
		// Deliveries can be replayed.
		c.hook.status = nil
		if n := c.s.Replay(Replay{}); n != 1 {
			t.Errorf("%d replayed, want 1", n)
		}
		c.settle(t)
		if m, _ = c.s.Message(id); m.Statuses[0].AckedAt.IsZero() {
			t.Error("the replay was not answered, want a 2xx")
		}
		if n := c.s.Replay(Replay{}); n != 0 {
			t.Errorf("%d replayed although all were answered, want none", n)
		}
		if n := c.s.Replay(Replay{All: true}); n != 1 {
			t.Errorf("%d of all replayed, want 1", n)
		}
		c.settle(t)
	})
}

// A refused connection, a time-out and a redirect are no 2xx.
func TestAnUnansweredDeliveryIsRetried(t *testing.T) {
	n := 0
	o := Options{
		RetrySchedule: []time.Duration{time.Second, time.Second, time.Second},
		Statuses:      StatusProfile{Recipients: []Recipient{{Phone: "+23480312345", Fate: FateUndelivered}}},
	}
	o.WebhookURL = "http://hooks.example/"
	var times []time.Time
	o.Transport = roundTripper(func(r *http.Request) (*http.Response, error) {
		n++
		times = append(times, time.Now())
		switch n {
		case 1:
			return nil, errors.New("connection refused")
		case 2:
			<-r.Context().Done()
			return nil, r.Context().Err()
		case 3:
			return &http.Response{StatusCode: 302, Header: http.Header{"Location": {"/elsewhere"}}, Body: http.NoBody}, nil
		}
		return &http.Response{StatusCode: 204, Body: http.NoBody}, nil
	})
	bubble(t, o, func(t *testing.T, c *scene) {
		c.send(t, "conn_1", "+23480312345", "newsletter")
		c.settle(t)
		if n != 4 {
			t.Fatalf("%d deliveries, want 4", n)
		}
		if wait := times[2].Sub(times[1]); wait != 11*time.Second { // time-out of 10 s, then 1 s
			t.Errorf("the retry came %v after the time-out began, want 11s", wait)
		}
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// The statuses of a message keep their order although many messages are posted at once.
func TestStatusesOfAMessageComeInOrder(t *testing.T) {
	fast := Delay{Median: 1}
	o := Options{Statuses: StatusProfile{Sent: fast, Delivered: fast, Read: fast}}
	bubble(t, o, func(t *testing.T, c *scene) {
		var ids []string
		for i := range 200 {
			ids = append(ids, messageID(t, c.send(t, "conn_1", fmt.Sprintf("+2348030%05d", i), "newsletter")))
		}
		c.settle(t)
		for _, id := range ids {
			if got := fmt.Sprint(c.hook.statuses(id)); got != "[sent delivered read]" {
				t.Errorf("statuses of %s = %s, want [sent delivered read]", id, got)
			}
		}
	})
}

// Batches are tested in both forms and in the platform's envelope.
func TestBatchesFillAndLoseNothing(t *testing.T) {
	for name, form := range map[string]EventForm{
		"array":    {Batch: 16},
		"object":   {Batch: 16, BatchObject: true},
		"platform": {Batch: 16, Envelope: "platform"},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, Options{Events: form, WebhookWorkers: 2}, func(t *testing.T, c *scene) {
				for i := range 100 {
					c.send(t, "conn_1", fmt.Sprintf("+2348030%05d", i), "newsletter")
				}
				c.settle(t)
				total, most := 0, 0
				for _, d := range c.hook.deliveries() {
					n := strings.Count(string(d.body), `"status":`)
					total, most = total+n, max(most, n)
					if !json.Valid(d.body) {
						t.Fatalf("got %s, want JSON", d.body)
					}
				}
				if total != 300 || most < 8 || most > 16 {
					t.Errorf("%d events, at most %d in a batch; want 300, at most 8 to 16", total, most)
				}
				for m := range c.s.Messages() {
					for _, st := range m.Statuses {
						if st.AckedAt.IsZero() {
							t.Fatalf("%+v of %+v was never answered 2xx, want it answered", st, m)
						}
					}
				}
			})
		})
	}
}

// An endpoint has a scope, event types and a secret of its own, and it can be removed.
func TestRegisteredEndpointsGetTheirOwnEvents(t *testing.T) {
	s := twoClients(t)
	register := func(key, body string) (id, secret string) {
		res := call(t, s, "POST", "/api/v1/webhooks", key, body)
		if res.StatusCode != 200 {
			raw, _ := io.ReadAll(res.Body)
			t.Fatalf("answer = %s %s, want 200", res.Status, raw)
		}
		var v struct {
			Data struct{ ID, URL, Secret string }
		}
		must(t, json.NewDecoder(res.Body).Decode(&v))
		return v.Data.ID, v.Data.Secret
	}
	for _, body := range []string{`{}`, `{"url":"http://elsewhere.example/"}`, `{"url":"ftp://x"}`,
		`{"url":"https://x.example","events":["sent"]}`, `{"link":"https://x.example"}`} {
		if res := call(t, s, "POST", "/api/v1/webhooks", "partner", body); res.StatusCode != 400 {
			t.Errorf("answer to %s = %s, want 400", body, res.Status)
		}
	}
	a, secretA := register("two", `{"url":"https://a.example/"}`)
	_, secretB := register("partner", `{"url":"http://127.0.0.1:9/","events":["message.received"]}`)
	if secretA == secretB || len(secretA) < 16 {
		t.Errorf("secrets %q and %q, want two of 16 characters or more", secretA, secretB)
	}
	eps := s.areas.Endpoints()
	for _, c := range []struct {
		typ, company string
		a, b         bool
	}{{"message.status", "co_1", false, false}, {"message.status", "co_2", true, false},
		{"message.received", "co_1", false, true}, {"message.received", "co_2", true, true}} {
		if eps[0].Wants(c.typ, c.company) != c.a || eps[1].Wants(c.typ, c.company) != c.b {
			t.Errorf("%s of %s is wanted by %v and %v, want %v and %v",
				c.typ, c.company, eps[0].Wants(c.typ, c.company), eps[1].Wants(c.typ, c.company), c.a, c.b)
		}
	}
	if res := call(t, s, "DELETE", "/api/v1/webhooks/"+a, "one", ""); res.StatusCode != 404 {
		t.Errorf("another client's endpoint: %s, want 404", res.Status)
	}
	if res := call(t, s, "DELETE", "/api/v1/webhooks/"+a, "two", ""); res.StatusCode != 204 {
		t.Errorf("its own endpoint: %s, want 204", res.Status)
	}
	if left := s.areas.Endpoints(); eps[0].Wants("message.status", "co_2") || len(left) != 1 || left[0] != eps[1] {
		t.Errorf("got %d endpoints after a deletion, want the other one only, and no events for the removed one", len(left))
	}
}

func TestAReplayHasNoEventThatIsStillToCome(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, c *scene) {
		c.send(t, "conn_1", "+23480312345", "newsletter")
		if n := c.s.Replay(Replay{All: true, Until: time.Now().Add(time.Hour)}); n != 0 {
			t.Errorf("%d statuses replayed before the first, want 0", n)
		}
		c.settle(t)
		if n := c.s.Replay(Replay{All: true, Until: time.Now().Add(time.Hour)}); n != 3 {
			t.Errorf("%d statuses replayed after the last, want 3", n)
		}
		c.settle(t)
	})
}

func TestAPreferenceNamesTheAccountOfItsOwnClient(t *testing.T) {
	o := Options{Connections: []Connection{
		{ID: "conn_1", Phone: "+15555550100", Company: "co_1"}, {ID: "conn_2", Phone: "+15555550101", Company: "co_2"},
	}}
	bubble(t, o, func(t *testing.T, c *scene) {
		for conn, account := range map[string]string{"conn_1": "200000000000001", "conn_2": "200000000000002"} {
			_, err := c.s.Receive(Inbound{Connection: conn, From: "+23480399999", Preference: "stop"})
			must(t, err)
			c.settle(t)
			if got := string(c.hook.last(t).body); !strings.Contains(got, `"entry":[{"id":"`+account+`"`) {
				t.Errorf("%s: got %s, want account %s", conn, got, account)
			}
		}
	})
}

// A pending webhook is not lost between two Runs.
func TestRunMayEndAndBeginAgain(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, c *scene) {
		if err := c.s.Run(t.Context()); err == nil {
			t.Error("two Runs at once gave no error, want one")
		}
		second, err := New(Options{WebhookURL: "http://hooks.example/", Transport: inprocess.NewTransport(c.hook)})
		must(t, err)
		sc := &scene{s: second, client: &http.Client{Transport: inprocess.NewTransport(second)}, hook: c.hook, key: DemoKey}
		sc.send(t, "conn_1", "+23480312345", "newsletter")
		for i := range 3 {
			ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
			must(t, second.Run(ctx))
			cancel()
			if i == 0 && second.Pending() == 0 {
				t.Error("nothing was left after the first Run, want pending webhooks")
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		go func() { _ = second.Settle(ctx); cancel() }()
		must(t, second.Run(ctx))
		if got := fmt.Sprint(c.hook.statuses("")); got != "[sent delivered read]" {
			t.Errorf("statuses after the restart = %s, want [sent delivered read]", got)
		}
	})
}
