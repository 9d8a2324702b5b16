package daemon

import (
	"bytes"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"campaignd/campaign"
	"campaignd/internal/webhooks"
)

// The log of serve says when a hold begins and when it ends, and the metrics count both.
func TestServeTellsOfEachHoldTwice(t *testing.T) {
	t.Parallel()
	c := newCluster(t, "STANDARD", 15*time.Second)
	var log bytes.Buffer
	d := c.replica()
	d.log = slog.New(slog.NewTextHandler(&log, nil))
	w := newHoldWatch(d)
	hold := campaign.Hold{Scope: campaign.HoldConnection, ID: "conn_1", Reason: "operator", Source: campaign.HoldByOperator, Since: time.Now()}
	if _, err := c.ledger.AddHolds(t.Context(), []campaign.Hold{hold}); err != nil {
		t.Fatal(err)
	}
	w.look(t.Context())
	w.look(t.Context())
	reg := prometheus.NewRegistry()
	reg.MustRegister(holdMetrics(w.counts))
	page := httptest.NewRecorder()
	promhttp.HandlerFor(reg, promhttp.HandlerOpts{}).ServeHTTP(page, httptest.NewRequest("GET", "/metrics", nil))
	if want := `campaignd_holds{reason="operator",scope="connection"} 1`; !strings.Contains(page.Body.String(), want) {
		t.Errorf("got\n%s\nwant %s", page.Body, want)
	}
	lift := campaign.Lift{Scope: hold.Scope, ID: hold.ID, At: time.Now(), By: campaign.HoldByOperator}
	if _, err := c.ledger.LiftHolds(t.Context(), []campaign.Lift{lift}); err != nil {
		t.Fatal(err)
	}
	w.look(t.Context())
	lines := strings.Split(strings.TrimSpace(log.String()), "\n")
	if len(lines) != 2 || !strings.Contains(lines[0], "hold began") || !strings.Contains(lines[0], "connection conn_1 is held since") ||
		!strings.Contains(lines[1], "hold ended") || !strings.Contains(lines[1], "an operator lifted it") {
		t.Errorf("the log says\n%s\nwant one line for the beginning and one for the end", &log)
	}
	kind := holdKind{"connection", "operator"}
	if now, began, ended := w.counts(); now[kind] != 0 || began[kind] != 1 || ended[kind] != 1 {
		t.Errorf("now %d, began %d, ended %d; want 0, 1, 1", now[kind], began[kind], ended[kind])
	}
}

// The intake has a line of the event that pauses a template. The process that took the event needs
// no second one; another process, and a hold of long ago, do.
func TestAPauseOfATemplateIsOneLineOfTheLog(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		intake *webhooks.Intake
		age    time.Duration
		lines  int
	}{
		"the process that took the event": {&webhooks.Intake{}, time.Second, 0},
		"another process":                 {nil, time.Second, 1},
		"a hold of long ago":              {&webhooks.Intake{}, time.Hour, 1},
	} {
		log := &notes{}
		w := newHoldWatch(&Daemon{log: logTo(log), intake: c.intake})
		w.see(t.Context(), []campaign.Hold{{Scope: campaign.HoldTemplate, ID: "acc/sale/en", Reason: "PAUSED", Source: campaign.HoldByEvent,
			Since: time.Now().Add(-c.age)}})
		_, began, _ := w.counts()
		if got := len(log.lines("hold began")); got != c.lines || began[holdKind{"template", "PAUSED"}] != 1 {
			t.Errorf("%s: got %d lines and %v counted, want %d and 1", name, got, began, c.lines)
		}
	}
}
