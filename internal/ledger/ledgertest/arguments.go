package ledgertest

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/internal/ledger"

	"github.com/google/go-cmp/cmp"
)

// A wrong argument is refused with a sentence, and the rest of the same call is not written either.
func aWrongArgumentIsRefusedAndWritesNothing(t *testing.T, l Tables) {
	r := Load(t, l, 4)
	lease := ClaimAll(t, l, r.No)[0]
	mustIntend(t, l, campaign.Intent{Lease: lease, Connection: "conn_1", To: 2})
	importing, err := l.CreateRun(t.Context(), campaign.Run{Campaign: "summer", ListHash: "h"})
	if err != nil {
		t.Fatalf("creating a run: %v; want no error", err)
	}
	no, good := importing.No, Acceptances(lease, 0, 1)[0]
	record := func(change func(r *campaign.Result)) func() error {
		bad := Acceptances(lease, 1, 2)[0]
		change(&bad)
		return func() error { return l.Record(t.Context(), []campaign.Result{good, bad}) }
	}
	intend := func(i campaign.Intent) func() error {
		i.Lease = lease
		return func() error {
			_, err := l.Intend(t.Context(), []campaign.Intent{i})
			return err
		}
	}
	add := func(ds []campaign.Delivery, s campaign.Segment) func() error {
		s.Run = no
		return func() error { return l.AppendRows(t.Context(), no, 0, ds, []campaign.Segment{s}) }
	}
	status := func(e campaign.StatusEvent) func() error {
		return func() error {
			_, err := l.Apply(t.Context(), campaign.Events{Statuses: []campaign.StatusEvent{
				{MessageID: "wamid.other", Status: campaign.Read, At: time.Now()}, e}})
			return err
		}
	}
	far := Rows(1, 2)
	far[0].Seq = ledger.MaxSeq
	before := Rows(0, 1)
	before[0].Seq = -1
	size, at := int64(campaign.SegmentSize), fmt.Sprintf("run %d seq 1: ", r.No)
	for name, c := range map[string]struct {
		call func() error
		want string
	}{
		"AcceptedWithoutID": {record(func(r *campaign.Result) { r.MessageID = "" }), at + "accepted without a message id is a doubt"},
		"ResultOfNoKind":    {record(func(r *campaign.Result) { r.Kind = 99 }), at + "result kind 99"},
		"StatusOfNoKind": {status(campaign.StatusEvent{MessageID: "wamid.x", Status: campaign.Refused}),
			"want sent, delivered, read or failed"},
		"StatusWithoutID": {status(campaign.StatusEvent{Status: campaign.Sent}), "of a message id"},
		"Wanted": {func() error { _, err := l.SetWanted(t.Context(), r.No, "perhaps", ""); return err },
			`wanted "perhaps": want run, pause or cancel`},
		"AnotherConnection": {intend(campaign.Intent{Connection: "conn_2", From: 2, To: 3}),
			"has the connection conn_1 and cannot be sent by conn_2"},
		"SeqTooLow":       {add(before, campaign.Segment{Hi: 1}), "seq -1 is out of range"},
		"SeqTooHigh":      {add(far, campaign.Segment{Hi: 1}), "is out of range"},
		"SegmentTooLarge": {add(Rows(0, 1), campaign.Segment{Hi: size + 1}), "segment 0 covers 0 to 4097, want at most 4096 from 0"},
		"SegmentReversed": {add(Rows(0, 1), campaign.Segment{Index: 1, Lo: size, Hi: size - 1}), "segment 1 covers 4096 to 4095"},
		"SegmentShifted":  {add(Rows(0, 1), campaign.Segment{Index: 1, Lo: size + 1, Hi: size + 2}), "want at most 4096 from 4096"},
		"EndOfImport": {func() error { return l.FinishImport(t.Context(), no, 0, campaign.Running) },
			"an import ends as ready or waiting_approval, not running"},
	} {
		counted := Totals(t, l, r.No)
		if err := c.call(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v; want an error with %q", name, err, c.want)
		}
		if d := cmp.Diff(counted, Totals(t, l, r.No)); d != "" {
			t.Errorf("%s: the totals changed (-before +after), want none:\n%s", name, d)
		}
		if now, err := l.Run(t.Context(), no); err != nil || now.Rows != 0 || now.State != campaign.Importing {
			t.Errorf("%s: the other run has %d rows, is %s, %v; want 0, importing, no error", name, now.Rows, now.State, err)
		}
	}
	var without campaign.Intent
	fresh := Load(t, l, 1)
	without.Lease, without.To = ClaimAll(t, l, fresh.No)[0], 1
	if _, err := l.Intend(t.Context(), []campaign.Intent{without}); err == nil ||
		!strings.Contains(err.Error(), "an intent needs a connection") {
		t.Errorf("an intent of no connection: %v; want an error with %q", err, "an intent needs a connection")
	}
}

// The largest segment and the smallest are both accepted.
func aSegmentMayBeFullOrEmpty(t *testing.T, l Tables) {
	r, err := l.CreateRun(t.Context(), campaign.Run{Campaign: "c", ListHash: "h"})
	if err != nil {
		t.Fatalf("creating a run: %v; want no error", err)
	}
	size := int64(campaign.SegmentSize)
	if err := l.AppendRows(t.Context(), r.No, 0, Rows(0, size), []campaign.Segment{
		{Run: r.No, Hi: size}, {Run: r.No, Index: 1, Lo: size, Hi: size},
	}); err != nil {
		t.Fatalf("appending: %v; want no error", err)
	}
	if err := l.FinishImport(t.Context(), r.No, size, campaign.Ready); err != nil {
		t.Errorf("ending the import: %v; want no error", err)
	}
	Audited(t, l, r.No)
}

// A call that asks for nothing does nothing and returns no error, also for a run that does not
// exist.
func anEmptyCallDoesNothing(t *testing.T, l Tables) {
	if err := l.Record(t.Context(), nil); err != nil {
		t.Errorf("recording nothing: %v; want no error", err)
	}
	if g, err := l.Intend(t.Context(), nil); err != nil || len(g) > 0 {
		t.Errorf("intending nothing: %v, %v; want nothing and no error", g, err)
	}
	if ls, err := l.Renew(t.Context(), nil, time.Hour); err != nil || len(ls) > 0 {
		t.Errorf("renewing nothing: %v, %v; want nothing and no error", ls, err)
	}
	if done, err := l.Apply(t.Context(), campaign.Events{}); err != nil || !cmp.Equal(done, campaign.Applied{}) {
		t.Errorf("applying nothing: %+v, %v; want nothing and no error", done, err)
	}
	if found, _, err := l.Audit(t.Context(), 99, 0); err != nil || len(found) > 0 {
		t.Errorf("an audit of no problems: %v, %v; want nothing and no error", found, err)
	}
	if _, _, err := l.Audit(t.Context(), 99, 1); !errors.Is(err, campaign.ErrNoRun) {
		t.Errorf("an audit of no run: %v; want ErrNoRun", err)
	}
}
