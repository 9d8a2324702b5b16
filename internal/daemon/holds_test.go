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
	reg.MustRegister(&holdCollector{w.counts})
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
