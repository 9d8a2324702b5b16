package launch_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"campaignd/campaign"
	"campaignd/campaign/file"
	"campaignd/campaign/launch"
	"campaignd/internal/messaging"
	"campaignd/recipients"
)

func TestPreflightCountsWhatARunWillDo(t *testing.T) {
	in := springInput(t, springFile, springList)
	l := openLedger(t)
	if _, err := l.Suppress(t.Context(), []campaign.Suppression{
		{Key: recipients.Key("+2348031234502"), To: "+2348031234502", Scope: campaign.ScopeMarketing, Source: "stop", At: time.Now()},
		{Key: recipients.Key("+33612345678"), To: "+33612345678", Scope: campaign.ScopeAll, Source: "operator", At: time.Now()},
	}); err != nil {
		t.Fatal(err)
	}
	in.Suppressions = l
	var rejected []string
	in.Rejects = func(r campaign.Reject) error {
		rejected = append(rejected, fmt.Sprintf("%d %s %s", r.Row, r.Reason, r.Cells[1]))
		return nil
	}
	p := preflight(t, in)
	if !p.OK() || !p.Marketing || p.Category != "MARKETING" || p.Rows != 8 || p.Sendable != 3 || p.BadRows() != 3 {
		t.Errorf("got %+v, want 8 rows, 3 sendable, 3 bad, MARKETING", p)
	}
	want := map[campaign.SkipReason]int64{campaign.OptedOut: 1, campaign.Suppressed: 1, campaign.RecipientIsSender: 1,
		campaign.Duplicate: 1, campaign.MissingVariable: 1}
	if diff := cmp.Diff(want, p.Skipped); diff != "" {
		t.Errorf("skipped -want +got:\n%s", diff)
	}
	if diff := cmp.Diff([]string{"8 missing_variable "}, rejected); diff != "" {
		t.Errorf("rejected -want +got:\n%s", diff)
	}
	if diff := cmp.Diff([]launch.CountryCount{{Country: "CA", Rows: 1}, {Country: "NG", Rows: 1},
		{Country: "US", Rows: 1}}, p.Countries); diff != "" {
		t.Errorf("countries -want +got:\n%s", diff)
	}
	if len(p.Examples) != 5 || p.Examples[0].Line != 3 || !strings.HasPrefix(p.Examples[0].Note, "line 3: ") {
		t.Errorf("examples = %+v, want 5 from line 3 on", p.Examples)
	}
	if sum, _, err := recipients.Hash(in.List); err != nil || p.ListHash != sum {
		t.Errorf("hash = %s, %v, want %s", p.ListHash, err, sum)
	}
	if w := p.Warnings(); len(w) != 1 || !strings.Contains(w[0].What, "1 recipient has US numbers") {
		t.Errorf("warnings = %v, want one, of the US number", w)
	}
	// 0.9 x 0.95 x 80 + 0.9 x 0.7 x 20
	if p.Pace < 80.99 || p.Pace > 81.01 || len(p.Connections) != 2 || p.Connections[1].Pace < 12.59 || p.Connections[1].Pace > 12.61 {
		t.Errorf("pace = %v of %+v, want 81, 12.6 of it of the second", p.Pace, p.Connections)
	}
	if text, err := json.Marshal(p); err != nil || !strings.Contains(string(text), `"duration_seconds":`) {
		t.Errorf("got %s, %v, want duration_seconds in it", text, err)
	}
}

// A rejected row whose number another row sends to would be a second message when it is corrected.
func TestRejectsAreRowsThatNobodyElseSendsTo(t *testing.T) {
	in := springInput(t, springFile, "phone,first_name,discount,slug\n"+
		"+2348031234501,,20 %,before its twin\n+2348031234501,Ada,20 %,sent\n+2348031234501,,20 %,behind its twin\n"+
		"+2348031234502,,20 %,alone\n0803,Bola,20 %,no number\n,Chidi,20 %,none\n+2348031234503,Dayo,20 %,sent\n"+
		"+2348031234503,Dayo,20 %,twice\n")
	in.Suppressions = openLedger(t)
	var rejected []string
	in.Rejects = func(r campaign.Reject) error {
		rejected = append(rejected, fmt.Sprintf("%d %s %s", r.Line, r.Reason, r.Cells[3]))
		return nil
	}
	p := preflight(t, in)
	want := []string{"5 missing_variable alone", "6 invalid_phone no number", "7 missing_phone none"}
	if diff := cmp.Diff(want, rejected); diff != "" || p.Sendable != 2 {
		t.Errorf("%d sendable and rejected -want +got:\n%s\nwant 2 sendable", p.Sendable, diff)
	}
}

func TestPreflightAndImportAgreeOnEveryRow(t *testing.T) {
	d := messyCampaign(t)
	for name, text := range map[string]string{"messy.csv": messy, "big.csv": bigList(5000)} {
		path := writeFile(t, name, text)
		p := preflight(t, launch.PreflightInput{Definition: d, Source: []byte(minimal), File: "messy.yaml", List: path})
		l := openLedger(t)
		counts, err := launch.Import(t.Context(), launch.ImportInput{Ledger: l, Run: newRun(t, l, d, path), Definition: d, List: path})
		if err != nil {
			t.Fatal(err)
		}
		if p.Rows != counts.Rows || p.Sendable != counts.Queued || !cmp.Equal(p.Skipped, counts.Skipped) {
			t.Errorf("%s: preflight %d/%d %v, want as the import: %+v", name, p.Sendable, p.Rows, p.Skipped, counts)
		}
	}
}

func TestPreflightComparesWithTheTemplateOfEachAccount(t *testing.T) {
	edit := func(change func(*messaging.TemplateRecord)) func(*account) {
		return func(a *account) {
			r := spring()
			change(&r)
			a.templates["conn_2"] = []messaging.TemplateRecord{r}
		}
	}
	buttons := func(b ...messaging.ComponentButton) func(*account) {
		return edit(func(r *messaging.TemplateRecord) { r.Components[2].Buttons = b })
	}
	for _, c := range []struct {
		name   string
		change func(*account)
		level  file.Level
		want   string
	}{
		{"paused", edit(func(r *messaging.TemplateRecord) { r.Status = "PAUSED" }), file.LevelError,
			`spring.yaml:4:3: template.name: template "spring_sale" is paused on connection conn_2`},
		{"absent", edit(func(r *messaging.TemplateRecord) { r.Name = "spring_sales" }), file.LevelWarning,
			`the service lists no template "spring_sale" on connection conn_2; its variables are not checked, and if it does not exist, ` +
				`its messages are refused and it is held; did you mean "spring_sales"?`},
		{"language", edit(func(r *messaging.TemplateRecord) { r.Language = "en_GB" }), file.LevelWarning,
			`spring.yaml:5:3: template.language: the service lists template "spring_sale", but not in en_US, on connection conn_2; `},
		{"variables", edit(func(r *messaging.TemplateRecord) { r.Components[1].Text = "{{1}} {{2}} {{3}}" }), file.LevelError,
			`the body of the template has 3 variables, and 2 are filled`},
		{"named", edit(func(r *messaging.TemplateRecord) { r.Components[1].Text = "{{name}} {{rate}}" }), file.LevelWarning,
			`named variables (name, rate)`},
		{"another order of numbers", edit(func(r *messaging.TemplateRecord) { r.Components[1].Text = "{{2}} {{1}}" }), "", ""},
		{"video", edit(func(r *messaging.TemplateRecord) { r.Components[0].Format = "VIDEO" }), file.LevelError,
			`template.header.image: the template's header is of type video`},
		{"no header", edit(func(r *messaging.TemplateRecord) { r.Components = r.Components[1:] }), file.LevelError,
			`the template has no media header`},
		{"text header", edit(func(r *messaging.TemplateRecord) {
			r.Components[0] = messaging.Component{Type: "HEADER", Format: "TEXT", Text: "Hi {{1}}"}
		}), file.LevelError, `text header has a variable`},
		{"location", edit(func(r *messaging.TemplateRecord) { r.Components[0].Format = "LOCATION" }), file.LevelError, `location header`},
		{"no button", buttons(), file.LevelError, `the template has 0 buttons of type url with a variable, and 1 is filled`},
		{"fixed button", buttons(messaging.ComponentButton{Type: "URL", URL: "https://example.com"}), file.LevelError,
			`the template has 0 buttons of type url with a variable, and 1 is filled`},
		{"coupon", buttons(messaging.ComponentButton{Type: "URL", URL: "https://e.com/{{1}}"}, messaging.ComponentButton{Type: "COPY_CODE"}),
			file.LevelError, `the template has 1 button of type copy_code with a variable, and 0 are filled`},
		{"category", edit(func(r *messaging.TemplateRecord) { r.Category = "UTILITY" }), "", ""},
		{"no components", edit(func(r *messaging.TemplateRecord) { r.Components = nil }), "", ""},
		{"connection", func(a *account) { a.connections = a.connections[:1] }, file.LevelWarning,
			`spring.yaml:2:23: connections[1]: the service lists no connection "conn_2"; if the key does not reach it, ` +
				`its messages are refused and it is held; did you mean "conn_1"?`},
		{"unknown", func(a *account) { a.connections, a.unknown = a.connections[:1], "conn_2" }, file.LevelError,
			`spring.yaml:2:23: connections[1]: the service has no connection "conn_2" for this key; did you mean "conn_1"?`},
		{"suspended", func(a *account) { a.connections[1].Status = "SUSPENDED" }, file.LevelWarning, `this connection is suspended`},
		{"quality", func(a *account) { a.numbers[0].Quality = "RED" }, file.LevelWarning, `quality of this number is low`},
		{"tier", func(a *account) { a.numbers[0].TierLimit, a.numbers[1].TierLimit = 1, 1 }, file.LevelWarning,
			`reach at most 2 people in 24 hours: the others wait`},
		{"an assumed tier", func(a *account) { a.numbers[0].TierLimit, a.numbers[0].TierAssumed = 250, true }, file.LevelWarning,
			`the platform tells no tier of conn_1: 250 people in 24 hours are counted`},
		{"one without a tier", func(a *account) { a.numbers[0].TierLimit, a.numbers[1].TierLimit = 1, messaging.Unlimited }, "", ""},
		{"one whose tier is not known", func(a *account) { a.numbers[0].TierLimit, a.numbers[1].TierLimit = 1, 0 }, "", ""},
		{"not offered", func(a *account) { a.notOffered = true }, file.LevelWarning, `the service lists no templates`},
	} {
		in := springInput(t, springFile, springList)
		in.File = "spring.yaml"
		a := service()
		c.change(a)
		in.Service = a
		p := preflight(t, in)
		found := c.want == ""
		for _, f := range p.Findings {
			if c.want != "" && f.Level == c.level && strings.Contains(f.String(), c.want) {
				found = true
			} else if assumed := c.name == "not offered" && strings.Contains(f.What, "are assumed"); !assumed &&
				!strings.Contains(f.What, "US numbers") {
				t.Errorf("%s: also got %s: %s, want nothing else", c.name, f.Level, f)
			}
		}
		if !found {
			t.Errorf("%s: got %v, want %s: %s", c.name, p.Findings, c.level, c.want)
		}
		if p.OK() == (c.level == file.LevelError) {
			t.Errorf("%s: OK = %v, want %v", c.name, p.OK(), !p.OK())
		}
		if !p.Marketing {
			t.Errorf("%s: marketing = false, want true", c.name)
		}
	}
}

// Values are sent in the order of the text, so the texts of two accounts must have one order.
func TestPreflightRefusesVariablesInAnotherOrder(t *testing.T) {
	for text, refused := range map[string]bool{"{{rate}} for {{name}}": true, "{{name}}: {{rate}}": false, "{{who}}: {{off}}": false} {
		a := service()
		for c, text := range map[string]string{"conn_1": "{{name}} {{rate}}", "conn_2": text} {
			r := spring()
			r.Components[1].Text = text
			a.templates[c] = []messaging.TemplateRecord{r}
		}
		in := springInput(t, springFile, springList)
		in.Service = a
		p := preflight(t, in)
		const want = "in another order on connection conn_2 (rate, name) than on conn_1 (name, rate), so its values would be exchanged"
		if got := fmt.Sprint(p.Errors()); strings.Contains(got, want) != refused || p.OK() == refused {
			t.Errorf("%s: got %s, want it refused: %v, with %q", text, got, refused, want)
		}
	}
}

func TestOptOutsDoNotApplyToUtilityAndAuthentication(t *testing.T) {
	for says, want := range map[string]bool{"MARKETING": true, "": true, "SOMETHING_NEW": true, "UTILITY": false, "AUTHENTICATION": false} {
		a := service()
		for id := range a.templates {
			a.templates[id][0].Category = says
		}
		in := springInput(t, springFile, springList)
		in.Service = a
		if p := preflight(t, in); p.Marketing != want {
			t.Errorf("%q: marketing = %v, want %v", says, p.Marketing, want)
		}
	}
}

func TestPreflightWithoutAServiceChecksTheList(t *testing.T) {
	in := springInput(t, springFile, springList)
	in.Service = nil
	p := preflight(t, in)
	if !p.OK() || p.Sendable != 6 || p.Skipped[campaign.RecipientIsSender] != 0 || p.Pace < 136 || p.Template != nil {
		t.Errorf("got %+v, want 6 sendable rows, the own number among them, no template", p)
	}
}

func TestFaultsOfTheListAreFindingsWithTheirLine(t *testing.T) {
	for name, c := range map[string]struct{ list, want string }{
		"column": {strings.Replace(springList, "discount", "Discount", 1),
			`spring.yaml:6:31: template.body[1]: the list has no column "discount"; did you mean "Discount"?`},
		"phone": {strings.Replace(springList, "phone", "fon", 1), `list.csv:1: recipients.columns maps "to" to column`},
		"quote": {springList + "+2348031234504,\"open,1,2\n", `list.csv:10: `},
		"nobody": {"phone,first_name,discount,slug\n1,a,b,c\n2,a,b,c\n", `list.csv: none of the 2 rows can be sent: invalid_phone, ` +
			"the phone number is not a valid international number; `campaignd check` lists the rows"},
		"one": {"phone,first_name,discount,slug\n,a,b,c\n", `its only row cannot be sent: missing_phone, the row has no phone number; `},
		"many reasons": {"phone,first_name,discount,slug\n1,a,b,c\n1,a,b,c\n,a,b,c\n+2348031234501,a\n",
			`none of the 4 rows can be sent: 2 invalid_phone, 1 malformed_row, 1 missing_phone; `},
		"no rows":  {"phone,first_name,discount,slug\n", `list.csv:1: the list has a header and no rows`},
		"workbook": {"PK\x03\x04xxxxxxxxxxxxxxxxxxxx", `list.csv: this is an Excel workbook`},
	} {
		in := springInput(t, springFile, c.list)
		in.File = "spring.yaml"
		p := preflight(t, in)
		if e := p.Errors(); p.OK() || len(e) != 1 || !strings.Contains(e[0].String(), c.want) {
			t.Errorf("%s: got %v, want %s", name, e, c.want)
		}
	}
}

func TestLimitsAreAnnounced(t *testing.T) {
	for limits, want := range map[string]string{
		"limits: {max_messages: 2}\n":          "5 rows can be sent and the limit is 2: 3 become skipped",
		"limits: {rate: 0.5, not_after: 5s}\n": "sending takes about 10s at 0.5 messages per second",
	} {
		p := preflight(t, springInput(t, springFile+limits, springList))
		found := false
		for _, w := range p.Warnings() {
			found = found || strings.Contains(w.What, want)
		}
		if !p.OK() || !found {
			t.Errorf("%s: got %v, want %s", limits, p.Findings, want)
		}
	}
}

func TestACouponBetweenTheTwoLimitsGetsAWarning(t *testing.T) {
	file := strings.Replace(springFile, `{type: url, text: "{{ .slug }}"}`, `{type: copy_code, text: "SPRINGSALE2026{{ .slug }}"}`, 1)
	a := service()
	for id := range a.templates {
		a.templates[id][0].Components[2].Buttons = []messaging.ComponentButton{{Type: "COPY_CODE"}}
	}
	in := springInput(t, file, strings.Replace(springList, ",a\n", ",abc\n", 1))
	in.Service = a
	p := preflight(t, in)
	if w := p.Warnings(); !p.OK() || len(w) != 2 || !strings.Contains(w[1].What+w[0].What, "the longest coupon code has 17 characters") {
		t.Errorf("findings = %v, want 2 warnings, one of a coupon of 17", p.Findings)
	}
}

func TestAnErrorOfTheServiceIsReturned(t *testing.T) {
	in := springInput(t, springFile, springList)
	a := service()
	a.err = &messaging.Error{Code: "time_out"}
	in.Service = a
	var wire *messaging.Error
	if p, err := launch.RunPreflight(t.Context(), in); !errors.As(err, &wire) || p != nil {
		t.Errorf("got %v, %v, want %v", p, err, a.err)
	}
	in = springInput(t, springFile, springList)
	in.Rejects = func(campaign.Reject) error { return os.ErrClosed }
	if _, err := launch.RunPreflight(t.Context(), in); !errors.Is(err, os.ErrClosed) {
		t.Errorf("got %v, want %v", err, os.ErrClosed)
	}
}

func ExampleRunPreflight() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	list := filepath.Join(dir, "list.csv")
	if err := os.WriteFile(list, []byte("to,first_name\n+2348031234567,Ada\n+2348031234567,Ada\n08031234568,Bola\n"), 0o600); err != nil {
		panic(err)
	}
	src := []byte("name: hello\nconnections: [conn_1]\ntemplate: {name: hello, language: en_US, body: ['{{ .first_name }}']}\n")
	d, err := file.Parse("hello.yaml", src)
	if err != nil {
		panic(err)
	}
	p, err := launch.RunPreflight(context.Background(), launch.PreflightInput{Definition: d, Source: src, File: "hello.yaml", List: list})
	if err != nil {
		panic(err)
	}
	fmt.Println(p.Sendable, "of", p.Rows, "rows can be sent")
	for _, e := range p.Examples {
		fmt.Printf("line %d: %s\n", e.Line, e.Reason.Sentence())
	}
	// Output:
	// 1 of 3 rows can be sent
	// line 3: the same number stands in an earlier row of this list
	// line 4: the phone number is not a valid international number
}
