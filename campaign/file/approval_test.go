package file_test

import (
	"encoding/json"
	"strings"
	"testing"

	"campaignd/campaign"
	"campaignd/campaign/file"
)

func TestApprovalIsForAllOrAboveANumber(t *testing.T) {
	for file, c := range map[string]struct {
		want    campaign.Approval
		json    string
		waiting [3]bool // with 0, 100 and 101 recipients
	}{
		"true": {campaign.ApproveAlways, "true", [3]bool{true, true, true}}, "false": {0, "0", [3]bool{}}, "100": {100, "100", [3]bool{2: true}},
	} {
		d := parse(t, minimal+"policies: {approval: "+file+"}\n")
		before := parse(t, minimal+"policies:\n  approval: "+file+" # a key follows\nlimits:\n  weight: 4\n")
		if got := d.Policies.Approval; got != c.want || before.Policies.Approval != c.want {
			t.Errorf("approval: %s is %d, and %d before another key, want %d", file, got, before.Policies.Approval, c.want)
		}
		for i, n := range []int64{0, 100, 101} {
			if got := d.Policies.Approval.Needed(n); got != c.waiting[i] {
				t.Errorf("approval: %s with %d recipients: %v, want %v", file, n, got, c.waiting[i])
			}
		}
		if text, err := json.Marshal(d.Policies.Approval); err != nil || string(text) != c.json {
			t.Errorf("approval: %s is %s, %v as JSON, want %s", file, text, err, c.json)
		}
	}
	for path, want := range map[string]string{
		"0":     "a.yaml:4:22: policies.approval: 0: want true, false, or a number",
		"-5":    "policies.approval: -5: want true, false, or a number",
		"'yes'": "policies.approval: want true, false, or a number of recipients, not text",
		"1.5":   "policies.approval: want true, false, or a number",
		"[]":    "policies.approval: want true, false, or a number of recipients, not a list",
	} {
		_, err := file.Parse("a.yaml", []byte(minimal+"policies: {approval: "+path+"}\n"))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("approval: %s: got %v, want %s", path, err, want)
		}
	}
	if d := file.Differences([]byte(minimal+"policies: {approval: true}\n"), []byte(minimal+"policies: {approval: 5}\n")); len(d) != 1 ||
		d[0] != "policies.approval: was true, is 5" {
		t.Errorf("differences %q, want one of approval", d)
	}
}
