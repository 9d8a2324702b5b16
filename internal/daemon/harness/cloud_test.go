//go:build mutants

package harness

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"campaignd/internal/sandbox"
)

// cloud writes the secrets of the sandbox's account, and returns the configuration of the Cloud
// API. The numbers keep the names that they have at the service.
func (w *world) cloud(address string, o sandbox.Options) string {
	w.t.Helper()
	w.write("token", sandbox.DemoKey+"\n")
	w.write("secret", o.WebhookSecret+"\n")
	w.write("verify", sandbox.CloudVerifyToken+"\n")
	var names []string
	for i, c := range o.Connections {
		names = append(names, fmt.Sprintf("%s: %q", c.ID, sandbox.CloudNumber(i+1)))
	}
	return fmt.Sprintf(`service: {timeout: %s}
webhooks: {sweep: 200ms}
cloud:
  base_url: "http://%s"
  names: {%s}
  accounts: [{id: "%s", token_file: %s, app_secret_file: %s, verify_token_file: %s}]`,
		requestTimeout, address, strings.Join(names, ", "), sandbox.CloudAccount, w.path("token"), w.path("secret"), w.path("verify"))
}

// The long run over the Cloud API, shorter: processes are killed while answers and webhooks are
// lost. The marks prove each accepted message, so nothing that has a status stays in doubt.
func TestKilledProcessesOverTheCloudAPI(t *testing.T) {
	t.Parallel()
	const lives = 12
	draw := rand.New(rand.NewPCG(*seed, 0x636c6f7564)) // "cloud"
	w := newWorld(t, standard, func(o *sandbox.Options) {
		o.API = sandbox.APICloud
		o.Events.Timestamps = "rfc3339" // the platform's have whole seconds, which compare would not take
		o.EnforceThroughput = true
		o.Faults = faults()
		o.Faults.Missing, o.Faults.LostAfter = 0, 0.05
	})
	list := listOf(190*lives, draw)
	w.campaign("orders", "order_update", list)
	k := &killing{world: w, began: time.Now(), counts: map[window]int{}}
	for plan := deaths(lives, draw)[:lives]; len(plan) > 0; plan = plan[1:] {
		if !k.kill(plan[0], func(env ...string) *process { return w.run("orders", env...) }) {
			plan = append(plan, plan[0])
		}
	}
	k.log("all killed: %v, %d missed, %d messages accepted", k.counts, k.missed, len(w.sent("order_update")))
	w.finish("orders", 3*time.Minute)
	found := w.deliver(time.Minute, func() []problem { return compare(list, w.lines("latest"), w.sent("order_update")) })
	found = append(found, w.audited("latest")...)
	want(t, found)
	truth := w.service.Stats()
	_, totals := w.state("latest")
	k.log("settled: %v; service: %v", totals, truth.Fired)

	accepted := map[string]bool{}
	for _, m := range w.sent("order_update") {
		accepted[m.To] = true
	}
	for _, l := range w.lines("latest") {
		if accepted[l["to"]] && (l["status"] == "unknown" || l["status"] == "in_doubt") {
			t.Errorf("got %v of an accepted message, want it proven", l)
		}
	}
	var told struct{ Funnel struct{ Adopted int } }
	if _, out := w.ask("report", "latest", "--format", "json"); json.Unmarshal([]byte(out), &told) != nil || told.Funnel.Adopted < 20 {
		t.Errorf("got %d rows that a mark proved, want 20 at least", told.Funnel.Adopted)
	}
	if truth.ForgedAccepted > 0 || truth.WithoutPlus > 0 {
		t.Errorf("got %d forged webhooks taken and %d recipients without +, want none", truth.ForgedAccepted, truth.WithoutPlus)
	}
	w.withinLimits()
	w.neverPosted(list)
}
