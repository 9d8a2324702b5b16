package console

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/recipients"
)

// cancel cancels a run whose rows are all queued, as its senders do.
func (w *world) cancel(t *testing.T, id string) {
	t.Helper()
	if _, err := w.session.Cancel(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	l := w.session.Ledger
	leases, err := l.Claim(t.Context(), campaign.Claim{Owner: "w", Connection: "conn_1", Runs: []campaign.RunNo{1}, Cancelled: true, Max: 9,
		Lease: time.Minute})
	if err != nil || len(leases) != 1 {
		t.Fatalf("got %d segments (%v), want 1", len(leases), err)
	}
	if _, err := l.SkipQueued(t.Context(), leases[0], campaign.RunCancelled); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Park(t.Context(), leases[0], time.Time{}, func(since time.Time) time.Time { return since }); err != nil {
		t.Fatal(err)
	}
	if ended, err := l.FinishRuns(t.Context()); err != nil || len(ended) != 1 {
		t.Fatalf("got %d ended runs (%v), want 1", len(ended), err)
	}
}

// The rows are counted first; the same choice is the same run.
func TestAFollowUpIsCountedAndThenMade(t *testing.T) {
	w := newWorld(t)
	// The figures of a run are shared for a second, so its page is opened after it has ended.
	page := func(name string) string { return w.request("/console/runs/spring-1", name, nil).Body.String() }
	if strings.Contains(w.request("/console/runs/spring-2", "operate", nil).Body.String(), "See how many") {
		t.Error("a run that has not ended offers a follow-up")
	}
	w.cancel(t, "spring-1")
	text := page("operate")
	if !strings.Contains(text, `value="skipped=cancelled"`) || strings.Contains(text, `value="skipped=invalid_phone"`) {
		t.Errorf("got %s, want the cancelled rows to choose, and no row that can never be sent", text)
	}
	if strings.Contains(page("read"), "See how many") {
		t.Error("a key that may only look is offered a follow-up")
	}
	form := url.Values{"where": {"skipped=cancelled"}}
	ask := func(form url.Values, code int, want string) {
		t.Helper()
		got := w.request("/console/runs/spring-1/follow-up", "operate", form)
		if text := got.Body.String() + got.Header().Get("Location"); got.Code != code || !strings.Contains(text, want) {
			t.Errorf("%v: got %d %s, want %d and %s", form, got.Code, text, code, want)
		}
	}
	ask(url.Values{}, http.StatusBadRequest, "Choose at least one")
	ask(url.Values{"where": {"read"}}, http.StatusBadRequest, "chooses no rows")
	ask(url.Values{"where": {"failed=131049"}}, http.StatusConflict, "o row is chosen")
	ask(form, http.StatusOK, "Send 39 messages")
	if runs, err := w.session.Runs(t.Context(), campaign.RunFilter{}); err != nil || len(runs) != 2 {
		t.Fatalf("after the question: got %d runs (%v), want 2", len(runs), err)
	}
	form.Set(sure, "1")
	ask(form, http.StatusSeeOther, "/console/runs/spring-3")
	ask(form, http.StatusSeeOther, "/console/runs/spring-3")
}

// leaving is a ledger whose visitor closes the browser while it makes a run or erases a number.
type leaving struct {
	campaign.Ledger
	leave func()
}

func (l leaving) CreateRun(ctx context.Context, r campaign.Run) (campaign.Run, error) {
	defer l.leave()
	return l.Ledger.CreateRun(ctx, r)
}

func (l leaving) Erase(ctx context.Context, key int64) (campaign.Erased, error) {
	l.leave()
	return l.Ledger.Erase(ctx, key)
}

// leaves sends a form with the session admin, and closes the browser meanwhile.
func (w *world) leaves(t *testing.T, path string, form url.Values) {
	t.Helper()
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	w.Server.process.Session.Ledger = leaving{w.session.Ledger, leave}
	r := httptest.NewRequestWithContext(ctx, http.MethodPost, "http://127.0.0.1:8081"+path, strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.AddCookie(&http.Cookie{Name: cookie, Value: w.cookies["admin"]})
	w.ServeHTTP(httptest.NewRecorder(), r)
	if ctx.Err() == nil {
		t.Errorf("%s: the browser was not closed, want it closed meanwhile", path)
	}
}

// A browser that is closed while the rows are copied leaves no run that is being imported.
func TestAFollowUpIsMadeAlthoughItsBrowserCloses(t *testing.T) {
	w := newWorld(t)
	w.cancel(t, "spring-1")
	w.leaves(t, "/console/runs/spring-1/follow-up", url.Values{"where": {"skipped=cancelled"}, sure: {"1"}})
	run, err := w.session.Run(t.Context(), "spring-3")
	if err != nil || run.State != campaign.Ready || run.Rows != 39 {
		t.Errorf("got a run that is %s with %d rows and %v, want a follow-up that is ready with 39 rows", run.State, run.Rows, err)
	}
}

func TestANumberIsErasedAlthoughTheBrowserCloses(t *testing.T) {
	w := newWorld(t)
	const number = "+2348031234561"
	w.leaves(t, "/console/person/erase", url.Values{"to": {number}, sure: {number}})
	if rows, _, err := w.session.Person(t.Context(), number, 0, 9); err != nil || len(rows) > 0 {
		t.Errorf("got %d rows of the number and %v, want none", len(rows), err)
	}
}

// Sending to the people who were held out ends their comparison: the page says so at the choice,
// and the question before the answer permits it.
func TestAFollowUpSaysThatItEndsAComparison(t *testing.T) {
	w := newWorld(t)
	l := w.session.Ledger
	run, err := l.CreateRun(t.Context(), campaign.Run{Campaign: "autumn", ListHash: "held", ListName: "held.csv", Template: "sale",
		Language: "en",
		Definition: []byte("name: autumn\nconnections: [conn_1]\ntemplate: {name: sale, language: en}\n" +
			"holdout: {share: 0.5}\nconversions: {}\n")})
	if err != nil {
		t.Fatal(err)
	}
	var rows []campaign.Delivery
	for i := range int64(2) {
		to := fmt.Sprintf("+23480300000%02d", i)
		rows = append(rows, campaign.Delivery{Run: run.No, Seq: i, Row: i + 1, To: to, Key: recipients.Key(to), Skip: campaign.HeldOut})
	}
	if err := errors.Join(l.AppendRows(t.Context(), run.No, 0, rows, []campaign.Segment{{Run: run.No, Hi: 2, Closed: true}}),
		l.FinishImport(t.Context(), run.No, 2, campaign.Ready)); err != nil {
		t.Fatal(err)
	}
	if _, err := l.SetState(t.Context(), run.No, []campaign.State{campaign.Ready}, campaign.Finished, "", ""); err != nil {
		t.Fatal(err)
	}
	path := "/console/runs/" + run.ID()
	if text := w.request(path, "operate", nil).Body.String(); !strings.Contains(text,
		"their purchases are compared with those of the others until ") {
		t.Errorf("got %s, want the end of the comparison at the choice", text)
	}
	form := url.Values{"where": {"skipped=holdout"}, sure: {"1"}}
	if got := w.request(path+"/follow-up", "operate", form); got.Code != http.StatusConflict {
		t.Errorf("without the question: got %d %s, want %d", got.Code, got.Body, http.StatusConflict)
	}
	form.Del(sure)
	asked := w.request(path+"/follow-up", "operate", form).Body.String()
	if !strings.Contains(asked, "ends the comparison with 2 people who were held out") ||
		!strings.Contains(asked, `name="ends_comparison" value="1"`) {
		t.Errorf("got %s, want that it ends the comparison", asked)
	}
	form.Set(sure, "1")
	form.Set("ends_comparison", "1")
	if got := w.request(path+"/follow-up", "operate", form); got.Code != http.StatusSeeOther {
		t.Errorf("with the answer: got %d %s, want the run", got.Code, got.Body)
	}
}
