package file_test

import (
	"strings"
	"testing"

	"campaignd/campaign/file"
)

// A key whose lines below are commented out would be no window, no filter, no approval and no cap.
func TestAKeyWithoutAValueIsRefused(t *testing.T) {
	for add, want := range map[string]string{
		"window:\n  # hours: \"09:00-18:00\"\n":        "c.yaml:4:1: window: ",
		"window: {hours: \"09:00-18:00\", timezone: }": "c.yaml:4:32: window.timezone: ",
		"window:\n  hours: ~\n  timezone: recipient\n": "c.yaml:5:3: window.hours: ",
		"window: {holidays: null}":                     "c.yaml:4:10: window.holidays: ",
		"recipients:\n  where:\n    # consent: yes\n":  "c.yaml:5:3: recipients.where: ",
		"recipients: {where: {consent: [yes, ~]}}":     "c.yaml:4:37: recipients.where.consent[1]: ",
		"recipients: {skip_last: }":                    "c.yaml:4:14: recipients.skip_last: ",
		"holdout: {share: 0.1, salt: }":                "c.yaml:4:23: holdout.salt: ",
		"limits:\n  # rate: 40\n":                      "c.yaml:4:1: limits: ",
		"limits: {not_after: }":                        "c.yaml:4:10: limits.not_after: ",
		"policies: {approval: }":                       "c.yaml:4:12: policies.approval: ",
		"policies: {frequency_cap: , canary: ~}":       "c.yaml:4:12: policies.frequency_cap: ",
		"policies: {max_opt_outs: }":                   "c.yaml:4:12: policies.max_opt_outs: ",
		"schedule:\n  # cron: \"0 9 * * *\"\n":         "c.yaml:4:1: schedule: ",
		"holdout:":                                     "c.yaml:4:1: holdout: ",
		"audience:":                                    "c.yaml:4:1: audience: ",
	} {
		_, err := file.Parse("c.yaml", []byte(minimal+add))
		remedy := "has no value; give one, or remove the key"
		if strings.Contains(want, "]") {
			remedy = `has no value; give one, in quotes if it is "NULL" or begins with #, or remove the entry`
		}
		if err == nil || !strings.Contains(err.Error(), want+remedy) {
			t.Errorf("%s\ngot  %v\nwant %s%s", add, err, want, remedy)
		}
		// A run that an earlier version launched goes on.
		if _, err := file.ParseStored("c-1", []byte(minimal+strings.Replace(add, ", ~]", "]", 1))); err != nil {
			t.Errorf("%s\nof a run: got %v, want it read", add, err)
		}
	}
	_, err := file.Parse("c.yaml", []byte(minimal+"windw:\n"))
	if err == nil || strings.Contains(err.Error(), "has no value") || !strings.Contains(err.Error(), `did you mean "window"?`) {
		t.Errorf("an unknown key without a value: got %v, want the key that was meant alone", err)
	}
}

// The default of a key is also that of a run whose file has the key without a value, and such a
// file can be corrected: it means the same without the key.
func TestAKeyOfARunWithoutAValueHasTheDefault(t *testing.T) {
	was := minimal + "window:\npolicies: {max_opt_outs: , canary: {count: 9, max_failed: }}\n"
	d, err := file.ParseStored("a-1", []byte(was))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := [2]float64{d.Policies.MaxOptOuts, d.Policies.Canary.MaxFailed}, [2]float64{0.10, 0.05}; got != want {
		t.Errorf("got shares %v, want the defaults %v", got, want)
	}
	if got := file.Differences([]byte(was), []byte(minimal+"policies: {canary: {count: 9}}\n")); len(got) > 0 {
		t.Errorf("without the keys: got differences %q, want none", got)
	}
}

func TestASidecarTakesNothingAway(t *testing.T) {
	base := minimal + "recipients: {where: {consent: yes}}\nwindow: {hours: \"09:00-18:00\"}\nlimits: {rate: 40, not_after: 48h}\n"
	for sidecar, want := range map[string]string{
		"window:\n  # hours: \"10:00-12:00\"\n": "list.csv.yaml:1:1: window: has no value",
		"limits: ~":                             "list.csv.yaml:1:1: limits: has no value",
		"limits: {rate: 10, not_after: }":       "list.csv.yaml:1:20: limits.not_after: has no value",
		"recipients: {where: }":                 "list.csv.yaml:1:14: recipients.where: has no value",
		"limits: {rate: 10}\nagain:":            "list.csv.yaml:2:1: again: has no value",
	} {
		merged, _, err := file.Override([]byte(base), "list.csv.yaml", []byte(sidecar))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %s and %v, want %s", sidecar, merged, err, want)
		}
	}
	// Empty maps and texts that look like no value are written as what they are.
	base = minimal + "variables: {}\nwindow: {}\nrecipients: {where: {consent: [\"null\", \"~\", \"\"]}, ignore: []}\n"
	merged, _, err := file.Override([]byte(base), "list.csv.yaml", []byte("limits: {rate: 10}\n"))
	if want := "limits.rate: was not set, is 10"; err != nil || strings.Join(file.Differences([]byte(base), merged), "; ") != want {
		t.Errorf("got %v and differences %q, want only %s", err, file.Differences([]byte(base), merged), want)
	}
}

// A variable of a program that writes campaign files may be empty. A text that is empty would be no
// window, another zone, no check of the discount, or other people.
func TestAnEmptyTextIsNoDefault(t *testing.T) {
	for add, want := range map[string]string{
		"window: {hours: \"\"}":                                    `c.yaml:4:10: window.hours: "" would mean the whole day; give hours`,
		"window:\n  hours: 09:00-18:00\n  timezone: ''\n":          `c.yaml:6:3: window.timezone: "" would mean UTC; name a zone`,
		"schedule: {cron: '0 9 * * *', timezone: ''}":              `c.yaml:4:31: schedule.timezone: "" would mean UTC; name a zone`,
		"audience: {from: customers, discount: ''}":                `c.yaml:4:29: audience.discount: "" would mean no discount; give its code`,
		"holdout: {share: 0.1, salt: ''}":                          `c.yaml:4:23: holdout.salt: "" would mean the name of the campaign; give`,
		"recipients: {where: {consent: ['']}}\nwindow: {days: []}": "c.yaml:5:10: window.days: no day is left",
	} {
		_, err := file.Parse("c.yaml", []byte(minimal+add))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\ngot  %v\nwant %s", add, err, want)
		}
		if strings.Contains(add, "days") {
			continue
		}
		if _, err := file.ParseStored("c-1", []byte(minimal+add)); err != nil { // an earlier version launched it
			t.Errorf("%s\nof a run: got %v, want it read", add, err)
		}
	}
	base := minimal + "window: {hours: \"09:00-18:00\"}\n"
	_, _, err := file.Override([]byte(base), "list.csv.yaml", []byte("window: {hours: ''}\n"))
	if err == nil || !strings.Contains(err.Error(), `window.hours: "" would mean the whole day`) {
		t.Errorf("a sidecar with no hours: got %v, want them refused", err)
	}
}
