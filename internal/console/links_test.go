package console

import (
	"cmp"
	"fmt"
	"html"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/reception"
	"campaignd/internal/client/resource"
)

// outcomes gives the rows of run 1 each kind of outcome. The last rows stay queued.
func (w *world) outcomes(t *testing.T) campaign.Lease {
	t.Helper()
	l, base := w.session.Ledger, time.Now().Add(-time.Hour)
	if _, err := w.session.LiftHolds(t.Context(), resource.LiftRequest{Scope: campaign.HoldConnection, ID: "conn_1"}); err != nil {
		t.Fatal(err)
	}
	stop := campaign.NewSuppression(2348031234560, "+2348031234560", campaign.ScopeAll, "", base)
	if _, err := l.Suppress(t.Context(), []campaign.Suppression{stop}); err != nil {
		t.Fatal(err)
	}
	leases, err := l.Claim(t.Context(), campaign.Claim{Owner: "w", Connection: "conn_1", Runs: []campaign.RunNo{1}, Max: 1, Lease: time.Hour})
	if err != nil || len(leases) != 1 {
		t.Fatalf("got %d segments (%v), want 1", len(leases), err)
	}
	const posted = 30
	in := campaign.Intent{Lease: leases[0], Connection: "conn_1", To: posted}
	for seq := range int64(posted) {
		in.Keys = append(in.Keys, 2348031234560+seq)
	}
	if g, err := l.Intend(t.Context(), []campaign.Intent{in}); err != nil || g[0].To != posted {
		t.Fatalf("got %+v (%v), want %d granted", g, err, posted)
	}
	var results []campaign.Result
	var events campaign.Events
	codes := []string{"131049", "", "", hostile, "a&status=read#+ c", "cancelled"}
	for seq := int64(1); seq < posted-2; seq++ { // the first row is suppressed, the last two have no result
		r := campaign.Result{Run: 1, Seq: seq, Connection: "conn_1", Attempt: 1, At: base, IntentAt: base, Epoch: leases[0].Epoch,
			Kind: campaign.ResultAccepted, MessageID: fmt.Sprint("m", seq)}
		status := []campaign.Status{campaign.Sent, campaign.Delivered, campaign.Read, campaign.Failed}
		if e := (campaign.StatusEvent{MessageID: r.MessageID, Connection: "conn_1", At: base, ReceivedAt: base}); seq > 1 && seq < 15 {
			e.Status = status[min(seq-2, 3)]
			if e.Status == campaign.Failed {
				e.Code = codes[seq%int64(len(codes))]
			}
			events.Statuses = append(events.Statuses, e)
		}
		if seq >= 15 {
			r.MessageID, r.Kind, r.Code = "", campaign.ResultRefused, codes[seq%int64(len(codes))]
		}
		if seq >= 24 {
			r.Kind, r.Code = campaign.ResultDoubt, "time_out"
		}
		if seq >= 26 {
			r.Kind, r.Code, r.NotBefore = campaign.ResultDeferred, "send_retryable", time.Now().Add(time.Hour)
		}
		results = append(results, r)
	}
	if err := l.Record(t.Context(), results); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Apply(t.Context(), events); err != nil {
		t.Fatal(err)
	}
	return leases[0]
}

var (
	rowsLink = regexp.MustCompile(`<a [^>]*href="(/console/runs/spring-1/deliveries[^"]*)"[^>]*>([^<]*)</a>(?: <strong>([0-9]+)</strong>)?`)
	oneRow   = regexp.MustCompile(`<tr><th scope="row" class="num">`)
	rowLink  = regexp.MustCompile(`href="(/console/runs/spring-1/recipient[^"]*)"`)
	alone    = regexp.MustCompile(`<td class="num">[0-9]`)
)

// leads follows each link of the run's page to rows, and returns the numbers of rows by query.
func (w *world) leads(t *testing.T) map[string]int {
	t.Helper()
	all := map[string]int{}
	page := w.request("/console/runs/spring-1", "operate", nil).Body.String()
	for _, m := range rowsLink.FindAllStringSubmatch(page, -1) {
		address, want := html.UnescapeString(m[1]), 40
		if m[2] != "All rows" {
			n, err := strconv.Atoi(cmp.Or(m[3], m[2]))
			if err != nil {
				t.Errorf("%s: got no number of rows (%v), want one", m[0], err)
			}
			want = n
		}
		got := w.request(address, "operate", nil)
		if n := len(oneRow.FindAllString(got.Body.String(), -1)); got.Code != 200 || n != want {
			t.Errorf("%s: got %d and %d rows, want %d", address, got.Code, n, want)
		}
		for _, p := range rowLink.FindAllStringSubmatch(got.Body.String(), -1) {
			if address := html.UnescapeString(p[1]); m[2] == "All rows" && w.request(address, "operate", nil).Code != 200 {
				t.Errorf("%s: got no page, want each link of a row to have one", address)
			}
		}
		_, query, _ := strings.Cut(address, "?")
		all[query] = want
	}
	for _, name := range []string{"Failed and refused, by code", "Skipped, by reason"} {
		_, table, found := strings.Cut(page, name+"</h2>")
		table, _, _ = strings.Cut(table, "</table>")
		if !found || alone.MatchString(table) {
			t.Errorf("%s: got %s, want a table with a link in each line", name, table)
		}
	}
	return all
}

// Each figure of a run's page is a link to as many rows as it says.
func TestFiguresOfARunLeadToTheirRows(t *testing.T) {
	has := func(all map[string]int, queries ...string) {
		t.Helper()
		for _, query := range queries {
			if all[query] == 0 {
				t.Errorf("%s: got no such link among %v, want one", query, all)
			}
		}
	}
	w := newWorld(t)
	lease := w.outcomes(t)
	has(w.leads(t), "status=queued", "status=sending", "status=in_doubt", "status=failed&code=no_code", "status=refused&code=no_code",
		"status=failed&code=131049", "status=skipped&reason=suppressed", "status=skipped&reason=invalid_phone")

	if _, err := w.session.Cancel(t.Context(), "spring-1"); err != nil {
		t.Fatal(err)
	}
	l := w.session.Ledger
	if _, err := l.SkipQueued(t.Context(), lease, campaign.RunCancelled); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Resolve(t.Context(), lease, reception.Span{Until: time.Now()}, campaign.UncertainHold); err != nil {
		t.Fatal(err)
	}
	w.watch.forget()
	has(w.leads(t), "status=unknown", "status=skipped&reason=cancelled", "status=read")
}

// The totals of a run stay when retention deletes its rows, so its pages say where the rows are.
func TestDeletedRowsAreToldToBeDeleted(t *testing.T) {
	w := newWorld(t)
	w.cancel(t, "spring-1")
	if n, err := w.session.Ledger.Retire(t.Context(), time.Now().Add(time.Hour)); n != 40 || err != nil {
		t.Fatalf("got %d deleted rows (%v), want 40", n, err)
	}
	for path, code := range map[string]int{"": 200, "/deliveries": 200, "/deliveries?status=skipped": 200,
		"/recipient?to=%2B2348031234561": 404} {
		got := w.request("/console/runs/spring-1"+path, "operate", nil)
		text := got.Body.String()
		if got.Code != code || !strings.Contains(text, "40 of 40 rows were deleted by retention.deliveries") {
			t.Errorf("%q: got %d %s, want %d and that the rows were deleted", path, got.Code, text, code)
		}
		if strings.Contains(text, "See how many") {
			t.Errorf("%q: a follow-up over deleted rows is offered, want none", path)
		}
	}
}

func TestARowWithoutANumberIsNoLink(t *testing.T) {
	for _, d := range []resource.Delivery{{To: campaign.ErasedNumber}, {Reason: string(campaign.MissingPhone)},
		{To: "+234", Reason: string(campaign.InvalidPhone)}} {
		if (deliveriesView{}).HasNumber(d) {
			t.Errorf("%+v: got a number, want none", d)
		}
	}
	if d := (resource.Delivery{To: "+2348031234560", Reason: string(campaign.Duplicate)}); !(deliveriesView{}).HasNumber(d) {
		t.Errorf("%+v: got no number, want one", d)
	}
}
