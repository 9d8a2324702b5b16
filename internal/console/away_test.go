package console

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"campaignd/campaign"
	"campaignd/campaign/launch"
	"campaignd/internal/messaging"
	"campaignd/internal/operator"
	"campaignd/reporting"
)

// Each step says that the service is away, and the draft stays as it is.
func TestAServiceThatIsAwayIsASentence(t *testing.T) {
	w := newWorld(t)
	away := &messaging.Error{Status: http.StatusServiceUnavailable}
	w.refusal = away
	w.Server.process.Check = func(context.Context, operator.File, string) (*launch.Preflight, error) { return nil, away }
	for _, c := range []struct {
		step string
		form url.Values
		want int
	}{{"list", nil, http.StatusOK}, {"columns", nil, http.StatusOK}, {"check", nil, http.StatusBadGateway},
		{"send", nil, http.StatusBadGateway}, {"send", url.Values{"another": {"1"}}, http.StatusBadGateway},
		{"campaign.yaml", nil, http.StatusOK}} {
		got := w.request(w.step(c.step), "admin", c.form)
		told := strings.Contains(got.Body.String(), "The messaging service does not answer as it should.")
		if got.Code != c.want || told != (c.want == http.StatusBadGateway) || strings.Contains(got.Body.String(), w.process.Uploads.Dir()) {
			t.Errorf("%s with the form %v: got %d %s, want %d", c.step, c.form, got.Code, got.Body, c.want)
		}
	}
	w.Server.process.Check, w.refusal = w.check, nil
	if got := w.request(w.step("send"), "admin", url.Values{"another": {"1"}}); got.Code != http.StatusSeeOther {
		t.Errorf("when the service is back: got %d %s, want the run", got.Code, got.Body)
	}
}

// A run has as many rows as its list, and a count of 32 bits would be wrong without a word.
func TestNumbersOver2To31AreWhole(t *testing.T) {
	const many = int64(10_000_000_000)
	totals := reporting.Totals{campaign.Read: many / 2, campaign.Failed: many / 4, campaign.Queued: many / 4}
	b := barOf(&reporting.Report{Rows: many, Totals: totals})
	if b.Done != many/4*3 || b.Parts[0].Length != "50.00%" || b.Left.Length != "25.00%" {
		t.Errorf("got %+v, want half of the bar read, and a quarter left", b)
	}
	empty := barOf(&reporting.Report{})
	if empty.Done != 0 || len(empty.Parts) != 0 {
		t.Errorf("a run of no row: got %+v, want an empty bar", empty)
	}
	w := newWorld(t)
	w.found = &launch.Preflight{Rows: many, Sendable: many - 1}
	text := w.request(w.step("check"), "admin", nil).Body.String()
	if want := "9\u202f999\u202f999\u202f999 messages can be sent. 1 row is skipped."; !strings.Contains(text, want) {
		t.Errorf("got %s, want %s", text, want)
	}
	text = w.request(w.step("send"), "admin", nil).Body.String()
	if want := "Send 9\u202f999\u202f999\u202f999 messages"; !strings.Contains(text, want) {
		t.Errorf("got %s, want %s", text, want)
	}
}
