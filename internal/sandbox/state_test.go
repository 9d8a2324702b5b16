package sandbox

import (
	"io"
	"strings"
	"testing"
	"time"
)

// The window is that of docs/service.md#states. Outside it the answer has a warning.
func TestTheServiceWindowIsReportedForTwentyFourHours(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, c *scene) {
		warning := func() bool {
			res, err := c.post(t, `{"connectionId":"conn_1","to":"+23480312345","text":"hello"}`)
			must(t, err)
			raw, err := io.ReadAll(res.Body)
			must(t, err)
			if res.StatusCode != 200 {
				t.Fatalf("answer = %s %s, want 200", res.Status, raw)
			}
			return strings.Contains(string(raw), `"code":"outside_service_window"`)
		}
		if !warning() {
			t.Error("got no warning before the customer wrote, want one")
		}
		_, err := c.s.Receive(Inbound{Connection: "conn_1", From: "+23480312345", Text: "hi"})
		must(t, err)
		time.Sleep(24*time.Hour - time.Nanosecond)
		if warning() {
			t.Error("got a warning within 24 hours, want none")
		}
		time.Sleep(time.Nanosecond)
		if !warning() {
			t.Error("got no warning after 24 hours, want one")
		}
		c.settle(t)
		failed := 0
		for _, m := range c.s.Truth().Messages {
			for _, st := range m.Statuses {
				if st.Code == 131047 {
					failed++
				}
			}
		}
		if failed != 2 {
			t.Errorf("%d messages failed with 131047, want the 2 outside the window", failed)
		}
	})
}

// The document has two warnings (docs/service.md#send-response); this is the second.
func TestAnUnverifiedWindowHasItsOwnWarning(t *testing.T) {
	s := twoClients(t, func(o *Options) { o.Faults.Unverified = 1 })
	raw, err := io.ReadAll(call(t, s, "POST", "/api/v1/messages", "partner", `{"connectionId":"conn_1","to":"+23480312345","text":"x"}`).Body)
	must(t, err)
	if !strings.Contains(string(raw), `"warning":{"code":"unverified_service_window","message":"Whether`) {
		t.Errorf("answer = %s, want the warning unverified_service_window", raw)
	}
}

// The age of an asset counts to the nanosecond.
func TestAnAssetLivesThirtyDays(t *testing.T) {
	bubble(t, Options{Assets: []Asset{{ID: "ast_1"}}, Statuses: StatusProfile{Off: true}}, func(t *testing.T, c *scene) {
		image := func() int {
			res, err := c.post(t, `{"connectionId":"conn_1","to":"+23480312345","image":{"assetId":"ast_1"}}`)
			must(t, err)
			return res.StatusCode
		}
		time.Sleep(30*24*time.Hour - time.Nanosecond)
		if status := image(); status != 200 {
			t.Errorf("just before 30 days: %d, want 200", status)
		}
		time.Sleep(time.Nanosecond)
		if status := image(); status != 404 {
			t.Errorf("at 30 days: %d, want 404", status)
		}
	})
}

func TestACategoryIsKnownInAnyCase(t *testing.T) {
	o := Options{OptedOut: []string{"+23480312345"}, Templates: []Template{{Name: "offer", Language: "en_US", Category: "marketing"}}}
	bubble(t, o, func(t *testing.T, c *scene) {
		if res := c.send(t, "conn_1", "+23480312345", "offer"); res.StatusCode != 403 {
			t.Errorf("category marketing to an opted-out recipient: %s, want 403", res.Status)
		}
	})
}

// A STOP concerns the marketing of one client (docs/service.md#opt-outs).
func TestStopOptsOutOfMarketingAtThatClient(t *testing.T) {
	o := Options{Connections: []Connection{{ID: "conn_1", Phone: "+15555550100", Company: "co_1"},
		{ID: "conn_2", Phone: "+15555550101", Company: "co_1"}, {ID: "conn_9", Phone: "+15555550900", Company: "co_2"}}}
	bubble(t, o, func(t *testing.T, c *scene) {
		const to = "+23480312345"
		_, err := c.s.Receive(Inbound{Connection: "conn_1", From: to, Text: " stop "})
		must(t, err)
		c.settle(t)
		for _, step := range []struct {
			conn, template string
			values         []string
			status         int
		}{
			{"conn_1", "newsletter", nil, 403},
			{"conn_2", "newsletter", nil, 403},
			{"conn_1", "order_update", []string{"a", "b"}, 200},
			{"conn_9", "newsletter", nil, 200},
		} {
			if res := c.send(t, step.conn, to, step.template, step.values...); res.StatusCode != step.status {
				t.Errorf("%s %s: %s, want %d", step.conn, step.template, res.Status, step.status)
			}
		}
		truth := c.s.Truth()
		if len(truth.OptOuts) != 1 || truth.OptOuts[0].Phone != to || truth.OptOuts[0].AckedAt.IsZero() {
			t.Errorf("opt-outs %+v, want one that was answered 2xx", truth.OptOuts)
		}
		// After a stop in the platform's app a message is accepted, then it fails.
		_, err = c.s.Receive(Inbound{Connection: "conn_1", From: "+23480399999", Preference: "stop"})
		must(t, err)
		id := messageID(t, c.send(t, "conn_1", "+23480399999", "newsletter"))
		c.settle(t)
		m, ok := c.s.Message(id)
		if !ok || len(m.Statuses) != 1 || m.Statuses[0].Code != 131050 {
			t.Errorf("after a preference of stop: %v %+v, want failed with 131050", ok, m)
		}
	})
}
