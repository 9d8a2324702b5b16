package console

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/file"
	"campaignd/campaign/launch"
	"campaignd/campaign/plan"
	"campaignd/internal/api"
	"campaignd/internal/client/resource"
	"campaignd/internal/ledger"
	"campaignd/internal/ledger/sqlite"
	"campaignd/internal/operator"
	"campaignd/internal/uploads"
)

// hostile is a value that would be markup, or would hide the text around it.
const hostile = "\"><script>alert(1)</script>{{.}}\u202e\x00'"

// world is a console with two runs, one of each of two companies, and a session of each scope.
type world struct {
	*Server
	session  *operator.Session
	process  operator.Process
	cookies  map[string]string // by scope, and of one company: other
	keys     map[string]resource.NewKey
	document []byte // of the API
	draft    string // of the session admin
	launched int
	refusal  error             // of a launch
	found    *launch.Preflight // of a check; nil: one with hostile values
}

func newWorld(t testing.TB) *world {
	t.Helper()
	l, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "l.db"), ledger.Options{
		Notify: func(campaign.NotificationKind) []string { return []string{hostile} }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	d := &operator.Session{Ledger: l, By: "ann@desk", Origins: func(context.Context, []campaign.Hold) func(string) campaign.Origin {
		return func(connection string) campaign.Origin {
			return campaign.Origin{Connection: connection, Company: "comp_" + strings.TrimPrefix(connection, "conn_")}
		}
	}}
	w := &world{session: d, cookies: map[string]string{}, keys: map[string]resource.NewKey{}}
	for i := range 2 {
		w.run(t, i)
	}
	for _, h := range []resource.HoldRequest{{Scope: campaign.HoldConnection, ID: "conn_1", Reason: hostile},
		{Scope: campaign.HoldCompany, ID: "comp_2", Reason: "maintenance"}} {
		if _, err := d.AddHold(t.Context(), h); err != nil {
			t.Fatal(err)
		}
	}
	s := campaign.NewSuppression(2348031234560, "+2348031234560", campaign.ScopeMarketing, hostile, time.Now())
	if _, err := l.Suppress(t.Context(), []campaign.Suppression{s}); err != nil {
		t.Fatal(err)
	}
	w.process = operator.Process{Version: "test", Session: *d, Guard: operator.NewGuard("", l), Log: slog.New(slog.DiscardHandler),
		Uploads: uploads.New(filepath.Join(t.TempDir(), "uploads"), func(context.Context) ([]campaign.Run, error) { return nil, nil }),
		Folder: func() ([]operator.File, error) {
			d, err := file.Parse("winter.yaml", []byte(winter))
			return []operator.File{{Path: hostile, Findings: []file.Finding{{Level: file.LevelError, What: hostile}}},
				{Path: "winter.yaml", Source: []byte(winter), Definition: d}}, err
		},
		Forecast: func(context.Context, campaign.Run) (plan.Forecast, error) { return plan.Forecast{}, nil },
		Check:    w.check,
		Foresee: func(context.Context, operator.File, *launch.Preflight) (plan.Forecast, error) {
			at := time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)
			return plan.Forecast{Seconds: 5400, First: at, Finish: at.Add(90 * time.Minute), Low: at.Add(time.Hour), High: at.Add(2 * time.Hour),
				LimitedBy: campaign.ByThroughput, Hours: []plan.Hour{{Start: at, Messages: 1 << 33, LimitedBy: campaign.ByThroughput}},
				Helps: []plan.Help{{Sentence: "one more number", Hours: 0.5}}, Assumed: []string{hostile}}, nil
		},
		Launch: func(context.Context, operator.Upload) (resource.Launched, error) {
			w.launched++
			return resource.Launched{Run: resource.LaunchedRun{ID: "spring-1"}, Warnings: []string{hostile}}, w.refusal
		},
		Numbers: func(context.Context) ([]resource.Number, error) {
			return []resource.Number{{Connection: "conn_1", Company: "comp_1", Rate: 72, Quality: hostile, Tier: 1 << 40},
				{Connection: "conn_2", Company: "comp_2"}}, nil
		}}
	a, err := api.New(t.Context(), w.process)
	if err != nil {
		t.Fatal(err)
	}
	if w.document, err = a.Document(); err != nil {
		t.Fatal(err)
	}
	if w.Server, err = New(t.Context(), w.process, Options{}); err != nil {
		t.Fatal(err)
	}
	for _, scope := range []string{"read", "operate", "admin"} {
		w.key(t, scope, scope, "")
	}
	w.key(t, "other", "operate", "comp_2")
	w.begin(t)
	return w
}

// winter is a campaign of the folder.
const winter = `name: winter
connections: [conn_1]
template: {name: a, language: en, body: ["{{ .first_name }}"]}
recipients: {file: l.csv}
`

// begin begins a draft of winter with a list.
func (w *world) begin(t testing.TB) {
	t.Helper()
	who, err := w.process.Visitor(t.Context(), w.cookies["admin"])
	if err != nil {
		t.Fatal(err)
	}
	d := w.process.For(who)
	definition, err := file.Parse("winter.yaml", []byte(winter))
	if err != nil {
		t.Fatal(err)
	}
	dr, err := d.NewDraft(t.Context(), operator.File{Source: []byte(winter), Definition: definition})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.process.Uploads.Add(dr.ID, 0, strings.NewReader("phone;First Name\n+2348031234560;\"\"\""+hostile+"\"\n")); err != nil {
		t.Fatal(err)
	}
	dr.ListName = hostile
	if err := d.ChangeDraft(t.Context(), dr); err != nil {
		t.Fatal(err)
	}
	w.draft = dr.ID
}

// check is what the process finds of a list.
func (w *world) check(context.Context, operator.File, string) (*launch.Preflight, error) {
	if w.found != nil {
		return w.found, nil
	}
	return &launch.Preflight{Campaign: "winter", Header: []string{"phone", hostile}, Dialect: hostile, Rows: 3, Sendable: 1,
		Skipped: map[campaign.SkipReason]int64{campaign.InvalidPhone: 1, campaign.SkipReason(hostile): 1},
		Examples: []campaign.Reject{{Row: 2, Line: 3, To: hostile, Reason: campaign.InvalidPhone, Note: hostile,
			Cells: []string{hostile, hostile}}},
		Findings: []file.Finding{{Level: file.LevelWarning, What: hostile, Remedy: hostile}},
		Launch:   &launch.Check{Does: "refuses", Run: "spring-1", Difference: &launch.ListDifference{Both: 2}}}, nil
}

// run adds a run of the company comp_1 or comp_2.
func (w *world) run(t testing.TB, i int) {
	t.Helper()
	l := w.session.Ledger
	text := strings.ReplaceAll("name: spring\nconnections: [conn_N]\ntemplate: {name: a, language: en}\n", "N", fmt.Sprint(i+1))
	run, err := l.CreateRun(t.Context(), campaign.Run{Campaign: "spring", ListHash: fmt.Sprint(i), ListName: hostile + ".csv",
		Definition: []byte(text), Header: []string{"phone"}, Wanted: campaign.WantRun})
	if err != nil {
		t.Fatal(err)
	}
	var rows []campaign.Delivery
	for seq := range int64(40) {
		to := 2348031234560 + seq
		rows = append(rows, campaign.Delivery{Run: run.No, Seq: seq, Row: seq + 2, Key: to, To: fmt.Sprintf("+%d", to), Cells: []string{hostile}})
	}
	rows[39] = campaign.Delivery{Run: run.No, Seq: 39, Row: 41, To: hostile, Skip: campaign.InvalidPhone}
	if err := l.AppendRows(t.Context(), run.No, 0, rows, []campaign.Segment{{Run: run.No, Hi: 40}}); err != nil {
		t.Fatal(err)
	}
	if err := l.FinishImport(t.Context(), run.No, 40, campaign.Ready); err != nil {
		t.Fatal(err)
	}
	f, _, err := l.ClaimFile(t.Context(), campaign.DroppedFile{Bucket: "file:inbox", Key: hostile + fmt.Sprint(i), Campaign: "spring"})
	if err != nil {
		t.Fatal(err)
	}
	f.State, f.Run, f.Detail = campaign.DropLaunched, run.No, hostile
	if err := l.UpdateFile(t.Context(), f); err != nil {
		t.Fatal(err)
	}
}

// key makes a key and signs in with it.
func (w *world) key(t testing.TB, name, scope, company string) {
	t.Helper()
	const tick = 2 * time.Millisecond // the log has no order within a millisecond
	time.Sleep(tick)
	k, err := w.session.CreateKey(t.Context(), name, scope, company, "")
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(tick)
	w.keys[name] = k
	if w.cookies[name], err = w.process.SignIn(t.Context(), "127.0.0.1:1", k.Secret); err != nil {
		t.Fatal(err)
	}
}

// request asks a page with the session of a name; "" is none. A form makes it a POST.
func (w *world) request(path, name string, form url.Values, headers ...string) *httptest.ResponseRecorder {
	method, body := http.MethodGet, io.Reader(nil)
	if form != nil {
		method, body = http.MethodPost, strings.NewReader(form.Encode())
	}
	r := httptest.NewRequest(method, "http://127.0.0.1:8081/", body)
	if u, err := url.ParseRequestURI(path); err == nil {
		r.URL, r.RequestURI = u, path
	}
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	if name != "" {
		r.AddCookie(&http.Cookie{Name: cookie, Value: w.cookies[name]})
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	ctx, leave := context.WithCancel(r.Context())
	defer leave()
	got := httptest.NewRecorder()
	w.ServeHTTP(&visitor{ResponseRecorder: got, leave: leave}, r.WithContext(ctx))
	return got
}

// visitor leaves a stream when it has got its first event.
type visitor struct {
	*httptest.ResponseRecorder
	flushed int
	leave   func()
}

func (v *visitor) Flush() {
	if v.flushed++; v.flushed == 2 {
		v.leave()
	}
}

// address fills in the parameters of a route's path.
func (w *world) address(path string) string {
	return strings.NewReplacer("{draft}", w.draft, "{run}", "spring-1", "{connection}", "conn_1", "{no}", "1").Replace(path)
}

// form has a form of each route that is valid.
var forms = map[string]url.Values{
	"/console/runs/{run}/limits":       {"weight": {"4"}},
	"/console/new":                     {"campaign": {"winter"}},
	"/console/new/{draft}/list":        {"name": {hostile}, "sum": {"1"}},
	"/console/new/{draft}/part":        {},
	"/console/new/{draft}/columns":     {"column-to": {"phone"}, "column-first_name": {hostile}},
	"/console/new/{draft}/test":        {"to": {"+2348031234560"}, "row": {"1"}},
	"/console/new/{draft}/send":        {"another": {"1"}},
	"/console/suppressions/add":        {"numbers": {"+2348031234599"}},
	"/console/person/erase":            {"to": {"+2348031234560"}},
	"/console/suppressions/remove":     {"number": {"+2348031234599"}},
	"/console/holds/add":               {"scope": {"connection"}, "id": {"conn_9"}},
	"/console/holds/lift":              {"scope": {"connection"}, "id": {"conn_9"}},
	"/console/keys/create":             {"name": {hostile}, "scope": {"read"}, "nonce": {"1"}},
	"/console/keys/revoke":             {"key": {"none"}},
	"/console/runs/{run}/follow-up":    {"where": {"failed=131049"}},
	"/console/runs/{run}/audit":        {},
	"/console/runs/{run}/pause":        {},
	"/console/runs/{run}/resume":       {},
	"/console/runs/{run}/approve":      {},
	"/console/runs/{run}/cancel":       {},
	"/console/notifications/{no}/send": {},
}

// formOf is the form of a route, nil of a GET. yes answers the question before it.
func formOf(r *route, yes bool) url.Values {
	if r.method == http.MethodGet {
		return nil
	}
	out := url.Values{}
	for name, values := range forms[r.path] {
		out[name] = values
	}
	if yes {
		out.Set(sure, cmp.Or(out.Get("to"), "1"))
	}
	return out
}
