package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"
)

// outcome posts a message and returns what a client sees of the answer.
func outcome(t *testing.T, c *scene, body string) (status int, raw string, err error) {
	t.Helper()
	res, err := c.post(t, body)
	if err != nil {
		return 0, "", err
	}
	b, err := io.ReadAll(res.Body)
	must(t, res.Body.Close())
	return res.StatusCode, string(b), err
}

// Each fault is tested alone with the share 1. It has the effect of its name, and only it is
// counted.
func TestEachFaultFiresAndIsCounted(t *testing.T) {
	const one = 1.0
	plain := func(s int) func(*testing.T, *scene, int, string, error) {
		return func(t *testing.T, _ *scene, status int, raw string, err error) {
			if status != s || err != nil {
				t.Errorf("HTTP %d %q %v, want %d", status, raw, err, s)
			}
		}
	}
	lost := func(t *testing.T, _ *scene, status int, _ string, err error) {
		if !errors.Is(err, io.EOF) {
			t.Errorf("HTTP %d %v, want io.EOF", status, err)
		}
	}
	order := func(want ...string) func(*testing.T, *scene, int, string, error) {
		return func(t *testing.T, c *scene, _ int, _ string, _ error) {
			if got := c.hook.statuses(""); fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("webhooks %v, want %v", got, want)
			}
		}
	}
	for _, c := range []struct {
		name     string
		faults   Faults
		accepted int
		check    func(*testing.T, *scene, int, string, error)
	}{
		{"latency", Faults{Latency: Delay{Median: time.Second}}, 1, plain(200)},
		{"too_many_requests", Faults{TooMany: one}, 0, plain(429)},
		{"server_error", Faults{ServerError: one, Codes: []int{500}}, 0, plain(500)},
		{"redirect", Faults{Redirect: one}, 0, plain(307)},
		{"lost_before", Faults{LostBefore: one}, 0, lost},
		{"hang_before", Faults{HangBefore: one}, 0, lost},
		{"unverified_window", Faults{Unverified: one}, 1, nil},
		{"lost_after", Faults{LostAfter: one}, 1, lost},
		{"hang_after", Faults{HangAfter: one}, 1, lost},
		{"error_after", Faults{ErrorAfter: one, Codes: []int{502}}, 1, plain(502)},
		{"no_id", Faults{NoID: one}, 1, func(t *testing.T, _ *scene, status int, raw string, _ error) {
			if status != 200 || raw != `{"data":{}}` {
				t.Errorf("answer = %d %q, want 200 and data without an ID", status, raw)
			}
		}},
		{"empty_body", Faults{EmptyBody: one}, 1, func(t *testing.T, _ *scene, status int, raw string, _ error) {
			if status != 200 || raw != "" {
				t.Errorf("answer = %d %q, want 200 and no body", status, raw)
			}
		}},
		{"cut_body", Faults{CutBody: one}, 1, func(t *testing.T, _ *scene, status int, raw string, _ error) {
			if status != 200 || raw == "" || json.Valid([]byte(raw)) {
				t.Errorf("answer = %d %q, want 200 and half a document", status, raw)
			}
		}},
		{"long_id", Faults{LongID: one}, 1, func(t *testing.T, _ *scene, status int, raw string, _ error) {
			if status != 200 || len(raw) < 64<<10 {
				t.Errorf("answer = %d and %d bytes, want 200 and 64 KiB or more", status, len(raw))
			}
		}},
		{"slow_body", Faults{SlowBody: one}, 1, func(t *testing.T, c *scene, status int, raw string, err error) {
			if status != 200 || err != nil || !json.Valid([]byte(raw)) {
				t.Errorf("answer = %d %q, error %v, want 200 and a whole document", status, raw, err)
			}
		}},
		{"webhook_early", Faults{Early: one}, 1, nil},
		{"webhook_late", Faults{Late: one, LateBy: Delay{Median: time.Hour}}, 1, order("sent", "delivered", "read")},
		{"webhook_doubled", Faults{Doubled: one}, 1, func(t *testing.T, c *scene, _ int, _ string, _ error) {
			if got := c.hook.statuses(""); len(got) != 6 {
				t.Errorf("webhooks %v, want each twice", got)
			}
		}},
		{"webhook_reordered", Faults{Reordered: one}, 1, order("read", "delivered", "sent")},
		{"webhook_missing", Faults{Missing: one}, 1, order()},
		{"read_before_delivered", Faults{ReadFirst: one}, 1, order("sent", "read", "delivered")},
		{"read_without_delivered", Faults{ReadOnly: one}, 1, order("sent", "read")},
		{"failed_then_delivered", Faults{FailedFirst: one}, 1, order("sent", "failed", "delivered", "read")},
		{"webhook_forged", Faults{Forged: one}, 1, nil},
		{"webhook_orphan", Faults{Orphan: one}, 1, func(t *testing.T, c *scene, _ int, _ string, _ error) {
			if got := c.hook.statuses(""); len(got) != 6 {
				t.Errorf("webhooks %v, want each and an orphan", got)
			}
		}},
		{"webhook_wrong_recipient", Faults{WrongRecipient: one}, 1, func(t *testing.T, c *scene, _ int, _ string, _ error) {
			if !strings.Contains(string(c.hook.last(t).body), `"to":"+888`) {
				t.Errorf("webhook = %s, want one to +888", c.hook.last(t).body)
			}
		}},
		{"webhook_future", Faults{Future: one}, 1, nil},
		{"refusal_131000", Faults{Refusals: []Refusal{{Code: 131000, Share: one}}}, 0, plain(400)},
	} {
		t.Run(c.name, func(t *testing.T) {
			bubble(t, Options{Faults: c.faults}, func(t *testing.T, sc *scene) {
				sc.hook.status = func(_ int, d delivery) int {
					if d.signature != hexSignature(DemoSecret, d.body) {
						return 401
					}
					return 200
				}
				body := templateBody("conn_1", "+23480312345", "order_update", "a", "b")
				if c.name == "unverified_window" {
					body = `{"connectionId":"conn_1","to":"+23480312345","text":"hello"}`
				}
				status, raw, err := outcome(t, sc, body)
				sc.settle(t)
				if c.check != nil {
					c.check(t, sc, status, raw, err)
				}
				truth := sc.s.Truth()
				if truth.Fired[c.name] == 0 {
					t.Errorf("counted %v, want the fault of this case", truth.Fired)
				}
				for name, n := range truth.Fired {
					if name != c.name {
						t.Errorf("%s fired %d times, want only the fault of this case", name, n)
					}
				}
				if len(truth.Messages) != c.accepted {
					t.Fatalf("%d messages accepted, want %d", len(truth.Messages), c.accepted)
				}
				if got := truth.Posts[Pair{"conn_1", "+23480312345"}]; got != 1 {
					t.Errorf("%d POSTs counted, want 1", got)
				}
				if c.accepted == 0 {
					if n := len(sc.hook.deliveries()); n != 0 {
						t.Errorf("%d webhooks for a message that was not accepted, want none", n)
					}
					return
				}
				// Every posting with a right signature was answered 2xx in the end.
				for _, st := range truth.Messages[0].Statuses {
					if st.AckedAt.IsZero() != st.Missing {
						t.Errorf("answered 2xx at %v, want a time exactly if it was not missing: %+v", st.AckedAt, st)
					}
				}
				if truth.ForgedAccepted != 0 {
					t.Errorf("%d forged webhooks answered 2xx, want none", truth.ForgedAccepted)
				}
			})
		})
	}
}

// Only the first status comes before the answer.
func TestAnEarlyWebhookComesBeforeTheAnswer(t *testing.T) {
	bubble(t, Options{Faults: Faults{Early: 1}}, func(t *testing.T, c *scene) {
		id := messageID(t, c.send(t, "conn_1", "+23480312345", "newsletter"))
		if got := c.hook.statuses(id); fmt.Sprint(got) != "[sent]" {
			t.Errorf("before the answer: %v, want [sent]", got)
		}
		c.settle(t)
		if got := c.hook.statuses(id); fmt.Sprint(got) != "[sent delivered read]" {
			t.Errorf("in the end: %v, want [sent delivered read]", got)
		}
	})
}

func TestARepeatedIDIsAnEarlierMessagesOwn(t *testing.T) {
	bubble(t, Options{Faults: Faults{RepeatedID: 1}}, func(t *testing.T, c *scene) {
		first := messageID(t, c.send(t, "conn_1", "+23480312345", "newsletter"))
		second := messageID(t, c.send(t, "conn_1", "+23480312346", "newsletter"))
		truth := c.s.Truth()
		if first != second || truth.Fired["repeated_id"] != 1 || truth.Messages[1].Answer != "repeated_id" || truth.Messages[1].ID == first {
			t.Errorf("answers %s, then %s, of %+v, want the first ID again and the second message's own in the truth", first, second, truth.Messages)
		}
	})
}

// The client gives up during the latency before the decision, and the message is still accepted. A
// time-out is therefore a doubt.
func TestAMessageIsTakenAlthoughTheClientLeft(t *testing.T) {
	bubble(t, Options{Faults: Faults{Latency: Delay{Median: time.Minute}}}, func(t *testing.T, c *scene) {
		c.client.Timeout = 10 * time.Second
		_, err := c.post(t, templateBody("conn_1", "+23480312345", "newsletter"))
		var timeout interface{ Timeout() bool }
		if !errors.As(err, &timeout) || !timeout.Timeout() {
			t.Fatalf("want a time-out, got %v", err)
		}
		time.Sleep(time.Minute)
		if n := len(c.s.Truth().Messages); n != 1 {
			t.Errorf("%d messages accepted, want 1", n)
		}
	})
}

// The truth counts the forged webhooks that an endpoint takes because it does not verify.
func TestAcceptedForgedWebhooksAreCounted(t *testing.T) {
	bubble(t, Options{Faults: Faults{Forged: 1}}, func(t *testing.T, c *scene) {
		c.send(t, "conn_1", "+23480312345", "newsletter")
		c.settle(t)
		if truth := c.s.Truth(); truth.ForgedAccepted != 3 || !truth.Messages[0].Statuses[0].AckedAt.IsZero() {
			t.Errorf("forged and accepted = %d, want 3, and none with a right signature: %+v", truth.ForgedAccepted, truth)
		}
	})
}

// A step of the timeline ends the faults, so that a campaign in a scenario can end.
func TestFaultsCanBeChangedInTheMiddle(t *testing.T) {
	o := Options{Faults: Faults{LostBefore: 1}, Timeline: []Step{
		{After: time.Hour, Faults: &Faults{}},
		{AfterMessages: 2, Template: "newsletter", Status: "paused"},
		{After: 3 * time.Hour, Template: "newsletter", Status: "approved"},
	}}
	bubble(t, o, func(t *testing.T, c *scene) {
		status := func() int {
			s, _, _ := outcome(t, c, templateBody("conn_1", "+23480312345", "newsletter"))
			return s
		}
		if got := status(); got != 0 {
			t.Errorf("at first: status %d, want no answer", got)
		}
		time.Sleep(time.Hour + time.Second)
		for i, want := range []int{200, 200, 400} {
			if got := status(); got != want {
				t.Errorf("POST %d: %d, want %d", i, got, want)
			}
		}
		time.Sleep(2 * time.Hour)
		if got := status(); got != 200 {
			t.Errorf("after the pause: %d, want 200", got)
		}
		c.settle(t)
		told := 0
		for _, d := range c.hook.deliveries() {
			if strings.Contains(string(d.body), `"type":"template.status"`) {
				told++
			}
		}
		if told != 2 {
			t.Errorf("%d template events, want paused and approved", told)
		}
	})
}

// A server can be shut down while answers hang.
func TestCloseEndsEveryWait(t *testing.T) {
	bubble(t, Options{Faults: Faults{HangBefore: 1, HangFor: 24 * time.Hour}}, func(t *testing.T, c *scene) {
		began := time.Now()
		ended := make(chan error, 1)
		go func() {
			_, err := c.post(t, templateBody("conn_1", "+23480312345", "newsletter"))
			ended <- err
		}()
		time.Sleep(time.Second)
		must(t, c.s.Close())
		if err := <-ended; !errors.Is(err, io.EOF) || time.Since(began) != time.Second {
			t.Errorf("the answer ended with %v after %v, want io.EOF after 1s", err, time.Since(began))
		}
	})
}

func TestFaultFlagsReadAsTheYAMLDoes(t *testing.T) {
	var f Faults
	for _, a := range []string{"lost_after=0.01", "latency=80ms", "webhook_late_by={median: 1m, sigma: 0.5}",
		"refusals=[{code: 131053, share: 0.1, times: 1}]", "server_error_codes=[500, 503]"} {
		must(t, f.Set(a))
	}
	if f.LostAfter != 0.01 || f.Latency.Median != 80*time.Millisecond || f.LateBy.Sigma != 0.5 || len(f.Refusals) != 1 || len(f.Codes) != 2 {
		t.Errorf("faults = %+v, want what the five flags say", f)
	}
	for _, a := range []string{"lost_after", "lost_affter=1", "lost_after=2", "latency=soon", "server_error_codes=[200]"} {
		before := f
		if err := f.Set(a); err == nil || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: want an error of one line, got %v", a, err)
		}
		if fmt.Sprint(f) != fmt.Sprint(before) {
			t.Errorf("%s changed the faults, want them unchanged", a)
		}
	}
}

// Every constant of a drawn fault has its field in Faults.share.
func TestEveryDrawnFaultHasAShare(t *testing.T) {
	for which := faultTooMany; which < faultThrottled; which++ {
		var f Faults
		must(t, f.Set(which.String()+"=0.5"))
		if f.share(which) != 0.5 {
			t.Errorf("share of %s = %v, want 0.5", which, f.share(which))
		}
	}
}
