package operator_test

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/file"
	"campaignd/campaign/launch"
	"campaignd/campaign/wording"
	"campaignd/internal/ledger"
	"campaignd/internal/ledger/sqlite"
	"campaignd/internal/operator"
	"campaignd/recipients"
	"campaignd/reporting"
)

// briefly is a ledger whose jobs have short leases.
type briefly struct{ campaign.Ledger }

func (l briefly) AcquireJob(ctx context.Context, name, owner string, _ time.Duration) (campaign.JobLease, bool, error) {
	return l.Ledger.AcquireJob(ctx, name, owner, time.Millisecond)
}

func (l briefly) RenewJob(ctx context.Context, lease campaign.JobLease, _ time.Duration) (campaign.JobLease, error) {
	return l.Ledger.RenewJob(ctx, lease, time.Millisecond)
}

// canarySent sends the canary of 60 rows of a run of 61. If reported, events report them delivered.
func canarySent(t *testing.T, l campaign.Ledger, reported bool) campaign.Run {
	t.Helper()
	run, err := l.CreateRun(t.Context(), campaign.Run{Campaign: "spring", ListHash: "x", Template: "a", Language: "en",
		Definition: []byte("name: spring\nconnections: [conn_1]\ntemplate: {name: a, language: en}\npolicies: {canary: {count: 60}}\n")})
	if err != nil {
		t.Fatal(err)
	}
	var rows []campaign.Delivery
	for i := range int64(61) {
		to := fmt.Sprintf("+2348030000%03d", i)
		rows = append(rows, campaign.Delivery{Seq: i, Row: i + 2, Key: recipients.Key(to), To: to})
	}
	rows[60].Seq = campaign.SegmentSize
	segments := []campaign.Segment{{Run: run.No, Hi: 60},
		{Run: run.No, Index: 1, Lo: campaign.SegmentSize, Hi: campaign.SegmentSize + 1, AfterCanary: true}}
	if err := l.AppendRows(t.Context(), run.No, 0, rows, segments); err != nil {
		t.Fatal(err)
	}
	if err := l.FinishImport(t.Context(), run.No, 61, campaign.Ready); err != nil {
		t.Fatal(err)
	}
	leases, err := l.Claim(t.Context(), campaign.Claim{Owner: "a", Connection: "conn_1", Runs: []campaign.RunNo{run.No}, Max: 1,
		Lease: time.Minute})
	if err != nil || len(leases) != 1 {
		t.Fatalf("got %d segments, %v; want 1", len(leases), err)
	}
	if _, err := l.Intend(t.Context(), []campaign.Intent{{Lease: leases[0], Connection: "conn_1", To: 60}}); err != nil {
		t.Fatal(err)
	}
	var results []campaign.Result
	var events campaign.Events
	now := time.Now()
	for i := range int64(60) {
		id := fmt.Sprint("wamid.", i)
		results = append(results, campaign.Result{Run: run.No, Seq: i, Connection: "conn_1", Attempt: 1, Kind: campaign.ResultAccepted, At: now,
			MessageID: id})
		events.Suppressions = append(events.Suppressions, campaign.NewSuppression(rows[i].Key, rows[i].To, campaign.ScopeMarketing, "stop",
			now.Add(time.Second)))
		if reported {
			events.Statuses = append(events.Statuses, campaign.StatusEvent{MessageID: id, Connection: "conn_1", Status: campaign.Delivered,
				At: now, ReceivedAt: now})
		}
	}
	if err := l.Record(t.Context(), results); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Apply(t.Context(), events); err != nil {
		t.Fatal(err)
	}
	if run, err = l.Run(t.Context(), run.No); err != nil {
		t.Fatal(err)
	}
	return run
}

// said returns the words about the canary of a run, its opt-outs and its messages.
func said(t *testing.T, reported bool) map[string]string {
	t.Helper()
	db, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "test.db"), ledger.Options{Sender: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	l := briefly{db}
	d := &operator.Session{Ledger: l, Origins: func(context.Context, []campaign.Hold) func(string) campaign.Origin { return nil }}
	run := canarySent(t, l, reported)
	all := map[string]string{}
	w, err := d.Why(t.Context(), run.ID())
	if err != nil {
		t.Fatal(err)
	}
	all["why"], all["whether"] = w.Sentence, w.NoEvents
	policy := &file.Canary{Count: 60, MaxFailed: 0.05, MinDelivered: 0.5, Wait: campaign.Duration(time.Millisecond)}
	v := launch.CanaryVerdict{}
	for end := time.Now().Add(time.Minute); v.Sentence == "" && time.Now().Before(end); time.Sleep(2 * time.Millisecond) {
		if v, err = launch.CheckCanary(t.Context(), l, run, policy, "a"); err != nil {
			t.Fatal(err)
		}
	}
	all["canary"] = v.Sentence
	h, err := d.History(t.Context(), run.ID())
	if err != nil {
		t.Fatal(err)
	}
	story := wording.Story(h, run)
	all["history"] = story[len(story)-1].Sentence
	optOuts, err := launch.CheckOptOuts(t.Context(), l, run, 0.1, 0, "a")
	if err != nil {
		t.Fatal(err)
	}
	all["opt-outs"], _, _ = strings.Cut(strings.Replace(optOuts.Sentence, run.StartedAt.UTC().Format(time.RFC3339), "THEN", 1), ";")
	r, err := d.Report(t.Context(), run.ID())
	if err != nil {
		t.Fatal(err)
	}
	all["report"] = r.NoEvents
	write, err := d.ReportHTML(t.Context(), run.ID(), false)
	if err != nil {
		t.Fatal(err)
	}
	var page bytes.Buffer
	if err := write(&page); err != nil {
		t.Fatal(err)
	}
	_, lede, _ := strings.Cut(page.String(), "<strong>")
	all["page"], _, _ = strings.Cut(lede, "</strong>")
	return all
}

// The platform may hold messages for an hour without a word, and webhooks may not arrive at all.
func TestNothingUnseenIsCalledGood(t *testing.T) {
	for reported, want := range map[bool]map[string]string{
		true: {
			"why": "1 row waits for the verdict on its canary (60 of the 60 accepted messages were reported delivered), which " +
				"`campaignd serve` or `run` gives when policies.canary.wait is over and as many were delivered as " +
				"policies.canary.min_delivered wants, or an hour later",
			"canary":   "0 of 60 failed, 60 of the 60 accepted were reported delivered",
			"history":  "the other rows were released after the canary: 0 of 60 failed, 60 of the 60 accepted were reported delivered",
			"opt-outs": "60 of the 60 recipients to whom it delivered since THEN opted out: 100.0 %, and at most 10.0 % may",
			"page":     "60 people got the message so far",
		},
		false: {
			"why": "1 row waits for the verdict on its canary (0 of the 60 accepted messages were reported delivered), which " +
				"`campaignd serve` or `run` gives when policies.canary.wait is over and as many were delivered as " +
				"policies.canary.min_delivered wants, or an hour later",
			"whether": "no event has come about the 60 accepted messages, so nobody knows what was delivered",
			"canary": "only 0 of the 60 accepted messages of its canary were reported delivered within 1h0m0.001s after the last answer, " +
				"and at least 50.0 % must be (policies.canary.min_delivered); no event has come about 60 of them; resume sends the other 1",
			"history": "paused after its canary: only 0 of the 60 accepted messages of its canary were reported delivered within " +
				"1h0m0.001s after the last answer, and at least 50.0 % must be (policies.canary.min_delivered); no event has come about 60 " +
				"of them; resume sends the other 1",
			"opt-outs": "60 recipients opted out since THEN, and no delivery was reported, so it is not known of how many",
			"report":   "no event has come about the 60 accepted messages, so nobody knows what was delivered",
			"page":     "No delivery was reported",
		},
	} {
		got := said(t, reported)
		for what := range got {
			t.Run(fmt.Sprint(reported, "/", what), func(t *testing.T) {
				if got[what] != want[what] {
					t.Errorf("got %q, want %q", got[what], want[what])
				}
			})
		}
	}
	if got, want := wording.Unseen(60, 7, true), "no event has come about 7 of the 60 accepted messages, so nobody knows whether they "+
		"were delivered"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	var table bytes.Buffer
	if err := (&reporting.Report{NoEvents: "no event"}).Table(&table, 0); err != nil || !strings.Contains(table.String(), "no event") {
		t.Errorf("%v, got the table %q, want one with NoEvents", err, table.String())
	}
}
