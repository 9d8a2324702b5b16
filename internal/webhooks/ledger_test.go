package webhooks

import (
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/internal/ledger"
	"campaignd/internal/ledger/ledgertest"
	"campaignd/internal/ledger/postgres"
	"campaignd/internal/ledger/sqlite"
)

// A recipient who opts out before the transaction of the intent begins gets no message
// (docs/protocol.md#invariants). The ledger is a real one.
func TestAStopBeforeTheIntentKeepsTheMessageBack(t *testing.T) {
	ctx := t.Context()
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
	run, err := l.CreateRun(ctx, campaign.Run{Campaign: "spring", ListHash: "1", Template: "sale", Language: "en_US", Marketing: true})
	ok(err)
	keys := []int64{15555550100, 15555550101, 15555550102}
	ok(l.AppendRows(ctx, run.No, 0, []campaign.Delivery{
		{Seq: 0, Row: 1, To: "+15555550100", Key: keys[0]}, {Seq: 1, Row: 2, To: "+15555550101", Key: keys[1]},
		{Seq: 2, Row: 3, To: "+15555550102", Key: keys[2]},
	}, []campaign.Segment{{Run: run.No, Hi: 3}}))
	ok(l.FinishImport(ctx, run.No, 3, campaign.Ready))
	leases, err := l.Claim(ctx, campaign.Claim{Owner: "a", Connection: "conn_1", Runs: []campaign.RunNo{run.No}, Max: 1, Lease: time.Minute})
	ok(err)

	i := newIntake(t, l, Options{})
	stop := start(t, i)
	if w := post(i, inbound("+15555550101", "STOP", time.Now())); w.Code != http.StatusNoContent {
		t.Fatalf("answered %d, want 204", w.Code)
	}
	granted, err := l.Intend(ctx, []campaign.Intent{{Lease: leases[0], Connection: "conn_1", From: 0, To: 3, Keys: keys}})
	ok(err)
	if got := granted[0].Skipped; len(got) != 1 || got[1] != campaign.OptedOut {
		t.Fatalf("skipped %v, want seq 1 for %s", got, campaign.OptedOut)
	}

	// A status that comes before its receipt is kept. It finds its delivery when the receipt is
	// written.
	if w := post(i, status(7, "delivered", time.Now())); w.Code != http.StatusNoContent {
		t.Fatalf("answered %d, want 204", w.Code)
	}
	if c := i.Counts(); c.Orphaned != 1 {
		t.Errorf("%d orphans, want 1", c.Orphaned)
	}
	ok(l.Record(ctx, []campaign.Result{{
		Run: run.No, Seq: 0, Connection: "conn_1", Attempt: 1, Kind: campaign.ResultAccepted, At: time.Now().UTC(),
		MessageID: wamid(7),
	}}))
	_, err = l.Sweep(ctx, time.Now().UTC())
	ok(err)
	for line, err := range l.Lines(ctx, run.No) {
		ok(err)
		if line.Seq == 0 && line.Status != campaign.Delivered || line.Seq == 1 && line.Status != campaign.Skipped {
			t.Errorf("row %d is %s, want the first delivered, the second skipped", line.Row, line.Status)
		}
	}
	ok(stop())
}

// 10,000 events of 5,000 messages come at once to a real ledger, in order and in the reverse order.
// After a restart the ledger has each of them and is sound.
func TestTenThousandEventsBalanceAfterARestart(t *testing.T) {
	t.Parallel()
	for _, backwards := range []bool{false, true} {
		const messages, each = 5000, 50
		ctx := t.Context()
		ok := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		file := "sqlite:" + filepath.Join(t.TempDir(), "campaignd.db")
		open := func() campaign.Ledger {
			l, err := ledger.Open(ctx, file, ledger.Options{Sender: true}, sqlite.Open, postgres.Open)
			ok(err)
			return l
		}
		l := open()
		run := ledgertest.Load(t, l, messages)
		for _, lease := range ledgertest.ClaimAll(t, l, run.No) {
			_, err := l.Intend(ctx, []campaign.Intent{{Lease: lease, Connection: "conn_1", From: lease.Lo, To: lease.Hi}})
			ok(err)
			rs := ledgertest.Acceptances(lease, lease.Lo, lease.Hi)
			for i := range rs {
				rs[i].MessageID = wamid(int(rs[i].Seq))
			}
			ok(l.Record(ctx, rs))
			_, err = l.Park(ctx, lease, time.Time{}, func(since time.Time) time.Time { return since })
			ok(err)
		}
		var events []string
		for n := range messages {
			events = append(events, status(n, "sent", noon), status(n, "delivered", noon.Add(time.Second)))
		}
		if backwards {
			slices.Reverse(events)
		}
		i := newIntake(t, l, Options{})
		stop := start(t, i)
		codes := make(chan int, len(events)/each)
		for some := range slices.Chunk(events, each) {
			go func() { codes <- post(i, "["+strings.Join(some, ",")+"]").Code }()
		}
		for range cap(codes) {
			if code := <-codes; code != http.StatusNoContent {
				t.Errorf("backwards %v: answered %d, want 204", backwards, code)
			}
		}
		ok(stop())
		ok(l.Close())
		l = open()
		for line, err := range l.Lines(ctx, run.No) {
			ok(err)
			if line.Status != campaign.Delivered || !line.SentAt.Equal(noon) || !line.DeliveredAt.Equal(noon.Add(time.Second)) {
				t.Fatalf("backwards %v: row %d is %s, sent %v, delivered %v, want delivered with both times", backwards, line.Row,
					line.Status, line.SentAt, line.DeliveredAt)
			}
		}
		problems, _, err := l.Audit(ctx, run.No, 9)
		ok(err)
		tallies, _, err := l.Tallies(ctx, run.No)
		ok(err)
		if want := []campaign.Tally{{Status: campaign.Delivered, N: messages}}; len(problems) != 0 || !slices.Equal(tallies, want) {
			t.Errorf("backwards %v: got the problems %+v and %+v, want no problem and %+v", backwards, problems, tallies, want)
		}
		ok(l.Close())
	}
}
