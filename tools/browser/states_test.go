package browser

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// short is a campaign that lacks a value of its template.
const short = `name: short
connections: [conn_1]
template: {name: spring_sale, language: en_US, body: ["{{ .first_name }}"]}
recipients: {file: list.csv}
`

// begins begins a draft of a campaign with a list, and returns its address.
func (h *hand) begins(campaign, name, text string) (draft string) {
	h.t.Helper()
	h.write(name, text)
	h.open(h.ctx, "/console/new")
	h.press("Choose " + campaign)
	h.uploads(h.path(name))
	return strings.TrimSuffix(evaluate[string](h.t, h.ctx, "location.pathname"), "/columns")
}

// Pages have states that no link leads to: what a search, an audit or a filter found, what a form
// was refused with, and the steps of a campaign that is at fault.
func TestEachStateOfAPageIsForEverybody(t *testing.T) {
	t.Parallel()
	s := busy(t)
	s.write("campaigns/short.yaml", short)
	ctx, said := start(t, s.console)
	h := &hand{s, ctx, false, true}
	screen(t, ctx, once[0].theme, once[0].width)
	h.signIn(s.key("ann", "admin"))
	judge := func(what, sees string) {
		t.Helper()
		h.sees(sees)
		_ = said() // the browser itself writes a line about an answer that is a refusal
		s.judge(ctx, what, said, once)
	}
	for path, sees := range map[string]string{
		"/console/new?connection=conn_1#templates":                             "found.",
		"/console/new?connection=conn_1&state=PAUSED&find=none#templates":      "No template was found.",
		"/console/runs/spring-sale-1/deliveries?status=failed&code=131049":     "All rows",
		"/console/runs/spring-sale-1/deliveries?status=skipped&reason=expired": "No row matches.",
		"/console/runs/spring-sale-1/recipient?to=%2B2348000000000":            "no row",
	} {
		s.open(ctx, path)
		judge(path, sees)
	}
	s.open(ctx, "/console/runs/spring-sale-1")
	h.press("Audit the run")
	judge("a finished audit", "the totals agree")

	s.open(ctx, "/console/suppressions")
	h.fill("Phone numbers, one in each line, with + and the country code", "0803")
	h.press("Suppress")
	judge("a refused form", "Go back")
	h.press("Go back")
	h.sees("Suppress numbers")

	// The list: what the script says, and what the server says.
	s.write("empty.csv", "")
	s.open(ctx, "/console/new")
	h.press("Choose autumn")
	if err := chromedp.Do(ctx, chromedp.SetUploadFiles("#list", []string{s.path("empty.csv")})); err != nil {
		t.Fatal(err)
	}
	h.reach("Upload")
	judge("a list that is empty", "The file is empty.")
	h.begins("autumn", "list.zip", "PK\x03\x04\x14\x00\x06\x00")
	judge("a list that cannot be read", "The list cannot be read.")
	h.begins("autumn", "one.csv", "phone\n+2348035550100\n")
	judge("columns that are missing", "Choose a column of the list for each value that has none.")

	// The check: the template at fault, and rows of which none can be sent.
	h.begins("short", "short.csv", "phone,first_name\n+2348035550100,Nia\n")
	h.press("Check the list")
	judge("a template at fault", "This has to be mended before anything can be sent.")
	h.begins("autumn", "faulty.csv", "phone,first_name,discount,slug\n0803,Nia,15 %,s1\n")
	h.press("Check the list")
	judge("rows of which none can be sent", "Rows with a fault")

	// A list of 200 columns, with a row that cannot be sent.
	var names, values strings.Builder
	for i := range 196 {
		fmt.Fprintf(&names, ",column %d", i)
		fmt.Fprintf(&values, ",value %d", i)
	}
	h.begins("autumn", "columns.csv", "phone,first_name,discount,slug"+names.String()+"\n0803,Nia,15 %,s1"+values.String()+
		"\n+2348035550100,Ada,15 %,s2"+values.String()+"\n")
	judge("the columns of a list of 200", "Columns of columns.csv")
	h.press("Check the list")
	judge("the check of a list of 200 columns", "Rows with a fault")

	// The last step: a list that is being sent, one that has people of that, and one that was sent.
	sent, err := os.ReadFile(s.path("campaigns/autumn.csv"))
	if err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(s.path("list.csv"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ campaign, list, sees string }{
		{"autumn", string(sent), "This list is being sent already."},
		{"autumn", string(sent) + "+2348034822307,Ada,15 %,s70001\n", "Some of these people are in autumn-2"},
		{"spring-sale", string(before), "This list was sent before"},
	} {
		draft := h.begins(c.campaign, "again.csv", c.list)
		s.open(ctx, draft+"/send") // the columns are those of the campaign, as the command had them
		judge(c.sees, c.sees)
	}
}
