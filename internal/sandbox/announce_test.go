package sandbox

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"
)

func TestEventsOfThePastAndWithoutATime(t *testing.T) {
	runScenario(t, `timeline:
  - {after: 1m, template: newsletter, status: paused}
  - after: 2m
    event: {type: template.status, connection: conn_1, ago: 24h, data: {name: newsletter, language: en-US, event: APPROVED}}
  - {after: 3m, event: {type: account.updated, company: co_2, no_time: true, data: {companyId: co_2, status: active}}}
`, func(t *testing.T, c *scene) {
		time.Sleep(5 * time.Minute)
		c.settle(t)
		reviews := c.events(t, "template.status")
		if n := len(reviews); n != 3 { // paused at both clients
			t.Fatalf("%d template events, want 3: %v", n, reviews)
		}
		paused, err := time.Parse(time.RFC3339Nano, fmt.Sprint(reviews[0]["createdAt"]))
		must(t, err)
		old, err := time.Parse(time.RFC3339Nano, fmt.Sprint(reviews[2]["createdAt"]))
		must(t, err)
		if got, want := paused.Sub(old), 24*time.Hour-time.Minute; got != want {
			t.Errorf("the approval is %v older than the pause, want %v", got, want)
		}
		if told := c.events(t, "account.updated"); len(told) != 1 || told[0]["createdAt"] != nil {
			t.Errorf("account events %v, want one without a time", told)
		}
		before := len(c.hook.deliveries())
		if n := c.s.Replay(Replay{All: true, Types: []string{"template.status"}}); n != 3 {
			t.Errorf("%d replayed, want the 3 template events", n)
		}
		c.settle(t)
		if got := len(c.hook.deliveries()) - before; got != 3 {
			t.Errorf("%d came again, want 3", got)
		}
		if c.s.Announce(Announcement{}) == nil || c.s.Announce(Announcement{Type: "x", Connection: "conn_9"}) == nil ||
			c.s.Announce(Announcement{Type: "x", Company: "co_9"}) == nil {
			t.Error("an event without a type, or about nothing, is taken, want an error")
		}
	})
	runScenario(t, "events: {omit_time: true}", func(t *testing.T, c *scene) {
		must(t, c.s.SetNumber("conn_1", "restricted"))
		wantAnswer(t, c, "conn_2", 1, 200, `{"data`)
		c.settle(t)
		if told := c.events(t, "number.updated"); len(told) != 1 || told[0]["createdAt"] != nil {
			t.Errorf("number events %v, want one without a time", told)
		}
		for _, e := range c.events(t, "message.status") {
			if e["createdAt"] == nil {
				t.Errorf("status %v, want it with its time", e)
			}
		}
	})
}

func TestTheTimeOfAPlatformsEvent(t *testing.T) {
	for form, want := range map[string]bool{"envelope: platform": true, "envelope: platform, omit_time: true": false} {
		runScenario(t, "events: {"+form+"}", func(t *testing.T, c *scene) {
			now := time.Now().Unix()
			must(t, c.s.SetAccount("co_2", "locked"))
			c.settle(t)
			body := string(c.hook.last(t).body)
			if got := strings.Contains(body, fmt.Sprintf(`"id":"200000000000002","time":%d,`, now)); got != want {
				t.Errorf("%s: %s; want the time %d of the event: %t", form, body, now, want)
			}
		})
	}
}

func TestEveryChangeCanBeAskedForOverHTTP(t *testing.T) {
	s := twoClients(t)
	for _, c := range []struct {
		method, path, body string
		status             int
	}{
		{"POST", "numbers/conn_1/status", `{"status":"restricted"}`, 200},
		{"POST", "numbers/conn_1/status", `{"status":"ill"}`, 400},
		{"POST", "accounts/co_1/status", `{"status":"locked"}`, 200},
		{"POST", "accounts/co_1/status", `{"status":"ill"}`, 400},
		{"POST", "allowance", `{"messages":10}`, 200},
		{"POST", "allowance", `{"company":"co_1","messages":10}`, 400},
		{"POST", "events", `{"type":"template.status","connection":"conn_1","ago":"24h","data":{"event":"APPROVED"}}`, 200},
		{"POST", "events", "type: account.updated\ncompany: co_1\nno_time: true\n", 200},
		{"POST", "events", `{"kind":"template.status"}`, 400},
		{"PUT", "faults", `{"pages":[{"status":403,"share":0.01}],"away":["numbers"],"fail_later":[{"code":131042,"share":1}]}`, 200},
		{"PUT", "faults", `{"pages":[{"status":302,"share":1}]}`, 400},
		{"PUT", "faults", `{"pages":[{"status":200,"phones":["x"]}]}`, 400},
		{"PUT", "faults", `{"away":["messages"]}`, 400},
		{"PUT", "faults", `{"fail_later":[{"share":1}]}`, 400},
		{"POST", "replay", `{"all":true,"types":["template.status"]}`, 200},
	} {
		r := httptest.NewRequest(c.method, "https://service.example/sandbox/"+c.path, strings.NewReader(c.body))
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		if w.Code != c.status {
			t.Errorf("%s %s %s: %d %s, want %d", c.method, c.path, c.body, w.Code, w.Body, c.status)
		}
	}
	if f := s.Faults(); len(f.Pages) != 1 || len(f.FailLater) != 1 || f.FailLater[0].Code != 131042 {
		t.Errorf("faults %+v, want those of the last good PUT", f)
	}
	if refused := s.Stats().Refused; len(refused) != 0 {
		t.Errorf("refused %v, want none", refused)
	}
}

func TestListingsComeInPages(t *testing.T) {
	s := twoClients(t, func(o *Options) { o.PageSize = 1 })
	ids := map[string]bool{}
	query := ""
	for range 10 {
		res := call(t, s, "GET", "/api/v1/connections"+query, "partner", "")
		var page struct {
			Data       []struct{ ID string }
			NextCursor string
		}
		must(t, json.NewDecoder(res.Body).Decode(&page))
		if len(page.Data) != 1 {
			t.Fatalf("%s has %d connections, want 1", query, len(page.Data))
		}
		ids[page.Data[0].ID] = true
		if page.NextCursor == "" {
			break
		}
		query = "?cursor=" + url.QueryEscape(page.NextCursor)
	}
	if got, want := len(ids), len(s.connections); got != want {
		t.Errorf("%d connections in all pages, want %d", got, want)
	}
	if res := call(t, s, "GET", "/api/v1/connections?cursor=x", "partner", ""); res.StatusCode != 400 {
		t.Errorf("a cursor that nobody gave: %s, want 400", res.Status)
	}
	if _, err := New(Options{PageSize: -1}); err == nil {
		t.Error("a negative page size: got no error, want one")
	}
}
