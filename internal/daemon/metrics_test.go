package daemon

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/internal/ledger"
	"campaignd/recipients"
)

// What a process counts is what its ledger holds and what the service took; who was sent to is not on the page.
func TestMetricsCountWhatWasSentAndNameNobody(t *testing.T) {
	t.Parallel()
	c := newCluster(t, "STANDARD", 15*time.Second)
	file := c.campaign(c.dir, "spring", "schedule: {cron: \"0 0 * * *\", timezone: UTC, misfire: run, grace: 48h}\n", 20)
	written := time.Now().AddDate(0, 0, -2) // a day has begun since
	if err := os.Chtimes(file, written, written); err != nil {
		t.Fatal(err)
	}
	l, err := ledger.Open(t.Context(), "sqlite:"+filepath.Join(c.dir, "roles.db"), ledger.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Suppress(t.Context(), []campaign.Suppression{{Key: recipients.Key("+2348030000003"), To: "+2348030000003", Scope: campaign.ScopeAll, Source: "operator", At: time.Now()}}); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	s := c.serve(RoleSender)
	var page string
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		if _, page = c.page(s.admin + "/metrics"); strings.Contains(page, `campaignd_results_total{connection="conn_1",result="accepted"} 19`) {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("not sent:\n%s", page)
		}
	}
	for _, want := range []string{`posts_total{connection="conn_1"} 19`, `skipped_total{connection="conn_1"} 1`, `recovered_total{connection="conn_1"} 0`} {
		if !strings.Contains(page, "campaignd_"+want+"\n") {
			t.Errorf("no %s in\n%s", want, page)
		}
	}
	n := 0
	for m := range c.service.Messages() {
		n++
		if strings.Contains(page, strings.TrimPrefix(m.To, "+")) {
			t.Errorf("%s is on the page", m.To)
		}
	}
	if n != 19 {
		t.Errorf("the service took %d messages", n)
	}
	for _, line := range strings.Split(page, "\n") {
		if labels := regexp.MustCompile(`^campaignd_[a-z_]+\{(.*)\}`).FindStringSubmatch(line); labels != nil && !regexp.MustCompile(`^(connection|result|reason|kind)="[a-z_0-9]+"(,result="[a-z]+")?$`).MatchString(labels[1]) {
			t.Errorf("labels that nobody promised: %s", line)
		}
	}
	s.stop()
	if err := <-s.ended; err != nil {
		t.Error(fmt.Errorf("serve: %w", err))
	}
}
