package console

import (
	"context"
	"fmt"
	"html"
	"iter"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/internal/client/resource"
	"campaignd/internal/operator"
)

// Each field of the form of the last page, alone and together with the others.
func TestEachChoiceOfTheLastPageReachesTheLaunch(t *testing.T) {
	w := newWorld(t)
	var got operator.Upload
	w.Server.process.Launch = func(_ context.Context, u operator.Upload) (resource.Launched, error) {
		got = u
		return resource.Launched{Run: resource.LaunchedRun{ID: "spring-1"}}, nil
	}
	for _, c := range []struct {
		form                     url.Values
		another, leaveOut, again bool
	}{
		{url.Values{}, false, false, false},
		{url.Values{"another": {"1"}}, true, false, false},
		{url.Values{"sent_before": {"leave_out"}}, false, true, false},
		{url.Values{"sent_before": {"send"}}, false, false, true},
		{url.Values{"another": {"1"}, "sent_before": {"send"}}, true, false, true},
		{url.Values{"sent_before": {"refuse"}}, false, false, false},
	} {
		got = operator.Upload{}
		w.begin(t) // a draft is launched once
		answer := w.request(w.step("send"), "admin", c.form)
		if answer.Code != http.StatusSeeOther || got.Another != c.another || got.LeaveOutSent != c.leaveOut || got.SendAgain != c.again {
			t.Errorf("%v: got %d, another %v, leave out %v, send again %v; want %v, %v, %v", c.form, answer.Code, got.Another, got.LeaveOutSent,
				got.SendAgain, c.another, c.leaveOut, c.again)
		}
	}
}

// limited is a ledger in which the first rows of every run failed.
type limited struct{ campaign.Ledger }

func (l limited) Lines(ctx context.Context, no campaign.RunNo) iter.Seq2[campaign.Line, error] {
	return func(yield func(campaign.Line, error) bool) {
		n := 0
		for line, err := range l.Ledger.Lines(ctx, no) {
			switch n++; {
			case n <= 5:
				line.Status, line.Code, line.Reason, line.FailedAt = campaign.Failed, "131049", "", time.Now()
			case n <= 8:
				line.Status, line.Code, line.Reason, line.FailedAt = campaign.Failed, "131026", "", time.Now()
			}
			if !yield(line, err) {
				return
			}
		}
	}
}

// Of the groups of rows that are chosen each counts, and people whom the platform limited wait for
// a day unless the form says otherwise.
func TestEachChoiceOfAFollowUpCounts(t *testing.T) {
	w := newWorld(t)
	w.cancel(t, "spring-1")
	w.Server.process.Session.Ledger = limited{w.session.Ledger}
	for _, c := range []struct {
		form url.Values
		code int
		want string
	}{
		{url.Values{"where": {"failed=131026"}}, http.StatusOK, "Send 3 messages"},
		{url.Values{"where": {"skipped=cancelled"}}, http.StatusOK, "Send 31 messages"},
		{url.Values{"where": {"failed=131026", "skipped=cancelled"}}, http.StatusOK, "Send 34 messages"},
		{url.Values{"where": {"failed=131049"}}, http.StatusConflict, "5 rows failed with 131049 less than 24 hours ago"},
		{url.Values{"where": {"failed=131049"}, "early": {"1"}}, http.StatusOK, "Send 5 messages"},
	} {
		got := w.request("/console/runs/spring-1/follow-up", "operate", c.form)
		if got.Code != c.code || !strings.Contains(got.Body.String(), c.want) {
			t.Errorf("%v: got %d %s, want %d and %q", c.form, got.Code, got.Body, c.code, c.want)
		}
	}
}

// A number has a suppression of each scope of its own.
func TestASuppressionHasTheScopeOfItsForm(t *testing.T) {
	w := newWorld(t)
	scopes := func(to string) (all string) {
		t.Helper()
		found, err := w.session.ShowSuppressions(t.Context(), to)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range found {
			all += fmt.Sprint(s.Scope, " ")
		}
		return all
	}
	change := func(path string, form url.Values) {
		t.Helper()
		form.Set(sure, "1")
		if got := w.request("/console/suppressions/"+path, "admin", form); got.Code != http.StatusSeeOther {
			t.Fatalf("%s %v: got %d %s, want the list", path, form, got.Code, got.Body)
		}
	}
	const one, two, three = "+2348031234591", "+2348031234592", "+2348031234593"
	change("add", url.Values{"numbers": {one}, "scope": {"all"}})
	change("add", url.Values{"numbers": {two + "\n" + three}, "scope": {"marketing"}})
	change("add", url.Values{"numbers": {two}, "scope": {"all"}})
	change("add", url.Values{"numbers": {three}})
	for to, want := range map[string]string{one: "all ", two: "all marketing ", three: "marketing "} {
		if got := scopes(to); got != want {
			t.Errorf("%s: got the scopes %q, want %q", to, got, want)
		}
	}
	change("remove", url.Values{"number": {two}, "scope": {"all"}})
	if got := scopes(two); got != "marketing " {
		t.Errorf("after its removal from all: got %q, want marketing", got)
	}
}

// Two holds have one id, and another scope each.
func TestAHoldHasTheScopeAndTheTimeOfItsForm(t *testing.T) {
	w := newWorld(t)
	for _, form := range []url.Values{{"scope": {"company"}, "id": {"conn_1"}, "for": {"2h"}, "reason": {"audit"}},
		{"scope": {"template"}, "id": {"/sale/en"}}} {
		if got := w.request("/console/holds/add", "operate", form); got.Code != http.StatusSeeOther {
			t.Fatalf("%v: got %d %s, want the list", form, got.Code, got.Body)
		}
	}
	all, err := w.session.Holds(t.Context(), false)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]time.Duration{}
	for _, h := range all {
		found[fmt.Sprint(h.Scope, " ", h.ID)] = 0
		if h.Until != nil {
			found[fmt.Sprint(h.Scope, " ", h.ID)] = h.Until.Sub(h.Since).Round(time.Minute)
		}
	}
	want := map[string]time.Duration{"company conn_1": 2 * time.Hour, "template /sale/en": 0, "connection conn_1": 0, "company comp_2": 0}
	for name, left := range want {
		if got, held := found[name]; !held || got != left {
			t.Errorf("%s: got %v left (held: %v), want %v", name, got, held, left)
		}
	}
	for scope, want := range map[string]string{"connection": "It stops 1 run with 39 queued rows: spring-1.",
		"company": "It stops no run now."} {
		asked := w.request("/console/holds/lift", "operate", url.Values{"scope": {scope}, "id": {"conn_1"}}).Body.String()
		if !strings.Contains(asked, want) {
			t.Errorf("lifting the hold of the %s: got %s, want %q", scope, asked, want)
		}
	}
}

// A form that names the reason of a hold lifts no hold with another one.
func TestALiftIsOfTheReasonOfItsForm(t *testing.T) {
	w := newWorld(t)
	held := func() (all []string) {
		t.Helper()
		holds, err := w.session.Holds(t.Context(), false)
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range holds {
			if h.ID == "conn_1" {
				all = append(all, h.Reason)
			}
		}
		return all
	}
	before := held()
	if len(before) != 1 {
		t.Fatalf("got the holds %q of conn_1, want one", before)
	}
	for _, c := range []struct {
		reason string
		left   int
	}{{"another_reason", 1}, {before[0], 0}} {
		got := w.request("/console/holds/lift", "operate",
			url.Values{"scope": {"connection"}, "id": {"conn_1"}, "reason": {c.reason}, sure: {"1"}})
		if left := held(); got.Code != http.StatusSeeOther || len(left) != c.left {
			t.Errorf("lifted for %s: got %d %s and the holds %q, want %d left", c.reason, got.Code, got.Body, left, c.left)
		}
	}
}

// The plus of a number is a space in an address unless it is written as %2B.
func TestTheNextPageOfSuppressionsFollows(t *testing.T) {
	w := newWorld(t)
	var numbers []string
	for i := range mostRows + 5 {
		numbers = append(numbers, fmt.Sprintf("+23480399%05d", i))
	}
	if _, err := w.session.AddSuppressions(t.Context(), numbers, campaign.ScopeAll); err != nil {
		t.Fatal(err)
	}
	first := w.request("/console/suppressions", "operate", nil).Body.String()
	next := regexp.MustCompile(`href="(/console/suppressions\?after=[^"]*)"`).FindStringSubmatch(first)
	if next == nil {
		t.Fatalf("got a first page without a next one: %s", first)
	}
	second := w.request(html.UnescapeString(next[1]), "operate", nil)
	seen := func(text string) (n int) {
		for _, number := range numbers {
			if strings.Contains(html.UnescapeString(text), number) {
				n++
			}
		}
		return n
	}
	if a, b := seen(first), seen(second.Body.String()); second.Code != http.StatusOK || b == 0 || a+b != len(numbers) {
		t.Errorf("%s: got %d, with %d numbers after %d, want the rest of %d", next[1], second.Code, b, a, len(numbers))
	}
}

// A key of one company takes no list of all companies with it.
func TestAKeyOfACompanySeesNoFormForAll(t *testing.T) {
	w := newWorld(t)
	for name, want := range map[string]bool{"operate": true, "other": false} {
		const export = "/console/suppressions/export"
		if got := strings.Contains(w.request("/console/suppressions", name, nil).Body.String(), export); got != want {
			t.Errorf("with the key %s the page offers the export: %v, want %v", name, got, want)
		}
	}
}

// Each filter of deliveries leaves out what it should.
func TestEachFilterOfDeliveriesCounts(t *testing.T) {
	w := newWorld(t)
	l := w.session.Ledger
	if _, err := l.SetState(t.Context(), 1, []campaign.State{campaign.Ready}, campaign.Running, "", ""); err != nil {
		t.Fatal(err)
	}
	leases, err := l.Claim(t.Context(), campaign.Claim{Owner: "w", Connection: "conn_1", Runs: []campaign.RunNo{1}, Max: 1,
		Lease: time.Minute})
	if err != nil || len(leases) != 1 {
		t.Fatalf("got %d segments (%v), want 1", len(leases), err)
	}
	if _, err := l.Intend(t.Context(), []campaign.Intent{{Lease: leases[0], Connection: "conn_1", To: 3, Keys: make([]int64,
		3)}}); err != nil {
		t.Fatal(err)
	}
	at := time.Now().UTC().Truncate(time.Minute).Add(-time.Hour)
	var results []campaign.Result
	for seq := range int64(3) {
		results = append(results, campaign.Result{Run: 1, Seq: seq, Connection: "conn_1", Attempt: 1, Kind: campaign.ResultAccepted,
			At: at, IntentAt: at, Epoch: leases[0].Epoch, MessageID: fmt.Sprint("wamid.", seq)})
	}
	if err := l.Record(t.Context(), results); err != nil {
		t.Fatal(err)
	}
	stamp := func(d time.Duration) string { return at.Add(d).Format("2006-01-02T15:04") }
	for _, c := range []struct {
		filter url.Values
		rows   int
	}{
		{url.Values{"status": {"accepted"}}, 3},
		{url.Values{"status": {"accepted"}, "connection": {"conn_9"}}, 0},
		{url.Values{"status": {"accepted"}, "since": {stamp(-time.Minute)}}, 3}, {url.Values{"status": {"accepted"},
			"since": {stamp(time.Minute)}}, 0},
		{url.Values{"status": {"accepted"}, "before": {stamp(time.Minute)}}, 3}, {url.Values{"status": {"accepted"},
			"before": {stamp(-time.Minute)}}, 0},
		{url.Values{"to": {"+2348031234562"}}, 1}, {url.Values{"reason": {"invalid_phone"}}, 1}, {url.Values{"status": {"read"}}, 0},
	} {
		text := w.request("/console/runs/spring-1/deliveries?"+c.filter.Encode(), "read", nil).Body.String()
		if i := strings.Index(text, "<tbody>"); i >= 0 {
			text = text[i:]
		} else {
			text = ""
		}
		if got := strings.Count(text, "<tr"); got != c.rows {
			t.Errorf("%v: got %d rows, want %d", c.filter, got, c.rows)
		}
	}
}
