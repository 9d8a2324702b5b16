package ledgertest

import (
	"cmp"
	"fmt"
	"slices"
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/internal/ledger"
)

const countKept = `SELECT CAST(count(*) AS text) FROM summary WHERE token = 0`

// foldAll keeps the summaries of all segments that have changed, and fails unless it kept want.
func foldAll(t *testing.T, l Tables, want int) {
	t.Helper()
	if n, err := l.FoldSummaries(t.Context(), -time.Hour, 100); err != nil || n != want {
		t.Errorf("kept %d summaries, %v; want %d, no error", n, err, want)
	}
}

// summarized is a run of 12 accepted deliveries whose summary is kept.
func summarized(t *testing.T, l Tables) (*fixture, campaign.Run, campaign.Lease) {
	t.Helper()
	f := &fixture{T: t, l: l, ctx: t.Context()}
	r, s := f.begun(20, 12)
	var rs []campaign.Result
	for seq := range int64(12) {
		rs = append(rs, acceptance(s, seq))
	}
	f.record(rs...)
	foldAll(t, l, 1)
	return f, r, s
}

// A report adds up summaries: a row that a test changes behind the back of the ledger is not seen.
func aQuietSegmentIsCountedByItsSummary(t *testing.T, l Tables) {
	f, r, s := summarized(t, l)
	alter(t, l, `UPDATE outcome SET state = 6 /* refused */`)
	f.counted(r.No, map[campaign.Status]int64{campaign.Accepted: 12, campaign.Queued: 8})
	alter(t, l, `UPDATE outcome SET state = 5 /* accepted */`)
	foldAll(t, l, 0)
	f.apply(event(messageID(r.No, 3), key(3), campaign.Read, at(9)))
	f.counted(r.No, map[campaign.Status]int64{campaign.Accepted: 11, campaign.Read: 1, campaign.Queued: 8})
	foldAll(t, l, 1)
	f.sent(s, 12, 15) // the mark tells that the summary is old
	f.counted(r.No, map[campaign.Status]int64{campaign.Accepted: 11, campaign.Read: 1, campaign.Sending: 3, campaign.Queued: 5})
}

// A change that the ledger was not told of leaves a summary that is wrong: the check that the suite
// makes finds it, and so does the audit.
func aForgottenChangeIsFound(t *testing.T, l Tables) {
	f, r, _ := summarized(t, l)
	f.apply(event(messageID(r.No, 3), key(3), campaign.Read, at(9)))
	if _, wrong, err := Differs(t.Context(), l, r.No); wrong != "" || err != nil {
		t.Fatalf("%v %s; want no difference", err, wrong)
	}
	alter(t, l, `DELETE FROM changed`)
	if _, wrong, err := Differs(t.Context(), l, r.No); wrong == "" || err != nil {
		t.Errorf("%v; want that the summary differs from its lines", err)
	}
	want := []campaign.Problem{{What: "the summary of segment 0 is not what its rows add up to"}}
	if got, counts, err := l.Audit(t.Context(), r.No, 10); err != nil || !slices.Equal(got, want) || counts.Summaries != 1 {
		t.Errorf("audit of %d summaries found %+v, %v; want %+v of 1, no error", counts.Summaries, got, err, want)
	}
}

// A damaged ledger may have an outcome without a delivery. It is still of the run.
func aSummaryCountsOutcomesWithoutDeliveries(t *testing.T, l Tables) {
	f, r, _ := summarized(t, l)
	alter(t, l, fmt.Sprintf(`DELETE FROM delivery WHERE rid = %d`, ledger.RowID(r.No, 3)))
	alter(t, l, `UPDATE summary SET token = 77`)
	foldAll(t, l, 1)
	f.counted(r.No, map[campaign.Status]int64{campaign.Accepted: 12, campaign.Queued: 8})
}

// A process that dies while it counts leaves a token, and has removed the segment from those that
// have changed.
func whatADeadProcessCountedIsCountedAgain(t *testing.T, l Tables) {
	f, r, _ := summarized(t, l)
	alter(t, l, `UPDATE summary SET token = 77`)
	f.counted(r.No, map[campaign.Status]int64{campaign.Accepted: 12, campaign.Queued: 8})
	if n := stored(t, l, countKept); n != "0" {
		t.Errorf("%s summaries are kept; want 0", n)
	}
	foldAll(t, l, 1)
	if n := stored(t, l, countKept); n != "1" {
		t.Errorf("%s summaries are kept; want 1", n)
	}
}

// A segment is left alone until its first change is old enough: 5 times as old while it has rows
// to send, also before the first of them is sent.
func aSegmentIsCountedOnceItIsQuiet(t *testing.T, l Tables) {
	f, r, _ := summarized(t, l)
	for i, c := range []struct {
		age  time.Duration
		done bool
		want int
	}{{0, false, 0}, {4 * time.Minute, false, 0}, {6 * time.Minute, false, 1}, {0, true, 0}, {2 * time.Minute, true, 1}} {
		f.apply(event(messageID(r.No, int64(i)), key(int64(i)), campaign.Read, at(9)))
		alter(t, l, fmt.Sprintf(`UPDATE changed SET at = %d`, ledger.Millis(time.Now().Add(-c.age))))
		alter(t, l, fmt.Sprintf(`UPDATE segment SET done = %t`, c.done))
		if n, err := l.FoldSummaries(t.Context(), time.Minute, 100); err != nil || n != c.want {
			t.Errorf("kept %d summaries of a segment (done: %t) that changed %s ago, %v; want %d", n, c.done, c.age, err, c.want)
		}
		foldAll(t, l, 1-c.want)
		if !c.done { // what was not sent of a segment that is done is counted as in doubt
			f.summed(r.No)
		}
	}
	alter(t, l, fmt.Sprintf(`INSERT INTO changed (segment, at) SELECT id, %d FROM segment`, ledger.Millis(time.Now().Add(-4*time.Minute))))
	alter(t, l, `UPDATE segment SET mark = lo, done = false`)
	if n, err := l.FoldSummaries(t.Context(), time.Minute, 100); err != nil || n != 0 {
		t.Errorf("kept %d summaries of a segment of which nothing is sent yet, %v; want 0", n, err)
	}
}

// A run that sends need not wait until the segments of a long list are counted that nobody has sent
// from, and neither do they wait for the run.
func newsIsCountedBeforeImportedLists(t *testing.T, l Tables) {
	f := &fixture{T: t, l: l, ctx: t.Context()}
	r := f.create()
	const segments = 12
	for i := range int64(segments) {
		lo := i * campaign.SegmentSize
		d := campaign.Delivery{Seq: lo, Row: i + 1, To: fmt.Sprintf("+%d", key(lo)), Key: key(lo), Cells: []string{"name", "x"}}
		f.ok(f.l.AppendRows(f.ctx, r.No, i, []campaign.Delivery{d}, []campaign.Segment{{Run: r.No, Index: i, Lo: lo, Hi: lo + 1}}))
	}
	f.ok(f.l.FinishImport(f.ctx, r.No, segments, campaign.Ready))
	alter(t, l, `DELETE FROM changed`)
	alter(t, l, `INSERT INTO changed (segment, at) SELECT id, 1 FROM segment /* as an import leaves it */`)
	leases := f.claim(r.No, long, segments)
	slices.SortFunc(leases, func(a, b campaign.Lease) int { return cmp.Compare(a.Lo, b.Lo) })
	kept := func(most int) (index []int64) {
		t.Helper()
		before := stored(t, l, countKept)
		if n, err := l.FoldSummaries(t.Context(), -time.Hour, most); err != nil || n != most {
			t.Errorf("kept %d summaries, %v; want %d beside %s, no error", n, err, most, before)
		}
		for i := range int64(segments) {
			if stored(t, l, fmt.Sprintf(`SELECT CAST(count(*) AS text) FROM summary WHERE token = 0 AND segment = %d`,
				ledger.SegmentKey(r.No, i))) == "1" {
				index = append(index, i)
			}
		}
		return index
	}
	send := func(s campaign.Lease) {
		f.sent(s, s.Lo, s.Lo+1)
		f.record(acceptance(s, s.Lo))
	}
	send(leases[9])
	if got, want := kept(1), []int64{9}; !slices.Equal(got, want) {
		t.Errorf("after a message of segment 9: counted %d; want %d", got, want)
	}
	for _, i := range []int{2, 3, 4, 5, 6, 7, 8} {
		send(leases[i])
	}
	if got, want := kept(5), []int64{0, 2, 3, 4, 5, 9}; !slices.Equal(got, want) {
		t.Errorf("after messages of segments 2 to 8: counted %d; want %d", got, want)
	}
}

// Rows that retention deleted are still counted by connection, country and time.
func aSummaryOutlivesItsRows(t *testing.T, l Tables) {
	f, r, s := summarized(t, l)
	f.done(f.l.SkipQueued(f.ctx, s, campaign.Expired))
	f.done(f.l.Park(f.ctx, s, time.Time{}, After(0)))
	f.done(f.l.FinishRuns(f.ctx))
	f.apply(event(messageID(r.No, 3), key(3), campaign.Delivered, at(9)))
	before := f.summed(r.No)
	if n, err := l.Retire(t.Context(), time.Now().Add(time.Hour)); err != nil || n != 20 {
		t.Fatalf("deleted %d rows, %v; want 20, no error", n, err)
	}
	after, err := l.Summary(t.Context(), r.No)
	f.ok(err)
	if before.At = after.At; differ(before, after) != "" {
		t.Errorf("summary before and after the deletion (-want +got):\n%s", differ(before, after))
	}
	foldAll(t, l, 0)
}
