package operator_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/reception"
	"campaignd/campaign/wording"
	"campaignd/internal/client/resource"
	"campaignd/internal/ledger"
	"campaignd/internal/ledger/ledgertest"
	"campaignd/internal/ledger/sqlite"
	"campaignd/internal/operator"

	"github.com/google/go-cmp/cmp"
)

// A run that goes on before the replay sends to people whose opt-out the ledger lost.
func TestAResumeBeforeTheReplaySaysSo(t *testing.T) {
	l, err := sqlite.Open(t.Context(), t.TempDir()+"/l.db", ledger.Options{Sender: true})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	d := &operator.Session{Ledger: l, By: "ann@desk"}
	run := ledgertest.Load(t, l, 9)
	since := time.Now().Add(-time.Hour).UTC().Truncate(time.Second)
	const warning = "; opt-outs that the ledger lost are not obeyed before `campaignd webhooks replay --since "
	resumed := func(what, want string) {
		t.Helper()
		c, err := d.Resume(t.Context(), run.ID())
		_, said, warned := strings.Cut(c.Sentence, warning)
		if got := strings.TrimSuffix(said, "`"); err != nil || warned != (want != "") || got != want {
			t.Errorf("%s: got %q, %v; want the warning with %q", what, c.Sentence, err, want)
		}
	}
	quarantine := func() {
		t.Helper()
		if _, err := l.Quarantine(t.Context(), 2, nil, since); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := d.Pause(t.Context(), run.ID()); err != nil {
		t.Fatal(err)
	}
	resumed("paused by the operator", "")
	quarantine()
	resumed("after a quarantine", since.Format(time.RFC3339))
	quarantine()
	if err := l.NoteReplay(t.Context(), reception.Span{Since: since, Until: time.Now().Add(time.Minute)}, time.Now(), 0); err != nil {
		t.Fatal(err)
	}
	resumed("after the replay", "")
}

// A run goes on when as many deliveries have come as the service posts again.
func TestAResumeWaitsForTheReplay(t *testing.T) {
	l, err := sqlite.Open(t.Context(), t.TempDir()+"/l.db", ledger.Options{Sender: true})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	d := &operator.Session{Ledger: l, By: "ann@desk"}
	run := ledgertest.Load(t, l, 9)
	since := time.Now().Add(-time.Hour).UTC().Truncate(time.Second)
	if _, err := l.Quarantine(t.Context(), 2, nil, since); err != nil {
		t.Fatal(err)
	}
	if err := l.NoteReplay(t.Context(), reception.Span{Since: since, Until: time.Now().Add(time.Minute)}, time.Now(), 7); err != nil {
		t.Fatal(err)
	}
	lost, err := l.LostTimes(t.Context())
	if err != nil || len(lost) != 1 {
		t.Fatalf("got the lost times %+v and %v, want one", lost, err)
	}
	for _, step := range []struct {
		came int64
		want string
	}{{0, "0 of 7 lost deliveries"}, {6, "6 of 7 lost deliveries"}} {
		if err := l.CountReplayed(t.Context(), lost[0].At, step.came); err != nil {
			t.Fatal(err)
		}
		for verb, do := range map[string]func(context.Context, string) (resource.Controlled, error){"resume": d.Resume, "approve": d.Approve} {
			if _, err := do(t.Context(), run.ID()); !errors.Is(err, campaign.ErrNotNow) || !strings.Contains(err.Error(), step.want) {
				t.Errorf("%s: got %v, want ErrNotNow with %q", verb, err, step.want)
			}
		}
		if r, err := l.Run(t.Context(), run.No); err != nil || r.Reason != campaign.PausedByLedger {
			t.Errorf("got %+v and %v, want it paused by the ledger", r, err)
		}
	}
	later := ledgertest.Load(t, l, 3) // of after the quarantine
	if _, err := d.Pause(t.Context(), later.ID()); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Resume(t.Context(), later.ID()); err != nil {
		t.Errorf("a run of after the quarantine: got %v, want it resumed", err)
	}
	if err := l.CountReplayed(t.Context(), lost[0].At, 1); err != nil {
		t.Fatal(err)
	}
	if c, err := d.Resume(t.Context(), run.ID()); err != nil || c.Run.Wanted != campaign.WantRun || strings.Contains(c.Sentence, "opt-outs") {
		t.Errorf("all have come: got %+v and %v, want it resumed without a warning", c, err)
	}
}

// lostTimes is a ledger with other lost times.
type lostTimes struct {
	campaign.Ledger
	all []reception.LostTime
}

func (l lostTimes) LostTimes(context.Context) ([]reception.LostTime, error) { return l.all, nil }

// A quarantine pauses no run that waits for approval or that an operator paused, so these would
// send before the replay without a word.
func TestARunThatWaitedForAPersonWarnsOfTheLostTime(t *testing.T) {
	l, err := sqlite.Open(t.Context(), t.TempDir()+"/l.db", ledger.Options{Sender: true})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	now := time.Now().UTC().Truncate(time.Second)
	hour := func(n int) time.Time { return now.Add(time.Duration(n) * time.Hour) }
	for i, c := range []struct {
		what string
		lost []reception.LostTime // the newest first; a run begins now
		want time.Time
	}{
		{"no lost time", nil, time.Time{}},
		{"one that is not replayed", []reception.LostTime{{At: hour(2), Since: hour(1)}}, hour(1)},
		{"one that is replayed", []reception.LostTime{{At: hour(2), Since: hour(1), Asked: hour(3)}}, time.Time{}},
		{"one before the run", []reception.LostTime{{At: hour(-1), Since: hour(-2)}}, time.Time{}},
		{"two, the later replayed", []reception.LostTime{{At: hour(4), Since: hour(3), Asked: hour(5)}, {At: hour(2), Since: hour(1)}}, hour(1)},
		{"two", []reception.LostTime{{At: hour(4), Since: hour(3)}, {At: hour(2), Since: hour(1)}}, hour(1)},
	} {
		d := &operator.Session{Ledger: lostTimes{l, c.lost}, By: "ann@desk"}
		run, err := l.CreateRun(t.Context(), campaign.Run{Campaign: "spring", ListHash: c.what, Wanted: campaign.WantRun,
			Definition: []byte("name: spring\nconnections: [conn_1]\ntemplate: {name: sale, language: en_US}\nrecipients: {file: list.csv}\n")})
		if err != nil {
			t.Fatal(err)
		}
		if err := l.FinishImport(t.Context(), run.No, 0, campaign.WaitingApproval); err != nil {
			t.Fatal(err)
		}
		for _, step := range []struct {
			verb string
			do   func(context.Context, string) (resource.Controlled, error)
			want time.Time
		}{{"approve", d.Approve, c.want}, {"pause", d.Pause, time.Time{}}, {"resume", d.Resume, c.want}} {
			want := ""
			if !step.want.IsZero() {
				want = "webhooks replay --since " + step.want.Format(time.RFC3339)
			}
			got, err := step.do(t.Context(), run.ID())
			if err != nil || strings.Contains(got.Sentence, "replay") != (want != "") || !strings.Contains(got.Sentence, want) {
				t.Errorf("case %d, %s, %s: got %q and %v, want the warning %q", i, c.what, step.verb, got.Sentence, err, want)
			}
		}
	}
}

func TestTheHistoryNamesWhoAskedForAChange(t *testing.T) {
	l, err := sqlite.Open(t.Context(), t.TempDir()+"/l.db", ledger.Options{Sender: true})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	run, err := l.CreateRun(t.Context(), campaign.Run{Campaign: "spring", Wanted: campaign.WantRun, LaunchedBy: "key 3f (desk)",
		Definition: []byte("name: spring\nconnections: [conn_1]\ntemplate: {name: sale, language: en_US}\nrecipients: {file: list.csv}\n")})
	if err != nil {
		t.Fatal(err)
	}
	if err := l.FinishImport(t.Context(), run.No, 0, campaign.WaitingApproval); err != nil {
		t.Fatal(err)
	}
	session := func(by string) *operator.Session { return &operator.Session{Ledger: l, By: by} }
	type asks func(d *operator.Session) (resource.Controlled, error)
	ask := func(what func(*operator.Session, context.Context, string) (resource.Controlled, error)) asks {
		return func(d *operator.Session) (resource.Controlled, error) { return what(d, t.Context(), run.ID()) }
	}
	rate := 12.0
	if _, err := session("key 3f (desk)").ChangeLimits(t.Context(), run.ID(), campaign.LimitChange{Rate: &rate}); err != nil {
		t.Fatal(err)
	}
	for _, a := range []struct {
		by  string
		ask asks
	}{
		{"key 4a (lead)", ask((*operator.Session).Approve)}, {"ann@desk", ask((*operator.Session).Pause)},
		{"key 3f (desk)", ask((*operator.Session).Resume)}, {"key 4a (lead)", ask((*operator.Session).Cancel)},
	} {
		if _, err := a.ask(session(a.by)); err != nil {
			t.Fatal(err)
		}
	}
	h, err := l.History(t.Context(), run.No)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range wording.Story(h, run) {
		got = append(got, s.Sentence)
	}
	want := []string{"launched by key 3f (desk)", "it waited for its approval",
		"its limits were changed by key 3f (desk): 12 messages per second",
		"approved by key 4a (lead)", "paused by ann@desk", "resumed by key 3f (desk)", "cancelled by key 4a (lead)"}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("history (-want +got):\n%s", d)
	}
}
