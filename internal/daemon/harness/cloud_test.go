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
	found := w.deliver(3*time.Minute, func() []problem { return compare(list, w.lines("latest"), w.sent("order_update")) })
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

// Two runs write to one person over one number, both answers are lost, and the statuses come after
// both doubts. The marks prove both; without marks each message could be of either run, and neither
// is taken.
func TestTwoLostAnswersOfOnePersonOverTheCloudAPI(t *testing.T) {
	for _, missing := range []float64{0, 1} {
		t.Run(fmt.Sprintf("mark_missing %v", missing), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, standard, func(o *sandbox.Options) {
				o.API = sandbox.APICloud
				o.Statuses = sandbox.StatusProfile{Sent: sandbox.Delay{Median: 12 * time.Second}, Delivered: sandbox.Delay{Median: time.Millisecond},
					Read: sandbox.Delay{Median: time.Millisecond}}
				o.Faults = sandbox.Faults{LostAfter: 1, MarkMissing: missing}
			})
			list := listOf(1, rand.New(rand.NewPCG(*seed, 1)))
			w.schedule("a", "order_update", list, []string{"conn_1"})
			w.schedule("b", "newsletter", list, []string{"conn_1"})
			p := w.serve()
			w.answering(p)
			for deadline := time.Now().Add(2 * lifeLimit); len(w.sent("order_update"))+len(w.sent("newsletter")) < 2; {
				if time.Now().After(deadline) {
					t.Fatalf("got less than two messages in %v, want both runs to send", 2*lifeLimit)
				}
				time.Sleep(100 * time.Millisecond)
			}
			w.stop(p)
			proven := missing == 0
			w.deliver(3*time.Minute, func() (found []problem) {
				for _, run := range []string{"1", "2"} {
					if _, id, ambiguous := w.only(run); proven != (id != "") || proven == (ambiguous == 1) {
						found = append(found, problem{lost, fmt.Sprintf("run %s: message %q, ambiguous %d", run, id, ambiguous)})
					}
				}
				return found
			})
			ids := map[string]string{}
			for _, template := range []string{"order_update", "newsletter"} {
				for _, m := range w.sent(template) {
					ids[template] = m.ID
				}
			}
			for _, run := range []string{"1", "2"} {
				template, id, ambiguous := w.only(run)
				if proven && id != ids[template] || !proven && (id != "" || ambiguous != 1) {
					t.Errorf("run %s of %s got the message %q (ambiguous: %d), want its own of %v if it is proven, else none and 1",
						run, template, id, ambiguous, ids)
				}
			}
		})
	}
}

// only reads the template, the message and the count of ambiguous events of a run of one row.
func (w *world) only(run string) (template, id string, ambiguous int) {
	w.t.Helper()
	lines := w.lines(run)
	var told struct {
		Run    struct{ Template string }
		Funnel struct{ Ambiguous int }
	}
	if _, out := w.ask("report", run, "--format", "json"); len(lines) != 1 || json.Unmarshal([]byte(out), &told) != nil {
		w.t.Fatalf("run %s: got %d rows and the report %s, want one row and JSON", run, len(lines), out)
	}
	return told.Run.Template, lines[0]["message_id"], told.Funnel.Ambiguous
}
