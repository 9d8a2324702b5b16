package html

import (
	"strings"
	"testing"
)

func TestACourseHasWhatTheReportHas(t *testing.T) {
	for name, f := range fixtures() {
		var ids []string
		for _, p := range Course(f) {
			ids = append(ids, p.ID)
			if p.Drawing == "" && p.Sentence == "" && len(p.Story) == 0 {
				t.Errorf("%s, %s: got an empty part, want something in it", name, p.ID)
			}
		}
		got, accepted := strings.Join(ids, " "), f.Report.Funnel.Accepted > 0
		if strings.HasPrefix(got, "rate latency") != accepted || strings.Contains(got, "happened") != (len(f.History) > 0) {
			t.Errorf("%s: got the parts %q, want rate and latency if something was accepted, and what happened if it is known", name, got)
		}
	}
}
