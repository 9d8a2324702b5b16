package sandbox

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"
)

// told decodes data of a management answer.
func told[T any](t *testing.T, c *scene, method, path, body string) (data T) {
	t.Helper()
	res := call(t, c.s, method, "/api/v1"+path, c.key, body)
	raw, err := io.ReadAll(res.Body)
	must(t, err)
	in := struct{ Data *T }{&data}
	if err := json.Unmarshal(raw, &in); err != nil || res.StatusCode != 200 {
		t.Fatalf("%s %s: got %s %s (%v), want 200 with data", method, path, res.Status, raw, err)
	}
	return data
}

type deliveryRow struct {
	ID, EventID, Type, State string
	Attempts, HTTPStatus     int
	CreatedAt                time.Time
}

func TestDeliveriesTellWhatBecameOfEachEvent(t *testing.T) {
	o := Options{Statuses: StatusProfile{Off: true}, RetrySchedule: []time.Duration{time.Minute, 5 * time.Minute}}
	bubble(t, o, func(t *testing.T, c *scene) {
		c.hook.status = func(n int, d delivery) int {
			if strings.Contains(string(d.body), "coupon") {
				return 500
			}
			return 204
		}
		rows := func(state string) []deliveryRow {
			return told[[]deliveryRow](t, c, "GET", "/webhooks/whk_1/deliveries"+state, "")
		}
		must(t, c.s.SetTemplate("newsletter", "", "paused"))
		must(t, c.s.SetTemplate("coupon", "", "paused"))
		time.Sleep(time.Second)
		if got := rows("?state=pending"); len(got) != 1 || got[0].Attempts != 1 || got[0].HTTPStatus != 500 || got[0].Type != "template.status" {
			t.Errorf("after a second: got %+v, want one pending with a 500", got)
		}
		time.Sleep(10 * time.Minute)
		if got := rows("?state=failed"); len(got) != 1 || got[0].Attempts != 3 {
			t.Errorf("after the retries: got %+v, want one failed after 3 attempts", got)
		}
		all := rows("")
		if len(all) != 2 || all[0].State != "failed" && all[1].State != "failed" || all[0].ID == all[1].ID {
			t.Errorf("got %+v, want the two deliveries", all)
		}
		if got := rows("?state=delivered"); len(got) != 1 || got[0].HTTPStatus != 204 {
			t.Errorf("got %+v, want one delivered", got)
		}
		c.want(t, "GET", "/webhooks/whk_1/deliveries?state=x", "", 400, "invalid_field")
		c.want(t, "GET", "/webhooks/whk_9/deliveries", "", 404, "not_found")
	})
}

func TestARemovedEndpointLeavesNothingBehind(t *testing.T) {
	bubble(t, Options{Statuses: StatusProfile{Off: true}}, func(t *testing.T, c *scene) {
		c.hook.status = func(int, delivery) int { return 500 }
		must(t, c.s.SetTemplate("newsletter", "", "paused"))
		time.Sleep(10 * time.Second)
		waiting := func() (n int) {
			for _, sh := range c.s.shards {
				sh.mu.Lock()
				n += len(sh.logs)
				sh.mu.Unlock()
			}
			return n
		}
		if n := waiting(); n != 1 || c.s.Pending() != 1 {
			t.Errorf("after a 500: got %d deliveries and %d events that wait, want 1 of each", n, c.s.Pending())
		}
		c.want(t, "DELETE", "/webhooks/whk_1", "", 204, "")
		c.settle(t)
		if n := waiting(); n != 0 || len(c.s.areas.Endpoints()) != 0 || len(c.hook.deliveries()) != 1 {
			t.Errorf("after the deletion: got %d deliveries that wait, %d endpoints and %d posts, want 0, 0 and 1",
				n, len(c.s.areas.Endpoints()), len(c.hook.deliveries()))
		}
	})
}

func TestOneEndpointIsReplayedAlone(t *testing.T) {
	bubble(t, Options{Statuses: StatusProfile{Off: true}}, func(t *testing.T, c *scene) {
		began := time.Now().Add(-time.Second).UTC().Format(time.RFC3339)
		c.want(t, "POST", "/webhooks", `{"url":"https://second.example/"}`, 200, "")
		must(t, c.s.SetTemplate("newsletter", "", "paused"))
		must(t, c.s.SetQuality("conn_1", "RED"))
		time.Sleep(time.Minute)
		until := time.Now().UTC().Format(time.RFC3339)
		replay := func(id, rest string) int {
			return told[struct{ Deliveries int }](t, c, "POST", "/webhooks/"+id+"/replay",
				fmt.Sprintf(`{"since":%q,"until":%q%s}`, began, until, rest)).Deliveries
		}
		if n := replay("whk_1", ""); n != 2 {
			t.Errorf("all events: got %d deliveries, want 2", n)
		}
		if n := replay("whk_2", `,"events":["template.status"]`); n != 1 {
			t.Errorf("one type: got %d deliveries, want 1", n)
		}
		c.want(t, "POST", "/webhooks/whk_1/replay", `{"since":"`+until+`","until":"`+began+`"}`, 400, "invalid_field")
		c.want(t, "POST", "/webhooks/whk_1/replay", `{"since":"`+began+`"}`, 400, "missing_fields")
		c.want(t, "POST", "/webhooks/whk_1/replay", fmt.Sprintf(`{"since":%q,"until":%q,"events":["x"]}`, began, until), 400, "invalid_event")
		c.settle(t)
		before := len(c.hook.deliveries())
		c.want(t, "PATCH", "/webhooks/whk_1", `{"active":false,"events":["template.status"]}`, 200, "")
		c.want(t, "PATCH", "/webhooks/whk_2", `{"url":"ftp://x.example/"}`, 400, "invalid_url")
		c.want(t, "PATCH", "/webhooks/whk_2", `{"events":["x"]}`, 400, "invalid_event")
		c.want(t, "DELETE", "/webhooks/whk_2", "", 204, "")
		must(t, c.s.SetTemplate("newsletter", "", "approved"))
		c.want(t, "POST", "/webhooks/whk_1/replay", fmt.Sprintf(`{"since":%q,"until":%q}`, began, until), 400, "invalid_field")
		c.settle(t)
		if n := len(c.hook.deliveries()) - before; n != 0 {
			t.Errorf("an endpoint that is not active got %d events, want none", n)
		}
		if got := told[struct {
			Events []string
			Active *bool
		}](t, c, "GET", "/webhooks/whk_1", ""); *got.Active || len(got.Events) != 1 {
			t.Errorf("got %+v, want one event and not active", got)
		}
	})
}

func TestEachBillingPathHasItsAnswer(t *testing.T) {
	bubble(t, Options{Allowance: 10, Companies: []Company{{ID: "co_own", Allowance: 5, Used: 2}},
		Connections: append(Demo().Connections, Connection{ID: "conn_own", Phone: "+15555550990", Company: "co_own"})},
		func(t *testing.T, c *scene) {
			sub := told[map[string]any](t, c, "GET", "/billing/subscription", "")
			if sub["connections"] != 5.0 || sub["periodStart"] != "2000-01-01" || sub["periodEnd"] != "2000-01-31" {
				t.Errorf("subscription: got %v, want 5 connections in January", sub)
			}
			invoices := told[[]map[string]any](t, c, "GET", "/billing/invoices", "")
			if len(invoices) != 12 || invoices[0]["amount"] != 5*sub["pricePerConnection"].(float64) || invoices[0]["periodStart"] != "1999-12-01" {
				t.Errorf("invoices: got %v, want 12 of connections x price", invoices)
			}
			c.send(t, "conn_1", "+15555550199", "newsletter")
			for path, want := range map[string][2]float64{"": {1, 10}, "?companyId=co_1": {1, 10}, "?companyId=co_own": {2, 5}} {
				u := told[map[string]any](t, c, "GET", "/billing/usage"+path, "")
				if u["messagesUsed"] != want[0] || u["messagesLimit"] != want[1] {
					t.Errorf("usage%s: got %v, want %v", path, u, want)
				}
			}
			c.want(t, "GET", "/billing/usage?companyId=co_9", "", 404, "not_found")
			time.Sleep(31 * 24 * time.Hour)
			if u := told[map[string]any](t, c, "GET", "/billing/usage", ""); u["messagesUsed"] != 0.0 || u["periodStart"] != "2000-02-01" {
				t.Errorf("usage of the next month: got %v, want 0 from 2000-02-01", u)
			}
			if p := told[map[string]any](t, c, "GET", "/billing/plan", ""); p["messagesPerMonth"] != 10.0 || p["storageBytes"] != float64(1<<30) {
				t.Errorf("plan: got %v, want 10 messages and 1 GiB", p)
			}
			if l := told[map[string]any](t, c, "GET", "/billing/limits", ""); l["messages"] != 10.0 {
				t.Errorf("limits: got %v, want 10 messages", l)
			}
		})
}
