package daemon

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"campaignd/campaign"
)

// Each metric of the alerts and of the dashboard is described in this module with the labels that
// the expression uses.
func TestDeployedExpressionsNameMetricsThatExist(t *testing.T) {
	t.Parallel()
	labels := map[string]string{} // of each metric: its labels as the source writes them
	described := regexp.MustCompile(`(?:counter|gauge)\(\s*"(campaignd_[a-z_]+)",\s*"[^"]*"((?:,\s*"[a-z_]+")*)`)
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range described.FindAllStringSubmatch(string(text), -1) {
			labels[m[1]] = m[2]
		}
	}
	labels["campaignd_request_seconds_bucket"] = `"le"` // the one histogram
	if len(labels) < 25 {
		t.Fatalf("got %d metrics in the source, want at least 25", len(labels))
	}
	used := regexp.MustCompile(`(campaignd_[a-z_]+)(?:\{([^}]*)\})?`)
	matched := regexp.MustCompile(`([a-z_]+)\\?[!=]`)
	by := regexp.MustCompile(`by \(([a-z_, ]+)\) \((?:[a-z_]+\()?(campaignd_[a-z_]+)`)
	target := map[string]bool{"": true, "namespace": true, "job": true, "instance": true} // Prometheus adds these
	const folder = "../../deploy/helm/campaignd/"
	for _, name := range []string{"files/alerts.yaml", "files/dashboard.json", "values.yaml"} {
		text, err := os.ReadFile(folder + name)
		if err != nil {
			t.Fatal(err)
		}
		has := func(metric, label string) {
			if known, ok := labels[metric]; !ok {
				t.Errorf("%s: got the metric %s, want one of /metrics", name, metric)
			} else if !target[label] && !strings.Contains(known, `"`+label+`"`) {
				t.Errorf("%s: got the label %s of %s, want one of %s", name, label, metric, known)
			}
		}
		uses := used.FindAllStringSubmatch(string(text), -1)
		if len(uses) == 0 {
			t.Errorf("%s: got no metric, want some", name)
		}
		for _, m := range uses {
			has(m[1], "")
			for _, label := range matched.FindAllStringSubmatch(m[2], -1) {
				has(m[1], label[1])
			}
		}
		for _, m := range by.FindAllStringSubmatch(string(text), -1) {
			for label := range strings.SplitSeq(m[1], ", ") {
				has(m[2], label)
			}
		}
	}
}

// A hold of each scope raises one alert.
func TestAHoldOfEachScopeRaisesOneAlert(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../deploy/helm/campaignd/files/alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var scopes []string
	for _, m := range regexp.MustCompile(`campaignd_holds\{.*scope=~?"([a-z|]+)"`).FindAllStringSubmatch(string(text), -1) {
		scopes = append(scopes, strings.Split(m[1], "|")...)
	}
	var want []string
	for _, scope := range campaign.HoldScopes {
		want = append(want, string(scope))
	}
	slices.Sort(scopes)
	slices.Sort(want)
	if !slices.Equal(scopes, want) {
		t.Errorf("scopes of the alerts: got %q, want %q", scopes, want)
	}
}
