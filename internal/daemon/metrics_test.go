package daemon

import (
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"campaignd/campaign"
	"campaignd/campaign/sender"
	"campaignd/internal/config"
	"campaignd/internal/ledger"
	"campaignd/internal/ledger/backend"
	"campaignd/internal/webhooks"
	"campaignd/recipients"
)

// The counters equal the rows of the ledger and the messages of the service. No recipient is on the
// page.
func TestMetricsCountMessagesAndNameNobody(t *testing.T) {
	t.Parallel()
	c := newCluster(t, "STANDARD", 15*time.Second)
	makeDue(t, c.campaign(c.dir, "spring", dailySchedule, 20))
	l, err := backend.Open(t.Context(), "sqlite:"+filepath.Join(c.dir, "roles.db"), ledger.Options{})
	if err != nil {
		t.Fatal(err)
	}
	suppressed := campaign.Suppression{
		Key: recipients.Key("+2348030000003"), To: "+2348030000003", Scope: campaign.ScopeAll, Source: "operator", At: time.Now(),
	}
	if _, err := l.Suppress(t.Context(), []campaign.Suppression{suppressed}); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	s := c.serve(config.RoleSender)
	var page string
	for deadline := time.Now().Add(longWait); ; time.Sleep(20 * time.Millisecond) {
		_, page = c.page(s.admin + "/metrics")
		if strings.Contains(page, `campaignd_results_total{connection="conn_1",result="accepted"} 19`) {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("got\n%s\nwant 19 accepted within %v", page, longWait)
		}
	}
	if problems, err := promlint.New(strings.NewReader(page)).Lint(); err != nil || len(problems) > 0 {
		t.Errorf("names, help and units of the metrics: got %+v (%v), want no complaint of promtool", problems, err)
	}
	for _, want := range []string{
		`runs{state="paused"} 0`, `skipped_total{connection="conn_1"} 1`,
		`recovered_total{connection="conn_1"} 0`,
	} {
		if !strings.Contains(page, "campaignd_"+want+"\n") {
			t.Errorf("got\n%s\nwant campaignd_%s in it", page, want)
		}
	}
	// A request that is late for its slot is begun once more, on a busy machine often.
	begun := regexp.MustCompile(`campaignd_posts_total\{connection="conn_1"\} (\d+)\n`).FindStringSubmatch(page)
	if begun == nil || len(begun[1]) < 2 || len(begun[1]) == 2 && begun[1] < "19" {
		t.Errorf("got\n%s\nwant 19 posts or more in it", page)
	}
	n := 0
	for m := range c.service.Messages() {
		n++
		if strings.Contains(page, strings.TrimPrefix(m.To, "+")) {
			t.Errorf("got %s on the page, want no recipient", m.To)
		}
	}
	if n != 19 {
		t.Errorf("the service accepted %d messages, want 19", n)
	}
	labels := regexp.MustCompile(`^campaignd_[a-z_]+\{(.*)\}`)
	known := regexp.MustCompile(`^(connection|portfolio|result|reason|kind|outcome|state|folder)="[a-z_0-9]+"` +
		`(,(result|limited_by|reason)="[a-z_]+")?$|^version="[^"]+"$|^le="[0-9.+Inf]+"$`)
	for _, line := range strings.Split(page, "\n") {
		if found := labels.FindStringSubmatch(line); found != nil && !known.MatchString(found[1]) {
			t.Errorf("labels: got %s, want %s", line, known)
		}
	}
	s.stop()
	if err := <-s.ended; err != nil {
		t.Error(fmt.Errorf("serve: %w", err))
	}
}

// scrape returns the values and types that a collector writes, without the lines of help.
func scrape(t *testing.T, c prometheus.Collector) []string {
	t.Helper()
	registry := prometheus.NewRegistry()
	registry.MustRegister(c)
	w := httptest.NewRecorder()
	promhttp.HandlerFor(registry, promhttp.HandlerOpts{}).ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	var values []string
	for line := range strings.Lines(w.Body.String()) {
		if kind, ok := strings.CutPrefix(line, "# TYPE "); ok {
			values = append(values, strings.TrimSpace(kind))
		} else if !strings.HasPrefix(line, "#") {
			values = append(values, strings.TrimSpace(line))
		}
	}
	return values
}

// differ compares lines.
func differ(t *testing.T, got, want []string) {
	t.Helper()
	for i := range max(len(got), len(want)) {
		g, w := "nothing", "nothing"
		if i < len(got) {
			g = got[i]
		}
		if i < len(want) {
			w = want[i]
		}
		if g != w {
			t.Errorf("line %d: got %s, want %s", i+1, g, w)
		}
	}
}

// Dashboards and alerts use these names (docs/recovery.md#what-to-watch).
func TestEachMetricHasItsNameAndValue(t *testing.T) {
	at := time.Unix(1800000000, 0)
	differ(t, scrape(t, sendMetrics(func() []sender.Stats {
		return []sender.Stats{{
			Connection: "conn_1", Rate: 68.4, InFlight: 1, Posted: 2, Accepted: 3, Refused: 4, Deferred: 5, Doubts: 6,
			Skipped: 7, Recovered: 8, Forfeited: 9, Throttled: 10, NoSlot: 11, Latency: 120 * time.Millisecond, Idle: 90 * time.Second,
			Lanes: []campaign.LaneReport{{Run: 1, LimitedBy: campaign.ByThroughput}, {Run: 2, LimitedBy: campaign.ByHold}, {Run: 3,
				LimitedBy: campaign.ByThroughput}},
		}}
	})), []string{
		"campaignd_in_flight gauge", `campaignd_in_flight{connection="conn_1"} 1`,
		"campaignd_lanes gauge", `campaignd_lanes{connection="conn_1",limited_by="hold"} 1`,
		`campaignd_lanes{connection="conn_1",limited_by="throughput"} 2`,
		"campaignd_limiter_unavailable_total counter", `campaignd_limiter_unavailable_total{connection="conn_1"} 11`,
		"campaignd_pace_messages_per_second gauge", `campaignd_pace_messages_per_second{connection="conn_1"} 68.4`,
		"campaignd_posts_total counter", `campaignd_posts_total{connection="conn_1"} 2`,
		"campaignd_recovered_total counter", `campaignd_recovered_total{connection="conn_1"} 8`,
		"campaignd_results_total counter", `campaignd_results_total{connection="conn_1",result="accepted"} 3`,
		`campaignd_results_total{connection="conn_1",result="deferred"} 5`,
		`campaignd_results_total{connection="conn_1",result="doubt"} 6`,
		`campaignd_results_total{connection="conn_1",result="refused"} 4`,
		"campaignd_seconds_since_post gauge", `campaignd_seconds_since_post{connection="conn_1"} 90`,
		"campaignd_skipped_total counter", `campaignd_skipped_total{connection="conn_1"} 7`,
		"campaignd_slots_forfeited_total counter", `campaignd_slots_forfeited_total{connection="conn_1"} 9`,
		"campaignd_throttled_total counter", `campaignd_throttled_total{connection="conn_1"} 10`,
	})
	differ(t, scrape(t, requestTimes(func() sender.RequestTimes {
		return sender.RequestTimes{Count: 3, Seconds: 1.5, Buckets: map[float64]uint64{0.5: 2, 1: 3}}
	})), []string{
		"campaignd_request_seconds histogram", `campaignd_request_seconds_bucket{le="0.5"} 2`, `campaignd_request_seconds_bucket{le="1"} 3`,
		`campaignd_request_seconds_bucket{le="+Inf"} 3`, "campaignd_request_seconds_sum 1.5", "campaignd_request_seconds_count 3",
	})
	differ(t, scrape(t, intakeMetrics(func() webhooks.Counts {
		return webhooks.Counts{
			Taken: 1, Rejected: map[webhooks.Rejection]uint64{webhooks.RejectedSignature: 2}, Events: map[string]uint64{"status": 3},
			Commits: 10, CommitsFailed: 4, Waiting: 5, Matched: 11, Repeated: 12, Orphaned: 13, Adopted: 14, Orphans: 15, Ambiguous: 16,
			Nobody: 18, ForeignMarks: 21, Ignored: 22, SweepsFailed: 19, OrphansOld: 20,
			Verified: map[string]time.Time{"conn_1": at}, Templates: map[string]uint64{"pauses": 17},
		}
	})), []string{
		"campaignd_events_total counter", `campaignd_events_total{kind="status"} 3`,
		"campaignd_events_without_number_total counter", "campaignd_events_without_number_total 18",
		"campaignd_orphans gauge", "campaignd_orphans 15",
		"campaignd_orphans_ambiguous gauge", "campaignd_orphans_ambiguous 16",
		"campaignd_orphans_expired_total counter", "campaignd_orphans_expired_total 20",
		"campaignd_statuses_total counter", `campaignd_statuses_total{result="adopted"} 14`, `campaignd_statuses_total{result="matched"} 11`,
		`campaignd_statuses_total{result="orphaned"} 13`, `campaignd_statuses_total{result="repeated"} 12`,
		"campaignd_sweeps_failed_total counter", "campaignd_sweeps_failed_total 19",
		"campaignd_template_events_total counter", `campaignd_template_events_total{effect="pauses"} 17`,
		"campaignd_webhook_commits_total counter", `campaignd_webhook_commits_total{result="failed"} 4`,
		`campaignd_webhook_commits_total{result="ok"} 6`,
		"campaignd_webhook_foreign_marks_total counter", "campaignd_webhook_foreign_marks_total 21",
		"campaignd_webhook_ignored_events_total counter", "campaignd_webhook_ignored_events_total 22",
		"campaignd_webhook_last_verified_seconds gauge", `campaignd_webhook_last_verified_seconds{connection="conn_1"} 1.8e+09`,
		"campaignd_webhook_seconds_since_verified gauge", "campaignd_webhook_seconds_since_verified 0",
		"campaignd_webhooks_rejected_total counter", `campaignd_webhooks_rejected_total{reason="signature"} 2`,
		"campaignd_webhooks_taken_total counter", "campaignd_webhooks_taken_total 1",
		"campaignd_webhooks_waiting gauge", "campaignd_webhooks_waiting 5",
	})
}

// Each metric stands in the table of docs/recovery.md.
func TestEachMetricIsDocumented(t *testing.T) {
	page, err := os.ReadFile("../../docs/recovery.md")
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, name := range files {
		source, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		for _, metric := range regexp.MustCompile(`"(campaignd_[a-z_]+)"`).FindAllStringSubmatch(string(source), -1) {
			found++
			if !strings.Contains(string(page), "`"+metric[1]) {
				t.Errorf("%s: docs/recovery.md does not name %s", name, metric[1])
			}
		}
	}
	if found < 30 {
		t.Errorf("found %d metrics, want 30 or more", found)
	}
}
