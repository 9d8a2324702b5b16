package webhooks

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/internal/ledger"
	"campaignd/internal/ledger/postgres"
	"campaignd/internal/ledger/sqlite"
)

// sending is a ledger with runs of the template promo, each over one connection.
type sending struct {
	campaign.Ledger
	t *testing.T
	i *Intake
}

func newSending(t *testing.T) *sending {
	t.Helper()
	l, err := ledger.Open(t.Context(), "sqlite:"+filepath.Join(t.TempDir(), "campaignd.db"), ledger.Options{Sender: true},
		sqlite.Open, postgres.Open)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	o := clients
	o.Runs = l
	s := &sending{l, t, newIntake(t, l, o)}
	start(t, s.i)
	return s
}

// launch launches a run with one recipient over a connection. The template is not marketing.
func (s *sending) launch(name, connection, template string) campaign.Run {
	s.t.Helper()
	definition := fmt.Sprintf("name: %s\nconnections: [%s]\ntemplate: {name: %s, language: en_US}\n", name, connection, template)
	run, err := s.CreateRun(s.t.Context(), campaign.Run{Campaign: name, ListHash: name, Template: template, Language: "en_US",
		Definition: []byte(definition)})
	if err != nil {
		s.t.Fatal(err)
	}
	const key = 15555550100
	if err := errors.Join(s.AppendRows(s.t.Context(), run.No, 0, []campaign.Delivery{{Row: 1, To: "+15555550100", Key: key}},
		[]campaign.Segment{{Run: run.No, Hi: 1}}), s.FinishImport(s.t.Context(), run.No, 1, campaign.Ready)); err != nil {
		s.t.Fatal(err)
	}
	return run
}

// template posts what happened to the template promo of a connection's account.
func (s *sending) template(connection, members string, at time.Time) {
	s.t.Helper()
	w := post(s.i, serviceEvent("template.status", connection, `{"name":"promo","language":"en-US",`+members+`}`, at))
	if w.Code != http.StatusNoContent {
		s.t.Fatalf("answered %d to %s, want 204", w.Code, members)
	}
}

// held returns the campaigns whose runs an intent would not send.
func (s *sending) held() (names []string) {
	s.t.Helper()
	holds, err := s.Holds(s.t.Context(), false)
	if err != nil {
		s.t.Fatal(err)
	}
	runs, err := s.Runs(s.t.Context(), campaign.RunFilter{})
	if err != nil {
		s.t.Fatal(err)
	}
	of := map[string]string{"spring": "conn_a1", "summer": "conn_a2", "other": "conn_b", "text": "conn_a1"}
	for _, r := range runs {
		o := clients.Origin(of[r.Campaign])
		o.Template, o.Language, o.Run = r.Template, r.Language, r.ID()
		if _, held := campaign.HeldBy(holds, o, time.Now()); held {
			names = append(names, r.Campaign)
		}
	}
	slices.Sort(names)
	return names
}

func (s *sending) want(when string, names ...string) {
	s.t.Helper()
	if got := s.held(); !slices.Equal(got, names) {
		s.t.Errorf("%s: %v are held, want %v", when, got, names)
	}
}

// The approval of an edited template does not let a run send the values of the old text in the new
// one. An operator does, once and for good.
func TestAnEditHoldsTheRunsLaunchedBefore(t *testing.T) {
	const edited, approved = `"event":"PENDING"`, `"event":"APPROVED"`
	for name, events := range map[string][]string{
		"in order":          {edited, approved},
		"repeated":          {edited, edited, approved, edited, approved},
		"the approval late": {approved, edited},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSending(t)
			spring := s.launch("spring", "conn_a1", "promo")
			s.launch("other", "conn_b", "promo") // of another account
			s.launch("text", "conn_a1", "plain") // with another template
			// The clock of the service may be 5 s behind: the run may have been launched before.
			at := map[string]time.Time{edited: time.Now().Add(-2 * time.Second), approved: time.Now().Add(-time.Second)}
			s.want("before the edit")
			for _, e := range events {
				s.template("conn_a1", e, at[e])
			}
			s.want("after the approval", "spring")
			lift := campaign.Lift{Scope: campaign.HoldRun, ID: spring.ID(), At: time.Now(), By: campaign.HoldByOperator, Who: "ada"}
			ended, err := s.LiftHolds(t.Context(), []campaign.Lift{lift})
			if err != nil || len(ended) != 1 || ended[0].Reason != campaign.TemplateEdited {
				t.Fatalf("lifted %v, %v; want the hold %s", ended, err, campaign.TemplateEdited)
			}
			for _, e := range events {
				s.template("conn_a1", e, at[e])
			}
			s.want("lifted, and the events came again")
		})
	}
}

// A run that is launched after the approval was checked with the new text.
func TestAnEditHoldsNoLaterRun(t *testing.T) {
	s := newSending(t)
	s.launch("summer", "conn_a2", "promo")
	s.template("conn_a1", `"event":"PENDING"`, time.Now().Add(-time.Minute))
	s.template("conn_a1", `"event":"APPROVED"`, time.Now().Add(-time.Second))
	s.want("a run of the minute after the edit")
}

// Opt-outs from marketing count from the event on for the runs of a template that is marketing now.
func TestARunFollowsItsTemplateToMarketing(t *testing.T) {
	s := newSending(t)
	spring, other := s.launch("spring", "conn_a1", "promo"), s.launch("other", "conn_b", "promo")
	marketing := func(no campaign.RunNo) bool {
		t.Helper()
		r, err := s.Run(t.Context(), no)
		if err != nil {
			t.Fatal(err)
		}
		return r.Marketing
	}
	s.template("conn_a1", `"previous_category":"MARKETING","new_category":"UTILITY"`, time.Now())
	s.template("conn_a1", `"previous_category":"UTILITY","new_category":"MARKETING"`, time.Now().Add(-time.Minute))
	if marketing(spring.No) {
		t.Error("an event from before the launch made the run marketing, want no change")
	}
	for range 2 {
		s.template("conn_a1", `"previous_category":"UTILITY","new_category":"MARKETING"`, time.Now())
		if got := [2]bool{marketing(spring.No), marketing(other.No)}; got != [2]bool{true, false} {
			t.Errorf("marketing %v, want the run of the account, and not that of another one", got)
		}
	}
	s.want("after the new category")
}

// A follow-up run of it would send to people who have opted out of marketing since.
func TestAnEndedRunFollowsItsTemplateToMarketing(t *testing.T) {
	s := newSending(t)
	spring, other := s.launch("spring", "conn_a1", "promo"), s.launch("other", "conn_b", "promo")
	for _, r := range []campaign.Run{spring, other} {
		if _, err := s.SetState(t.Context(), r.No, []campaign.State{campaign.Ready}, campaign.Finished, "", ""); err != nil {
			t.Fatal(err)
		}
	}
	s.template("conn_a1", `"event":"PENDING"`, time.Now())
	s.template("conn_a1", `"previous_category":"UTILITY","new_category":"MARKETING"`, time.Now())
	for no, want := range map[campaign.RunNo]bool{spring.No: true, other.No: false} {
		if got, err := s.Run(t.Context(), no); err != nil || got.Marketing != want {
			t.Errorf("%s: got marketing %v and %v, want %v", got.ID(), got.Marketing, err, want)
		}
	}
	holds, err := s.Holds(t.Context(), false)
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range holds {
		if h.Scope == campaign.HoldRun {
			t.Errorf("got the hold %+v, want none of a run that has ended", h)
		}
	}
}

// faultyRuns cannot be read.
type faultyRuns struct{ campaign.Ledger }

func (faultyRuns) Runs(context.Context, campaign.RunFilter) ([]campaign.Run, error) {
	return nil, errors.New("away")
}

// An edit is taken only with the holds that it begins.
func TestAnEditIsRefusedWithoutItsRuns(t *testing.T) {
	m := &memory{}
	i := newIntake(t, m, Options{Runs: faultyRuns{}})
	start(t, i)
	w := post(i, serviceEvent("template.status", "conn_b", `{"name":"promo","language":"en-US","event":"PENDING"}`, noon))
	if got := m.all(); w.Code != http.StatusServiceUnavailable || got.Len() != 0 {
		t.Errorf("answered %d and stored %v, want 503 and nothing", w.Code, short(got))
	}
}
