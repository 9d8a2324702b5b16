package reporting

import (
	"context"
	"encoding/csv"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/internal/ledger"
	"campaignd/internal/ledger/postgres"
	"campaignd/internal/ledger/sqlite"
)

// On a real ledger the sum balances after every step of a run, and the table, the JSON and the CSV
// agree.
func TestTheSumBalancesAtEveryStepOfARun(t *testing.T) {
	ctx := context.Background()
	l, err := ledger.Open(ctx, "sqlite:"+filepath.Join(t.TempDir(), "campaignd.db"), ledger.Options{Sender: true}, sqlite.Open, postgres.Open)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	ok := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	run, err := l.CreateRun(ctx,
		campaign.Run{Campaign: "spring", ListHash: "1", Header: []string{"phone", "name"}, Template: "sale", Language: "en_US"})
	ok(err)
	check := func(step string, want map[campaign.Status]int64) {
		t.Helper()
		run, err := l.Run(ctx, run.No)
		ok(err)
		a, err := Audit(ctx, l, run)
		ok(err)
		if !a.Balanced {
			t.Errorf("problems after %s = %+v, want none", step, a.Problems)
		}
		r, err := Build(ctx, l, run)
		ok(err)
		for s, n := range r.Totals {
			if n != want[s] {
				t.Errorf("%s: %d %s, want %d", step, n, s, want[s])
			}
		}
		var out strings.Builder
		ok(WriteCSV(ctx, &out, l, run, nil))
		records, err := csv.NewReader(strings.NewReader(out.String())).ReadAll()
		ok(err)
		counted := map[campaign.Status]int64{}
		for n, record := range records[1:] {
			if record[0] != fmt.Sprint(n+1) {
				t.Errorf("%s: line %d is row %s, want row %d", step, n+1, record[0], n+1)
			}
			counted[campaign.Status(record[3])]++
		}
		for _, s := range campaign.Statuses {
			if counted[s] != want[s] {
				t.Errorf("%s: the export has %d %s, want %d", step, counted[s], s, want[s])
			}
		}
	}

	var rows []campaign.Delivery
	var keys []int64
	for seq := range int64(8) {
		d := campaign.Delivery{Seq: seq, Row: seq + 1, To: fmt.Sprintf("+1555555010%d", seq), Key: 15555550100 + seq, Cells: []string{"x",
			"=1+1"}}
		if seq == 7 {
			d.To, d.Key, d.Skip = "12", 0, campaign.InvalidPhone
		}
		rows, keys = append(rows, d), append(keys, d.Key)
	}
	ok(l.AppendRows(ctx, run.No, 0, rows[:4], []campaign.Segment{{Run: run.No, Hi: 4}}))
	check("half imported", map[campaign.Status]int64{campaign.Queued: 4})
	ok(l.AppendRows(ctx, run.No, 4, rows[4:], []campaign.Segment{{Run: run.No, Hi: 8}}))
	ok(l.FinishImport(ctx, run.No, 8, campaign.Ready))
	check("imported", map[campaign.Status]int64{campaign.Queued: 7, campaign.Skipped: 1})

	leases, err := l.Claim(ctx, campaign.Claim{Owner: "a", Connection: "conn_1", Runs: []campaign.RunNo{run.No}, Max: 1, Lease: time.Minute})
	ok(err)
	granted, err := l.Intend(ctx, []campaign.Intent{{Lease: leases[0], Connection: "conn_1", From: 0, To: 6, Keys: keys[:6]}})
	ok(err)
	if granted[0].To != 6 {
		t.Fatalf("granted %+v, want up to seq 6", granted)
	}
	check("intended", map[campaign.Status]int64{campaign.Queued: 1, campaign.Sending: 6, campaign.Skipped: 1})

	now := time.Now().UTC()
	result := func(seq int64, change func(*campaign.Result)) campaign.Result {
		r := campaign.Result{Run: run.No, Seq: seq, Connection: "conn_1", Attempt: 1, At: now,
			IntentAt: now, Epoch: leases[0].Epoch}
		change(&r)
		return r
	}
	accepted := func(r *campaign.Result) {
		r.Kind, r.MessageID = campaign.ResultAccepted, fmt.Sprint("wamid.M", r.Seq)
	}
	ok(l.Record(ctx, []campaign.Result{
		result(0, accepted), result(1, accepted), result(2, accepted),
		result(3, func(r *campaign.Result) { r.Kind, r.Code = campaign.ResultRefused, "send_recipient_permanent" }),
		result(4, func(r *campaign.Result) { r.Kind, r.Code = campaign.ResultDoubt, "time_out" }),
		result(5, func(r *campaign.Result) {
			r.Kind, r.Code, r.NotBefore = campaign.ResultDeferred, "429", now.Add(time.Hour)
		}),
	}))
	check("answered", map[campaign.Status]int64{campaign.Queued: 2, campaign.Accepted: 3, campaign.Refused: 1,
		campaign.InDoubt: 1, campaign.Skipped: 1})

	event := func(seq int64, s campaign.Status, code string) campaign.StatusEvent {
		return campaign.StatusEvent{MessageID: fmt.Sprint("wamid.M", seq), Connection: "conn_1", Recipient: keys[seq], Status: s,
			Code: code, At: now, ReceivedAt: now}
	}
	_, err = l.Apply(ctx, campaign.Events{Statuses: []campaign.StatusEvent{
		event(0, campaign.Read, ""), event(1, campaign.Failed, "131049"), event(1, campaign.Sent, ""), event(2, campaign.Failed, "131026"),
		event(2, campaign.Delivered, ""),
	}})
	ok(err)
	check("told", map[campaign.Status]int64{
		campaign.Queued: 2, campaign.Read: 1, campaign.Failed: 1, campaign.Delivered: 1, campaign.Refused: 1,
		campaign.InDoubt: 1, campaign.Skipped: 1,
	})
	r, err := Build(ctx, l, run)
	ok(err)
	if r.Failed["131049"] != 1 || r.Refused["send_recipient_permanent"] != 1 || r.Skipped["invalid_phone"] != 1 || r.Funnel.Accepted != 3 {
		t.Errorf("report = %+v, want 131049, send_recipient_permanent, invalid_phone once each, 3 accepted", r)
	}
}
