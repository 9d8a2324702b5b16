package api

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/why"
	"campaignd/internal/client"
	"campaignd/internal/client/resource"
	"campaignd/reporting"
)

// answers decodes the data of an answer of status 200, and returns where the next page begins.
func answers[O any](t *testing.T, what string, got *httptest.ResponseRecorder) (data O, next string) {
	t.Helper()
	var body struct {
		Data O
		Meta struct{ Next string }
	}
	if err := json.Unmarshal(got.Body.Bytes(), &body); err != nil || got.Code != http.StatusOK {
		t.Fatalf("%s: got %d %s (%v), want 200", what, got.Code, got.Body, err)
	}
	return body.Data, body.Meta.Next
}

func TestAnImportIsOfTheCompanyOfItsKey(t *testing.T) {
	w := newWorld(t)
	const path = "/api/v1/suppressions/import?file=../crm.csv&source=crm&date=2026-03-01T00:00:00Z"
	file := "to,scope\n+2348031234501,\n+2348031234502,all@comp_2\n+2348031234503,marketing@comp_1\n0803,\n"
	got, _ := answers[resource.Imported](t, "import", w.ask(t, "POST", path, "other", file))
	if got.Rows != 4 || got.Added != 2 || got.Rejected != 2 || len(got.Faults) != 2 || got.Faults[0].Line != 4 || got.Faults[1].Line != 5 {
		t.Errorf("got %+v, want 2 of 4 rows, and the faults of the lines 4 and 5", got)
	}
	shown, _ := answers[[]why.ShownSuppression](t, "show", w.ask(t, "GET", "/api/v1/suppressions/+2348031234501", "other", ""))
	if len(shown) != 1 || shown[0].Company != "comp_2" || shown[0].Source != "import:crm" || shown[0].Proof.File != "crm.csv" ||
		!shown[0].At.Equal(time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)) {
		t.Errorf("got %+v, want one of comp_2 by import:crm since 1 March, proved by crm.csv", shown)
	}
	again, _ := answers[resource.Imported](t, "import again", w.ask(t, "POST", path, "other", file))
	if again.Added != 0 || again.Known != 2 {
		t.Errorf("the second import: got %+v, want 2 known", again)
	}
	export := w.ask(t, "GET", "/api/v1/suppressions/export", "read", "")
	text := export.Body.String()
	if export.Code != 200 || strings.Count(text, "\n") != 3 || !strings.Contains(text, "marketing@comp_2,import:crm,") {
		t.Errorf("the export: got %d %q, want a header and two rows", export.Code, text)
	}
	actions, err := w.session.Actions(t.Context(), campaign.ActionFilter{Limit: 10})
	if err != nil || len(actions) < 2 || actions[0].What != "export-suppressions" ||
		actions[1].What != "suppressions import" || actions[1].On != "crm" {
		t.Errorf("got the actions %+v (%v), want the import of crm and then the export", actions, err)
	}
}

func TestFaultyQueriesOfAnImportAreRefused(t *testing.T) {
	w := newWorld(t)
	for _, query := range []string{"scope=some", "source=c%20r%20m", "date=2999-01-01T00:00:00Z", "date=yesterday", "default_region=XX"} {
		wantError(t, query, w.ask(t, "POST", "/api/v1/suppressions/import?"+query, "admin", "to\n+2348031234567\n"), 400, client.CodeInvalid)
	}
	wantError(t, "no number", w.ask(t, "GET", "/api/v1/suppressions/0803", "admin", ""), 400, client.CodeInvalid)
}

// The entry that stops the messages of all was perhaps made by a message of another company.
func TestOthersProofsAreNotShown(t *testing.T) {
	w := newWorld(t)
	const number = "+2348031234567"
	s := campaign.NewSuppression(2348031234567, number, campaign.ScopeMarketing, "stop", time.Now()).Proven(campaign.Proof{Text: "STOP"})
	other := s
	other.Company = "comp_1"
	if _, err := w.session.Ledger.Suppress(t.Context(), []campaign.Suppression{s, other}); err != nil {
		t.Fatal(err)
	}
	got := w.ask(t, "GET", "/api/v1/suppressions/"+number, "other", "")
	shown, _ := answers[[]why.ShownSuppression](t, "show", got)
	if len(shown) != 1 || strings.Contains(got.Body.String(), "STOP") || strings.Contains(got.Body.String(), "stop") {
		t.Errorf("got %s, want one entry without its source and proof", got.Body)
	}
	if all, _ := answers[[]why.ShownSuppression](t, "show", w.ask(t, "GET", "/api/v1/suppressions/"+number, "read", "")); len(all) != 2 ||
		!strings.Contains(all[0].Sentence, "STOP") {
		t.Errorf("a key of all companies: got %+v, want both with their proof", all)
	}
}

func TestAKeyOfACompanySeesItsCampaignsAlone(t *testing.T) {
	w := newWorld(t)
	all, _ := answers[[]resource.Campaign](t, "campaigns", w.ask(t, "GET", "/api/v1/campaigns", "read", ""))
	if len(all) != 3 || all[2].File != "broken.yaml" || len(all[2].Findings) != 1 || all[0].Next.IsZero() {
		t.Errorf("got %+v, want two campaigns and the faults of broken.yaml", all)
	}
	own, _ := answers[[]resource.Campaign](t, "campaigns", w.ask(t, "GET", "/api/v1/campaigns", "other", ""))
	if len(own) != 1 || own[0].Name != "spring-2" {
		t.Errorf("got %+v, want spring-2", own)
	}
	firings, _ := answers[[]resource.Firing](t, "schedules", w.ask(t, "GET", "/api/v1/schedules?next=2", "other", ""))
	if len(firings) != 2 || firings[0].Campaign != "spring-2" || firings[0].Outcome != "next" || !firings[1].At.After(firings[0].At) {
		t.Errorf("got %+v, want the next two of spring-2", firings)
	}
}

func TestTwoOperatorsMakeTwoKeysWithOneIdempotencyKey(t *testing.T) {
	w := newWorld(t)
	w.key(t, "second", "admin", "")
	ids := map[string]bool{}
	for _, by := range []string{"admin", "second"} {
		r := httptest.NewRequest("POST", "/api/v1/keys", strings.NewReader(`{"name": "till", "scope": "read"}`))
		r.Header.Set("Authorization", "Bearer "+w.keys[by])
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Idempotency-Key", "one")
		out := httptest.NewRecorder()
		w.ServeHTTP(out, r)
		made, _ := answers[resource.NewKey](t, by, out)
		ids[made.ID] = true
	}
	if len(ids) != 2 {
		t.Errorf("got the keys %v, want two", ids)
	}
}

// A notification that was given up after three days is tried for three days more.
func TestASentNotificationIsDueForThreeDaysMore(t *testing.T) {
	w := newWorld(t)
	l, long := w.session.Ledger, time.Now().UTC().Add(-100*time.Hour).Truncate(time.Millisecond)
	all, err := l.Notifications(t.Context(), campaign.NotificationFilter{No: 1})
	if err != nil || len(all) != 1 {
		t.Fatalf("got %+v (%v), want one notification", all, err)
	}
	dead := all[0]
	dead.State, dead.Since, dead.NextAt, dead.Attempts, dead.Error = campaign.NotificationDead, long, long, 11, "answered 500"
	if same, err := l.UpdateNotification(t.Context(), all[0], dead); err != nil || !same {
		t.Fatalf("got %v, %v, want it to be dead", same, err)
	}
	before := time.Now().Add(-time.Second)
	if got := w.ask(t, "POST", "/api/v1/notifications/1/send", "admin", ""); got.Code != http.StatusOK {
		t.Fatalf("got %d %s, want 200", got.Code, got.Body)
	}
	all, err = l.Notifications(t.Context(), campaign.NotificationFilter{No: 1})
	if err != nil || len(all) != 1 || all[0].State != campaign.NotificationPending || all[0].Since.Before(before) || all[0].Attempts != 0 {
		t.Errorf("got %+v (%v), want it pending since now, without an attempt", all, err)
	}
}

func TestPastFiringsTellTheirRuns(t *testing.T) {
	w := newWorld(t)
	f := campaign.Firing{Campaign: "spring-1", Key: "k", At: time.Now().Add(-time.Hour), Since: time.Now().Add(-time.Hour),
		Outcome: campaign.FiringLaunched, Run: 1}
	if _, err := w.session.Ledger.NoteFiring(t.Context(), f); err != nil {
		t.Fatal(err)
	}
	got, _ := answers[[]resource.Firing](t, "schedules", w.ask(t, "GET", "/api/v1/schedules?campaign=spring-1&next=0", "read", ""))
	if len(got) != 1 || got[0].Outcome != "launched" || got[0].Run != "spring-1-1" {
		t.Errorf("got %+v, want one launched firing with its run", got)
	}
}

func TestPagesOfDropsHaveEachFileOnce(t *testing.T) {
	w := newWorld(t)
	for i := range 5 {
		if _, _, err := w.session.Ledger.ClaimFile(t.Context(), campaign.DroppedFile{Bucket: "b", Key: fmt.Sprint("more", i)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.session.Ledger.NoteWaits(t.Context(), "b", "", []campaign.DropWait{{Key: "slow.csv", Reason: "it grows"}}); err != nil {
		t.Fatal(err)
	}
	seen, after := map[string]int{}, ""
	for {
		page, next := answers[[]resource.Drop](t, "drops", w.ask(t, "GET", "/api/v1/drops?limit=3"+after, "read", ""))
		for _, d := range page {
			seen[d.Bucket+" "+d.Key+" "+d.State]++
		}
		if next == "" {
			break
		}
		after = "&after=" + next
	}
	if len(seen) != 8 || seen["b slow.csv waiting"] != 1 || seen["b more4 claimed"] != 1 || seen["file:inbox 0 launched"] != 1 {
		t.Errorf("got %v, want 7 taken files and one that waits, each once", seen)
	}
	own, _ := answers[[]resource.Drop](t, "drops", w.ask(t, "GET", "/api/v1/drops", "other", ""))
	if len(own) != 1 || own[0].Run != "spring-2" {
		t.Errorf("a key of one company: got %+v, want the file of spring-2", own)
	}
}

func TestListsAreCheckedTwoAtATime(t *testing.T) {
	w := newWorld(t)
	for range checksAtOnce {
		w.checks <- struct{}{}
	}
	wantError(t, "a third check", w.ask(t, "GET", "/api/v1/campaigns/spring-1/check", "read", ""), 503, client.CodeBusy)
	<-w.checks
	if got := w.ask(t, "GET", "/api/v1/campaigns/spring-1/check", "read", ""); got.Code != 200 {
		t.Errorf("after one has ended: got %d %s, want 200", got.Code, got.Body)
	}
}

func TestAReportIsComparedWhenItIsAsked(t *testing.T) {
	w := newWorld(t)
	for query, compared := range map[string]bool{"": false, "?against=service": true} {
		r, _ := answers[reporting.Report](t, query, w.ask(t, "GET", "/api/v1/runs/spring-1/report"+query, "read", ""))
		if got := r.Service != nil && len(r.Service.Notes) == 1; got != compared {
			t.Errorf("report%s: got the comparison %+v, want one with a note: %v", query, r.Service, compared)
		}
	}
	wantError(t, "another side", w.ask(t, "GET", "/api/v1/runs/spring-1/report?against=x", "read", ""), 400, client.CodeInvalid)
}
