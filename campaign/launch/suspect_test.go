package launch_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"campaignd/campaign"
	"campaignd/campaign/file"
	"campaignd/campaign/launch"
)

// suspicious is a list with values that nobody wants to receive, and one row that is good.
const suspicious = `phone,first_name,discount
+2348031234501,#N/A,10%
+2348031234502,NULL,{{discount}}
+2348031234503,nan,"=HYPERLINK(""https://e.example"")"
+2348031234504,#REF!,Hi {name}
+2348031234505,None,${x}
+2348031234506,undefined,10%
+2348031234507,#N/A,10%
+2348031234508,Null,=)
+2348031234509,Nan,{5}
+2348031234510,+Nova,"=""15%"""
+2348031234511,,10%
0,#N/A,10%
`

// A list that was written as UTF-8 and read as Windows-1252 on its way has wrong letters in names.
func TestTextThatWasEncodedTwiceIsWarnedOf(t *testing.T) {
	const list = "phone,first_name,discount\n+2348031234501,JÃ¼rgen,10 â‚¬\n+2348031234502,Jürgen,10 €\n+2348031234503,ZoÃ«,x\n" +
		"+2348031234504,JOÃO,Ã\n+2348031234505,Ă,Ð¡ÐµÑ€Ð³ÐµÐ¹\n+2348031234506,Â«x»,ð\u0178Ž\u2030\n"
	for variables, want := range map[string][]string{
		"first_name: {default: friend}": {
			`variable first_name: 2 recipients would be sent text that was encoded twice such as "JÃ¼rgen" (rows 1, 3); export the list again ` +
				"as UTF-8, or skip such rows with variables: {first_name: {forbid: [double_encoded]}}",
			`variable discount: 3 recipients would be sent text that was encoded twice such as "10 â‚¬" (rows 1, 5, 6); export the list again ` +
				"as UTF-8, or skip such rows with variables: {discount: {forbid: [double_encoded]}}"},
		"first_name: {forbid: [double_encoded]}, discount: {forbid: [double_encoded]}": nil,
	} {
		d, err := file.Parse("c.yaml", []byte(suspiciousCampaign(variables)))
		if err != nil {
			t.Errorf("%s: %v, want it read", variables, err)
			continue
		}
		p, err := launch.RunPreflight(t.Context(), launch.PreflightInput{Definition: d, File: "c.yaml",
			Source: []byte(suspiciousCampaign(variables)), List: writeFile(t, "list.csv", list)})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, f := range p.Findings {
			f.Where = ""
			got = append(got, f.String())
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: -want +got:\n%s", variables, diff)
		}
		sent := int64(6)
		if want == nil { // forbid leaves these rows out
			sent = 2
		}
		if p.Sendable != sent {
			t.Errorf("%s: %d can be sent, want %d", variables, p.Sendable, sent)
		}
	}
}

func suspiciousCampaign(variables string) string {
	return `name: spring
connections: [conn_1]
template: {name: offer, language: en_US, body: ["{{ .first_name }}", "{{ .discount }} {{ .first_name }}"]}
recipients: {columns: {to: phone}}
variables: {` + variables + "}\n"
}

func checkSuspicious(t *testing.T, variables string) *launch.Preflight {
	t.Helper()
	d, err := file.Parse("c.yaml", []byte(suspiciousCampaign(variables)))
	if err != nil {
		t.Fatal(err)
	}
	list := filepath.Join(t.TempDir(), "list.csv")
	if err := os.WriteFile(list, []byte(suspicious), 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := launch.RunPreflight(t.Context(), launch.PreflightInput{
		Definition: d, File: "c.yaml", Source: []byte(suspiciousCampaign(variables)), List: list,
	})
	if err != nil {
		t.Fatal(err)
	}
	for i := range p.Findings {
		p.Findings[i].Where = ""
	}
	return p
}

func TestCheckWarnsOfValuesNobodyWantsToSend(t *testing.T) {
	p := checkSuspicious(t, "first_name: {default: friend}")
	var got []string
	for _, f := range p.Warnings() {
		got = append(got, f.String())
	}
	want := []string{
		`variable first_name: 7 recipients would be sent an error or empty value of a program such as "#N/A" (rows 1, 2, 3, 4, 5 and 2 more); ` +
			`correct them, or skip such rows with variables: {first_name: {forbid: [error_values]}}`,
		`variable discount: 3 recipients would be sent a variable that was not filled in such as "{{discount}}" (rows 2, 4, 5); ` +
			`correct them, or skip such rows with variables: {discount: {forbid: [placeholders]}}`,
		`variable discount: 1 recipient would be sent a formula such as "=HYPERLINK(\"https://e.example\")" (row 3); ` +
			`correct them, or skip such rows with variables: {discount: {forbid: [formulas]}}`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("warnings: -want +got\n%s", diff)
	}
	if p.Sendable != 11 || !p.OK() {
		t.Errorf("got %d sendable rows, ok %v, want 11: a warning stops nothing", p.Sendable, p.OK())
	}
}

func TestForbiddenValuesSkipTheirRows(t *testing.T) {
	p := checkSuspicious(t, `first_name: {default: friend, forbid: [error_values, "Null"]}, discount: {forbid: [formulas]}`)
	var got []string
	for _, r := range p.Examples {
		if r.Reason == campaign.InvalidVariable {
			got = append(got, fmt.Sprintf("%d: %s", r.Row, r.Note))
		}
	}
	const refused = `column "first_name" holds an error or empty value of a program (variables.first_name.forbid); correct the cell`
	want := []string{
		"1: line 2: " + refused, "2: line 3: " + refused, "3: line 4: " + refused, "4: line 5: " + refused, "5: line 6: " + refused,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("examples: -want +got\n%s", diff)
	}
	if p.Skipped[campaign.InvalidVariable] != 8 || p.Sendable != 3 {
		t.Errorf("got %d rows with an invalid variable and %d sendable, want 8 and 3", p.Skipped[campaign.InvalidVariable], p.Sendable)
	}
	if warnings := p.Warnings(); len(warnings) != 0 {
		t.Errorf("got warnings %v, want none of values that are refused", warnings)
	}
}

func TestForbidRefusesWhatItCannotMean(t *testing.T) {
	for variables, want := range map[string]string{
		"first_name: {forbid: [error_value]}": `variables.first_name.forbid[0]: "error_value" is no kind of value; did you mean "error_values"?`,
		"first_name: {forbid: [NULL]}": "variables.first_name.forbid[0]: has no value; " +
			`give one, in quotes if it is "NULL" or begins with #, or remove the entry`,
		"first_name: {forbid: ['']}": "variables.first_name.forbid[0]: empty, and a row without a value is never sent; " +
			`write a text, in quotes if it is "NULL" or begins with #`,
		"first_name: {forbid: [friend], default: friend}": "variables.first_name.default: forbid refuses this text; " +
			"take it out of forbid, or choose another default",
		"first_name: {forbid: []}": "variables.first_name: has neither default nor forbid; " +
			"give one of them, or remove the entry: without a default, rows without a value are skipped (missing_variable)",
		"first_name: {forbid: error_values}": "variables.first_name.forbid: want a list",
	} {
		_, err := file.Parse("c.yaml", []byte(suspiciousCampaign(variables)))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\ngot  %v\nwant %s", variables, err, want)
		}
	}
}
