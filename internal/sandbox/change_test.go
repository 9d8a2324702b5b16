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

// runScenario calls run with a scene that has a scenario of two clients under one key.
func runScenario(t *testing.T, yaml string, run func(*testing.T, *scene)) {
	t.Helper()
	o, err := parseScenario("x.yaml", []byte(`
connections:
  - {id: conn_1, phone: "+15555550100", company: co_1, tier: TIER_10K}
  - {id: conn_2, phone: "+15555550200", company: co_2, tier: TIER_10K}
`+yaml))
	must(t, err)
	bubble(t, o, run)
}

func recipient(n int) string { return fmt.Sprintf("+234803000%04d", n) }

// to posts to recipient n over a connection. It returns the status, or 0 without an answer, and the
// error code and platform code of a refusal, or the beginning of another body.
func (c *scene) to(t *testing.T, conn string, n int) (status int, what string) {
	t.Helper()
	status, raw, err := outcome(t, c, templateBody(conn, recipient(n), "newsletter"))
	if err != nil {
		return 0, err.Error()
	}
	var v struct {
		Error string
		Meta  struct{ Code int }
	}
	if json.Unmarshal([]byte(raw), &v) == nil && v.Error != "" {
		return status, strings.TrimSuffix(fmt.Sprint(v.Error, " ", v.Meta.Code), " 0")
	}
	return status, raw[:min(len(raw), 6)]
}

// events returns the webhooks of a type, with what the test compares of each.
func (c *scene) events(t *testing.T, typ string) (all []map[string]any) {
	t.Helper()
	for _, d := range c.hook.deliveries() {
		var e map[string]any
		must(t, json.Unmarshal(d.body, &e))
		if e["type"] == typ {
			all = append(all, e)
		}
	}
	return all
}

func wantAnswer(t *testing.T, c *scene, conn string, n, status int, what string) {
	t.Helper()
	if s, w := c.to(t, conn, n); s != status || !strings.HasPrefix(w, what) {
		t.Errorf("message %d over %s: %d %q, want %d %q", n, conn, s, w, status, what)
	}
}

func TestEveryRequestIsSwallowedFromAMessageOn(t *testing.T) {
	runScenario(t, "timeline: [{after_messages: 2, faults: {hang_before: 1, hang_for: 1h}}]", func(t *testing.T, c *scene) {
		wantAnswer(t, c, "conn_1", 1, 200, `{"data`)
		wantAnswer(t, c, "conn_1", 2, 200, `{"data`)
		began := time.Now()
		if _, err := c.post(t, templateBody("conn_1", recipient(3), "newsletter")); !errors.Is(err, io.EOF) || time.Since(began) != time.Hour {
			t.Errorf("got %v after %v, want no answer for 1h", err, time.Since(began))
		}
	})
}

func TestPagesComeInPlaceOfTheAnswer(t *testing.T) {
	for _, status := range []int{200, 403, 502} {
		for _, accepted := range []bool{false, true} {
			runScenario(t, fmt.Sprintf("faults: {pages: [{status: %d, share: 1, connections: [conn_1], accepted: %t}]}", status, accepted),
				func(t *testing.T, c *scene) {
					wantAnswer(t, c, "conn_1", 1, status, "<html>")
					wantAnswer(t, c, "conn_2", 1, 200, `{"data`)
					truth, want := c.s.Truth(), 1
					if accepted {
						want = 2
					}
					if len(truth.Messages) != want || truth.Fired["page"] != 1 {
						t.Errorf("%d, accepted %t: %d messages, %d pages; want %d and 1", status, accepted, len(truth.Messages), truth.Fired["page"], want)
					}
				})
		}
	}
}

// A page may be no answer, or an acceptance without an id.
func TestOneNumberGetsNoUsefulAnswer(t *testing.T) {
	runScenario(t, `faults: {hang_for: 1h, pages: [{status: 0, share: 1, connections: [conn_1]}]}`, func(t *testing.T, c *scene) {
		began := time.Now()
		if _, err := c.post(t, templateBody("conn_1", recipient(1), "newsletter")); !errors.Is(err, io.EOF) || time.Since(began) != time.Hour {
			t.Errorf("got %v after %v, want no answer for 1h", err, time.Since(began))
		}
		wantAnswer(t, c, "conn_2", 1, 200, `{"data`)
	})
	const page = `faults: {pages: [{status: 200, body: '{"data":{}}', share: 1, connections: [conn_1], accepted: true}]}`
	runScenario(t, page, func(t *testing.T, c *scene) {
		wantAnswer(t, c, "conn_1", 1, 200, `{"data`)
		for m := range c.s.Messages() {
			if m.Answer != "page" {
				t.Errorf("%s: answer %q, want page", m.ID, m.Answer)
			}
		}
	})
}

// A recipient who gets the page once gets it with every POST.
func TestAPageIsAboutTheSameRecipients(t *testing.T) {
	runScenario(t, `faults: {pages: [{status: 403, share: 0.01, phones: ["+2348030000007"]}]}`, func(t *testing.T, c *scene) {
		paged := map[int]bool{}
		for round := range 2 {
			for n := range 1000 {
				status, _ := c.to(t, "conn_1", n)
				if round == 0 {
					paged[n] = status == 403
				} else if (status == 403) != paged[n] {
					t.Fatalf("recipient %d: %d, and paged before: %t; want the same every time", n, status, paged[n])
				}
			}
		}
		bad := 0
		for _, p := range paged {
			if p {
				bad++
			}
		}
		if bad < 3 || bad > 25 || !paged[7] {
			t.Errorf("%d of 1000 are paged, number 7: %t; want about 10 and true", bad, paged[7])
		}
	})
	runScenario(t, `faults: {pages: [{status: 403, phones: ["+2348030000007"], times: 1}]}`, func(t *testing.T, c *scene) {
		wantAnswer(t, c, "conn_1", 7, 403, "<html>")
		wantAnswer(t, c, "conn_1", 7, 200, `{"data`)
		wantAnswer(t, c, "conn_1", 8, 200, `{"data`)
	})
}

func TestEveryMessageFailsLaterFromAMomentOn(t *testing.T) {
	for _, code := range []int{131042, 131031, 131048, 132015, 130429} {
		later := fmt.Sprintf("{fail_later: [{code: %d, share: 1, after: 2s, connections: [conn_1]}]}", code)
		runScenario(t, "timeline: [{after_messages: 1, faults: "+later+"}]",
			func(t *testing.T, c *scene) {
				for n := range 3 {
					wantAnswer(t, c, "conn_1", n, 200, `{"data`)
				}
				wantAnswer(t, c, "conn_2", 4, 200, `{"data`)
				must(t, c.s.SetFaults(Faults{}))
				wantAnswer(t, c, "conn_1", 5, 200, `{"data`)
				c.settle(t)
				time.Sleep(2 * time.Minute)
				var failed []int
				for i, m := range c.s.Truth().Messages {
					if st := m.Statuses[len(m.Statuses)-1]; st.Name == "failed" && st.Code == code && st.At.Sub(m.At) == 2*time.Second {
						failed = append(failed, i)
					}
				}
				if got, want := fmt.Sprint(failed), "[1 2]"; got != want || c.s.Truth().Fired["fail_later"] != 2 {
					t.Errorf("%d: messages %s failed, want %s", code, got, want)
				}
			})
	}
}

func TestASuspendedClientIsAloneUnderOneKey(t *testing.T) {
	runScenario(t, "timeline: [{after_messages: 1, company: co_2, status: suspended}, {after: 1m, company: co_2, status: active}]",
		func(t *testing.T, c *scene) {
			wantAnswer(t, c, "conn_2", 1, 200, `{"data`)
			wantAnswer(t, c, "conn_2", 2, 403, "account_deactivated")
			wantAnswer(t, c, "conn_1", 2, 200, `{"data`)
			time.Sleep(2 * time.Minute)
			wantAnswer(t, c, "conn_2", 3, 200, `{"data`)
			c.settle(t)
			told := c.events(t, "account.updated")
			if len(told) != 2 || fmt.Sprint(told[0]["data"]) != "map[companyId:co_2 status:suspended]" ||
				fmt.Sprint(told[1]["data"]) != "map[companyId:co_2 status:active]" || told[1]["connectionId"] != "conn_2" {
				t.Errorf("events %v, want suspended and active of co_2", told)
			}
		})
}

func TestAnAccountIsLockedUnpaidAndWellAgain(t *testing.T) {
	runScenario(t, "", func(t *testing.T, c *scene) {
		must(t, c.s.SetAccount("co_2", "locked"))
		wantAnswer(t, c, "conn_2", 1, 400, "send_account 131031")
		wantAnswer(t, c, "conn_1", 1, 200, `{"data`)
		time.Sleep(time.Minute) // events of one moment have no order
		must(t, c.s.SetAccount("co_2", "unpaid"))
		wantAnswer(t, c, "conn_2", 2, 200, `{"data`)
		time.Sleep(time.Minute)
		must(t, c.s.SetAccount("co_2", "active"))
		wantAnswer(t, c, "conn_2", 3, 200, `{"data`)
		c.settle(t)
		if told := c.events(t, "account.updated"); len(told) != 3 ||
			fmt.Sprint(told[0]["data"]) != "map[accountId:200000000000002 status:locked]" || told[2]["createdAt"] == nil {
			t.Errorf("events %v, want locked, unpaid and active of the account of co_2, with their times", told)
		}
		for _, m := range c.s.Truth().Messages {
			last := m.Statuses[len(m.Statuses)-1]
			if want := m.To == recipient(2); (last.Code == 131042) != want {
				t.Errorf("%s: %s %d, want failed 131042: %t", m.To, last.Name, last.Code, want)
			}
		}
		if c.s.SetAccount("co_2", "odd") == nil || c.s.SetAccount("co_9", "active") == nil {
			t.Error("an unknown state or company is taken, want an error")
		}
	})
}

func TestANumberThatCannotSendIsRefused(t *testing.T) {
	runScenario(t, "timeline: [{after_messages: 1, connection: conn_1, status: restricted}, "+
		"{after: 1m, connection: conn_1, status: connected}]",
		func(t *testing.T, c *scene) {
			wantAnswer(t, c, "conn_1", 1, 200, `{"data`)
			wantAnswer(t, c, "conn_1", 2, 400, "send_account 131048")
			wantAnswer(t, c, "conn_2", 2, 200, `{"data`)
			time.Sleep(2 * time.Minute)
			wantAnswer(t, c, "conn_1", 3, 200, `{"data`)
			for status, want := range map[string]string{"maintenance": "send_retryable 131057", "disconnected": "send_number 133010"} {
				must(t, c.s.SetNumber("conn_1", status))
				wantAnswer(t, c, "conn_1", 4, 400, want)
			}
			c.settle(t)
			if told := c.events(t, "number.updated"); len(told) != 4 ||
				fmt.Sprint(told[0]["data"]) != "map[phoneNumber:+15555550100 status:restricted]" || told[0]["connectionId"] != "conn_1" {
				t.Errorf("events %v, want one for each change", told)
			}
			if c.s.SetNumber("conn_1", "odd") == nil || c.s.SetNumber("conn_9", "connected") == nil {
				t.Error("an unknown state or connection is taken, want an error")
			}
		})
}

func TestTheAllowanceEndsAndIsRenewed(t *testing.T) {
	const yaml = "companies: [{id: co_2, allowance: 5}]\nallowance: 1\ntimeline: [{after: 1m, allowance: 2}]"
	runScenario(t, yaml, func(t *testing.T, c *scene) {
		wantAnswer(t, c, "conn_1", 1, 200, `{"data`)
		wantAnswer(t, c, "conn_1", 2, 402, "plan_limit_messages")
		wantAnswer(t, c, "conn_2", 2, 200, `{"data`)
		time.Sleep(2 * time.Minute)
		wantAnswer(t, c, "conn_1", 3, 200, `{"data`)
		wantAnswer(t, c, "conn_1", 4, 200, `{"data`)
		wantAnswer(t, c, "conn_1", 5, 402, "plan_limit_messages")
		must(t, c.s.SetAllowance("", -1))
		wantAnswer(t, c, "conn_1", 6, 200, `{"data`)
		must(t, c.s.SetAllowance("co_2", 0))
		wantAnswer(t, c, "conn_2", 7, 402, "plan_limit_messages")
		if c.s.SetAllowance("co_1", 1) == nil {
			t.Error("a client without its own plan is taken, want an error")
		}
	})
	runScenario(t, "", func(t *testing.T, c *scene) { // before the first message
		must(t, c.s.SetAllowance("", 0))
		wantAnswer(t, c, "conn_1", 1, 402, "plan_limit_messages")
	})
}

func TestRefusalsCanBeOfOneConnection(t *testing.T) {
	runScenario(t, "faults: {refusals: [{code: 190, share: 1, connections: [conn_1]}]}", func(t *testing.T, c *scene) {
		wantAnswer(t, c, "conn_1", 1, 400, "send_account 190")
		wantAnswer(t, c, "conn_2", 1, 200, `{"data`)
	})
}

func TestManagementEndpointsCanBeAway(t *testing.T) {
	s := twoClients(t, func(o *Options) { o.Faults.Away = []string{"numbers", "media"} })
	for path, want := range map[string]int{"numbers": 503, "connections": 200, "templates": 200} {
		if res := call(t, s, "GET", "/api/v1/"+path, "partner", ""); res.StatusCode != want {
			t.Errorf("GET %s: %s, want %d", path, res.Status, want)
		}
	}
	if res := call(t, s, "POST", "/api/v1/media", "partner", ""); res.StatusCode != 503 {
		t.Errorf("POST media: %s, want 503", res.Status)
	}
	if n := s.Truth().Fired["away"]; n != 2 {
		t.Errorf("away fired %d times, want 2", n)
	}
}
