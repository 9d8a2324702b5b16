package console

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"campaignd/campaign"
	"campaignd/campaign/file"
	"campaignd/campaign/launch"
	"campaignd/internal/messaging"
	"campaignd/internal/operator"
	"campaignd/reporting"
	"campaignd/throttle"
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

// tester is a service that takes test messages, or fails.
type tester struct {
	launch.Tester
	fails error
	sent  []string
}

func (s *tester) Templates(context.Context, string) ([]messaging.TemplateRecord, error) {
	return nil, messaging.ErrNotOffered
}

func (s *tester) Send(_ context.Context, m *messaging.Message) (messaging.Receipt, error) {
	if s.fails == nil {
		s.sent = append(s.sent, m.To)
	}
	return messaging.Receipt{}, s.fails
}

// A test message that was not sent says why, and the draft goes on when its cause has ended.
func TestATestMessageThatFailsIsASentence(t *testing.T) {
	w := newWorld(t)
	service := &tester{}
	w.Server.process.Messages = service
	w.Server.process.Turn = launch.Turn{Limiter: throttle.NewLocal(), Pace: func(string) float64 { return 68 },
		Origin: func(string) campaign.Origin { return campaign.Origin{} }}
	w.upload(t, "l.csv", "phone;First Name\n+2348031234560;Nia\n0803;Ada\n")
	w.request(w.step("columns"), "admin", url.Values{"column-to": {"phone"}, "column-first_name": {"First Name"}})
	const away, to = "The messaging service does not answer as it should.", "+2348031234561"
	for _, c := range []struct {
		what, to, row string
		fails         error
		code          int
		want          string
	}{
		{"the service is away", to, "1", &messaging.Error{Status: http.StatusServiceUnavailable}, http.StatusBadGateway, away},
		{"nobody listens", to, "1", &messaging.Error{Err: errors.New("connection refused")}, http.StatusBadGateway, away},
		{"a number that is none", "0803", "1", nil, http.StatusBadRequest, "0803"},
		{"a number that is suppressed", "+2348031234560", "1", nil, http.StatusBadRequest, "suppress"},
		{"a row that cannot be sent", to, "2", nil, http.StatusNotFound, "row 2"},
		{"a row that is not there", to, "9", nil, http.StatusNotFound, "row 9"},
	} {
		service.fails = c.fails
		got := w.request(w.step("test"), "admin", url.Values{"to": {c.to}, "row": {c.row}})
		text := got.Body.String()
		if got.Code != c.code || !strings.Contains(strings.ToLower(text), strings.ToLower(c.want)) || len(service.sent) > 0 ||
			strings.Contains(text, w.process.Uploads.Dir()) || strings.Contains(text, "--row") || strings.Contains(text, "The messaging service: ") {
			t.Errorf("%s: got %d %s, want %d, %q and nothing sent", c.what, got.Code, text, c.code, c.want)
		}
	}
	service.fails = nil
	if got := w.request(w.step("test"), "admin", url.Values{"to": {to}, "row": {"1"}}); got.Code != http.StatusSeeOther ||
		len(service.sent) != 1 || service.sent[0] != to {
		t.Errorf("the draft afterwards: got %d %s and the messages to %q, want one to %s", got.Code, got.Body, service.sent, to)
	}
}

// A template that is paused after the check is told when the campaign would be sent. The check that
// was right before is not shown again.
func TestATemplatePausedAfterTheCheckIsTold(t *testing.T) {
	w := newWorld(t)
	w.found = &launch.Preflight{Rows: 1, Sendable: 1}
	if text := w.request(w.step("send"), "admin", nil).Body.String(); !strings.Contains(text, "Send 1 message") {
		t.Fatalf("got %s, want the button", text)
	}
	paused := &launch.Preflight{Campaign: "winter", Findings: []file.Finding{{Level: file.LevelError, What: "the template is paused"}}}
	w.found, w.refusal = paused, &launch.PreflightError{Preflight: paused}
	got := w.request(w.step("send"), "admin", url.Values{})
	if text := got.Body.String(); got.Code != http.StatusConflict || !strings.Contains(text, "template is paused") {
		t.Errorf("got %d %s, want 409 and the reason", got.Code, text)
	}
	if got := w.request(w.step("send"), "admin", nil); got.Header().Get("Location") != w.step("check") {
		t.Errorf("the last step: got %d to %q, want the check", got.Code, got.Header().Get("Location"))
	}
	if text := w.request(w.step("check"), "admin", nil).Body.String(); !strings.Contains(text, "The template is paused.") {
		t.Errorf("the check: got %s, want the fault", text)
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
