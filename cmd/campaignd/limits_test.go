package main

import (
	"strings"
	"testing"

	"campaignd/internal/sandbox"
)

// The limits of a run are shown, and change one by one while it has not ended.
func TestLimitsOfARunChangeOneByOne(t *testing.T) {
	t.Parallel()
	d := newFixture(t, nil)
	d.write("c.yaml", strings.Replace(campaignFile, "connections:", "limits: {weight: 2, rate: 40}\nconnections:", 1))
	d.write("list.csv", listOf(3))
	d.want(0, "run", d.path("c.yaml"), "--settle", "0s")
	d.spoil("UPDATE run SET state = 'waiting_approval', ended_at = 0")
	const first = "orders-1: class transactional, weight 2, at most 40 messages per second\n"
	d.says(0, first, "", "limits", "latest")
	d.says(0, "orders-1: class transactional, weight 5, to be done 6h after its launch; its senders follow within a second\n", "",
		"limits", "latest", "--weight", "5", "--rate", "none", "--deadline", "6h")
	d.says(0, "orders-1: class bulk, weight 5, to be done 6h after its launch; its senders follow within a second\n", "",
		"limits", "latest", "--class", "bulk")
	d.says(0, "{\n  \"run\": \"orders-1\",\n  \"class\": \"bulk\",\n  \"weight\": 5,\n  \"deadline\": \"6h\"\n}\n", "",
		"limits", "latest", "-o", "json")
	for flag, want := range map[string]string{
		"--weight=0": "weight 0: want 1 to 100", "--rate=fast": `--rate "fast": want messages per second, for example 40, or none`,
		"--deadline=6": `--deadline "6" is not a duration: want a number with a unit, for example 15m, 24h or 7d, or none`,
		"--class=high": `class "high": want transactional or bulk`,
	} {
		d.says(2, "", "campaignd: "+want+"\n", "limits", "latest", flag)
	}
	d.want(0, "cancel", "latest")
	d.says(1, "", "campaignd: not possible now: orders-1 is cancelled, there is nothing to share\n", "limits", "latest", "--weight", "1")
}

// The allowance and its source: the service's billing, or the configuration before it. A key that
// may not ask, and a service that is away, show none.
func TestLimitsShowTheAllowanceWithItsSource(t *testing.T) {
	t.Parallel()
	d := newFixture(t, func(o *sandbox.Options) {
		o.Allowance = 100
		o.Keys = append(o.Keys, sandbox.Key{Token: "of-one-client", Company: "co_1"})
	})
	d.want(0, "run", d.path("c.yaml"), "--settle", "1m")
	wantIn(t, "by the billing", d.want(0, "limits", "latest").stdout, "the plan of co_1 allows 100 messages until ",
		"as the service's billing tells (billing_usage); 40 are used")
	wantIn(t, "as JSON", d.want(0, "limits", "latest", "-o", "json").stdout, `"messages": 100,`, `"used": 40,`,
		`"source": "billing_usage"`)
	d.env["CAMPAIGND_PLAN_MONTHLY_MESSAGES"] = "70"
	wantIn(t, "as configured", d.want(0, "limits", "latest").stdout, "the plan of co_1 allows 70 messages",
		"as plan.monthly_messages says; 40")
	delete(d.env, "CAMPAIGND_PLAN_MONTHLY_MESSAGES")
	for _, change := range [][2]string{
		{"CAMPAIGND_SERVICE_API_KEY", "of-one-client"}, {"CAMPAIGND_SERVICE_BASE_URL", "http://" + freePort(t)}} {
		name := change[0]
		d.env[name] = change[1]
		if got := d.want(0, "limits", "latest").stdout; strings.Contains(got, "the plan") {
			t.Errorf("with another %s: got %q, want no allowance", name, got)
		}
	}
}
