package sandbox

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
)

type campaignRow struct {
	ID, Status string
	Recipients int
	Counts     map[string]int
}

func campaignOf(name string, recipients ...string) string {
	return `{"connectionId":"conn_1","name":"autumn","template":{"name":"` + name + `","language":"en_US"},"recipients":[` +
		strings.Join(recipients, ",") + `]}`
}

func numbered(from, n int) (list []string) {
	for i := range n {
		list = append(list, fmt.Sprintf(`{"to":"+2348030%06d"}`, from+i))
	}
	return list
}

func TestACampaignCountsEachRecipientOnce(t *testing.T) {
	o := Options{Connections: Demo().Connections, Allowance: 155, OptedOut: []string{"+2348030000003"}}
	o.Connections[0].Rate = 100
	o.Statuses.Recipients = []Recipient{{Phone: "+2348030000005", Fate: FateUnreachable}}
	bubble(t, o, func(t *testing.T, c *scene) {
		k := told[campaignRow](t, c, "POST", "/campaigns", campaignOf("newsletter", numbered(0, 100)...))
		add := func(list ...string) string { return `{"recipients":[` + strings.Join(list, ",") + `]}` }
		got := told[struct {
			Added, Duplicates int
			Invalid           []struct{ Index int }
		}](t, c, "POST", "/campaigns/"+k.ID+"/recipients", add(append(numbered(50, 150), `{"to":"x"}`)...))
		if got.Added != 100 || got.Duplicates != 50 || len(got.Invalid) != 1 || got.Invalid[0].Index != 150 {
			t.Errorf("add: got %+v, want 100 added, 50 duplicates and index 150 invalid", got)
		}
		c.want(t, "POST", "/campaigns/"+k.ID+"/launch", "", 200, "running")
		c.want(t, "POST", "/campaigns/"+k.ID+"/launch", "", 409, "campaign_not_draft")
		c.want(t, "POST", "/campaigns/"+k.ID+"/recipients", add(numbered(900, 1)...), 409, "campaign_not_draft")
		time.Sleep(time.Second)
		if got := told[campaignRow](t, c, "GET", "/campaigns/"+k.ID, ""); got.Counts["pending"] < 90 || got.Counts["pending"] > 110 {
			t.Errorf("after a second at 100/s: got %v, want about 100 pending", got.Counts)
		}
		time.Sleep(time.Hour)
		c.settle(t)
		end := told[campaignRow](t, c, "GET", "/campaigns/"+k.ID, "")
		want := map[string]int{"pending": 0, "accepted": 0, "sent": 0, "delivered": 0, "read": 155, "failed": 0, "refused": 45}
		if end.Status != "completed" || end.Recipients != 200 || fmt.Sprint(end.Counts) != fmt.Sprint(want) {
			t.Errorf("at the end: got %+v, want completed with %v", end, want)
		}
		refused := map[string]int{}
		for _, r := range told[[]struct{ Status, Error string }](t, c, "GET", "/campaigns/"+k.ID+"/recipients?status=refused", "") {
			refused[r.Error]++
		}
		if refused["recipient_opted_out"] != 1 || refused["send_recipient_permanent"] != 1 || refused["plan_limit_messages"] != 43 {
			t.Errorf("refused: got %v, want an opt-out, one unreachable and 43 beyond the allowance", refused)
		}
		if u := told[map[string]any](t, c, "GET", "/billing/usage", ""); u["messagesUsed"] != 155.0 {
			t.Errorf("usage: got %v, want 155 messages", u)
		}
	})
}

func TestACampaignEndsWhereItIsCancelled(t *testing.T) {
	o := Options{Connections: Demo().Connections, Statuses: StatusProfile{Off: true}}
	o.Connections[0].Rate = 10
	bubble(t, o, func(t *testing.T, c *scene) {
		c.want(t, "POST", "/campaigns", campaignOf(""), 400, "missing_fields")
		c.want(t, "POST", "/campaigns", campaignOf("newsletter", `{"to":"+2348030000000"}`, `{"to":"12"}`), 400, "invalid_field")
		c.want(t, "POST", "/campaigns", campaignOf("newsletter", `{"body":["x"]}`), 400, "missing_fields")
		if rows := told[[]campaignRow](t, c, "GET", "/campaigns", ""); len(rows) != 0 {
			t.Errorf("after refusals: got %+v, want no campaign", rows)
		}
		empty := c.want(t, "POST", "/campaigns", campaignOf("newsletter"), 200, "draft")
		c.want(t, "POST", "/campaigns/"+empty+"/launch", "", 400, "missing_fields")
		paused := c.want(t, "POST", "/campaigns", campaignOf("promo_weekend", numbered(0, 1)...), 200, "draft")
		c.want(t, "POST", "/campaigns/"+paused+"/launch", "", 400, "send_template")
		k := c.want(t, "POST", "/campaigns", campaignOf("newsletter", numbered(0, 100)...), 200, "draft")
		c.want(t, "POST", "/campaigns/"+k+"/launch", "", 200, "running")
		time.Sleep(2*time.Second + time.Millisecond)
		c.want(t, "POST", "/campaigns/"+k+"/cancel", "", 200, "cancelled")
		time.Sleep(time.Minute)
		got := told[campaignRow](t, c, "GET", "/campaigns/"+k, "")
		if got.Counts["accepted"] < 20 || got.Counts["accepted"] > 22 || got.Counts["pending"]+got.Counts["accepted"] != 100 {
			t.Errorf("cancelled after 2 s at 10/s: got %v, want about 21 accepted and the others pending", got.Counts)
		}
		c.want(t, "POST", "/campaigns/"+k+"/cancel", "", 409, "campaign_not_draft")
		c.want(t, "GET", "/campaigns/"+k+"/recipients?status=x", "", 400, "invalid_field")
	})
}

func TestACampaignHasAtMost10000Recipients(t *testing.T) {
	c := &scene{s: twoClients(t), key: "partner"}
	k := c.want(t, "POST", "/campaigns", campaignOf("newsletter"), 200, "draft")
	for n := range 10 {
		body, err := json.Marshal(map[string]any{"recipients": json.RawMessage("[" + strings.Join(numbered(n*1000, 1000), ",") + "]")})
		must(t, err)
		c.want(t, "POST", "/campaigns/"+k+"/recipients", string(body), 200, "")
	}
	c.want(t, "POST", "/campaigns/"+k+"/recipients", `{"recipients":[{"to":"+2349030000000"}]}`, 409, "limit_reached")
	c.want(t, "POST", "/campaigns/"+k+"/recipients", `{"recipients":[{"to":"+2348030000000"}]}`, 200, "") // a duplicate takes no place
	c.want(t, "POST", "/campaigns/"+k+"/recipients", `{"recipients":[`+strings.Join(numbered(0, 1001), ",")+`]}`, 400, "invalid_field")
}

// Two campaigns of one number share its throughput, and their messages count as those of POST
// /messages do.
func TestCampaignsOfANumberShareItsThroughput(t *testing.T) {
	o := Options{Connections: Demo().Connections, Statuses: StatusProfile{Off: true}, EnforceThroughput: true}
	o.Connections[0].Rate = 10
	bubble(t, o, func(t *testing.T, c *scene) {
		var ids []string
		for i := range 2 {
			k := c.want(t, "POST", "/campaigns", campaignOf("newsletter", numbered(100*i, 50)...), 200, "draft")
			c.want(t, "POST", "/campaigns/"+k+"/launch", "", 200, "running")
			ids = append(ids, k)
		}
		time.Sleep(5 * time.Second)
		sent := 0
		for _, k := range ids {
			sent += 50 - told[campaignRow](t, c, "GET", "/campaigns/"+k, "").Counts["pending"]
		}
		if sent < 48 || sent > 52 {
			t.Errorf("after 5 s at 10/s: got %d messages of both, want about 50", sent)
		}
		time.Sleep(time.Minute)
		for _, k := range ids {
			if got := told[campaignRow](t, c, "GET", "/campaigns/"+k, ""); got.Counts["accepted"] != 50 {
				t.Errorf("at the end: got %v, want 50 accepted and none refused for the throughput", got.Counts)
			}
		}
		if n := c.s.Stats().Connections[0]; n.Posts != 100 || n.WorstSecond > 11 {
			t.Errorf("got %d messages and %d in the worst second, want 100 and at most 11", n.Posts, n.WorstSecond)
		}
	})
}

// The counts are those of the recipients' own states at every moment, and asking for them costs the
// same for every number of recipients.
func TestCountsAgreeWithTheRecipientsAtAnyTime(t *testing.T) {
	o := Options{Connections: Demo().Connections, Faults: Faults{FailedFirst: 0.2}}
	o.Statuses.Failed = []Failure{{Code: 131026, Share: 0.2}}
	o.Connections[0].Rate = 100
	bubble(t, o, func(t *testing.T, c *scene) {
		k := c.want(t, "POST", "/campaigns", campaignOf("newsletter", numbered(0, 300)...), 200, "draft")
		c.want(t, "POST", "/campaigns/"+k+"/launch", "", 200, "running")
		seen := map[string]bool{}
		for range 40 {
			time.Sleep(217 * time.Millisecond)
			want := map[string]int{}
			for _, r := range told[[]struct{ Status string }](t, c, "GET", "/campaigns/"+k+"/recipients", "") {
				want[r.Status]++
				seen[r.Status] = true
			}
			for state, n := range told[[]campaignRow](t, c, "GET", "/campaigns", "")[0].Counts {
				if n != want[state] {
					t.Errorf("%s: got %d in the list, want %d", state, n, want[state])
				}
			}
		}
		if len(seen) < 6 {
			t.Errorf("got the states %v, want all but refused", seen)
		}
		c.settle(t)
		for _, r := range told[[]struct{ MessageID, Status string }](t, c, "GET", "/campaigns/"+k+"/recipients", "") {
			m, _ := c.s.Message(r.MessageID)
			if last := m.Statuses[len(m.Statuses)-1].Name; r.Status != last {
				t.Errorf("at the end: got %s, want %s as the message has", r.Status, last)
			}
		}
	})
	s := twoClients(t)
	c := &scene{s: s, key: "partner"}
	allocations := func() float64 {
		return testing.AllocsPerRun(10, func() { call(t, s, "GET", "/api/v1/campaigns", "partner", "") })
	}
	k := c.want(t, "POST", "/campaigns", campaignOf("newsletter", numbered(0, 1)...), 200, "draft")
	before := allocations()
	c.want(t, "POST", "/campaigns/"+k+"/recipients", `{"recipients":[`+strings.Join(numbered(0, 1000), ",")+`]}`, 200, "")
	if after := allocations(); after > before+10 {
		t.Errorf("a list of a campaign of 1,000 recipients: got %.0f allocations, want about the %.0f of one recipient", after, before)
	}
}
