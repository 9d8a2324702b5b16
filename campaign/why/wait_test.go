package why

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/wording"
)

// queued is a ledger of one run with so many queued rows in segments of ten.
type queued struct {
	held
	lines      []campaign.Line
	suppressed []campaign.Suppression
}

func (q queued) SuppressionsOf(_ context.Context, key int64) (all []campaign.Suppression, err error) {
	for _, s := range q.suppressed {
		if s.Key == key {
			all = append(all, s)
		}
	}
	return all, q.err("suppressions")
}

func (q queued) RepeatsOf(_ context.Context, no campaign.RunNo, seq int64) ([]campaign.Repeat, error) {
	return []campaign.Repeat{{Run: no, Seq: seq, Other: 7, OtherSeq: 1}, {Run: no, Seq: seq, Other: 9, OtherSeq: 4}}, q.err("repeats")
}

func (q queued) Run(_ context.Context, no campaign.RunNo) (campaign.Run, error) {
	return campaign.Run{No: no, Campaign: "summer"}, q.err("run")
}

func (q queued) Lines(context.Context, campaign.RunNo) iter.Seq2[campaign.Line, error] {
	return func(yield func(campaign.Line, error) bool) {
		for _, l := range q.lines {
			if !yield(l, q.err("lines")) {
				return
			}
		}
	}
}

func TestWhyCountsTheRowsByWhatTheyWaitFor(t *testing.T) {
	now := time.Date(2026, 11, 21, 5, 0, 0, 0, time.UTC)
	segment := func(i, mark int64, connection string, leased bool, wake time.Duration) campaign.SegmentState {
		s := campaign.SegmentState{Segment: campaign.Segment{Index: i, Lo: 10 * i, Hi: 10*i + 10}, Mark: 10*i + mark, Connection: connection}
		if leased {
			s.LeaseUntil = now.Add(time.Second)
		}
		if wake > 0 {
			s.WakeAt = now.Add(wake)
		}
		return s
	}
	lanes := []campaign.LaneReport{{Connection: "a", LimitedBy: campaign.ByTier, Detail: "full", At: now, Until: now.Add(3 * time.Hour)},
		{Connection: "b", LimitedBy: campaign.ByThroughput, At: now}}
	segments := []campaign.SegmentState{segment(0, 4, "a", true, 0), segment(1, 0, "b", true, 0), segment(2, 0, "", false, time.Hour),
		segment(3, 0, "", false, time.Hour), segment(4, 10, "b", false, time.Minute), segment(5, 0, "", false, 0), segment(6, 9, "", true, 0)}
	for _, c := range []struct {
		name   string
		run    campaign.Run
		lanes  []campaign.LaneReport
		queued int64
		cap    int64 // of them, queued again for frequency_cap
		want   string
	}{
		{"each segment for its own", campaign.Run{State: campaign.Running}, lanes, 49, 0,
			"11 throughput , 10 throughput b, 2 retry 1m0s, 20 window 1h0m0s, 6 tier 3h0m0s"},
		{"all lanes at a standstill", campaign.Run{State: campaign.Running}, lanes[:1], 49, 0,
			"10 throughput b, 2 retry 1m0s, 20 window 1h0m0s, 11 tier 3h0m0s, 6 tier 3h0m0s"},
		{"all lanes at the run's own rate", campaign.Run{State: campaign.Running}, []campaign.LaneReport{{Connection: "b",
			LimitedBy: campaign.ByRunRate, At: now}}, 49, 0, "11 run_rate , 10 run_rate b, 6 throughput a, 2 retry 1m0s, 20 window 1h0m0s"},
		{"without a sender", campaign.Run{State: campaign.Running}, nil, 46, 0, "10 throughput b, 10 none , 6 throughput a, 20 window 1h0m0s"},
		{"a recipient at its cap", campaign.Run{State: campaign.Running}, lanes, 49, 1,
			"11 throughput , 10 throughput b, 1 frequency_cap 1m0s, 1 retry 1m0s, 20 window 1h0m0s, 6 tier 3h0m0s"},
		{"a paused run", campaign.Run{State: campaign.Paused}, lanes, 49, 0, "49 pause "},
		{"an ended run", campaign.Run{State: campaign.Finished}, lanes, 49, 0, ""},
		{"nothing queued", campaign.Run{State: campaign.Running}, lanes, 0, 0, ""},
	} {
		c.run.No, c.run.Campaign, c.run.Rows = 1, "spring", 60
		tallies := []campaign.Tally{{Status: campaign.Queued, N: c.queued - c.cap}, {Status: campaign.Queued,
			Reason: string(campaign.ByFrequencyCap), N: c.cap}}
		w, err := Explain(t.Context(), held{tallies, c.lanes, segments, ""}, c.run, Holds{}, now)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, one := range w.Waits {
			when := one.Connection
			if !one.Until.IsZero() {
				when = one.Until.Sub(now).String()
			}
			got = append(got, fmt.Sprintf("%d %s %s", one.Rows, one.For, when))
		}
		if strings.Join(got, ", ") != c.want {
			t.Errorf("%s: got %q, want %q", c.name, strings.Join(got, ", "), c.want)
		}
	}
}

// A segment that no connection has begun is parked while its sender's connection waits for a limit.
// The lane of the other connection has nothing to do meanwhile.
func TestAParkedSegmentWaitsForNoWindow(t *testing.T) {
	now := time.Date(2026, 11, 21, 5, 0, 0, 0, time.UTC)
	lanes := []campaign.LaneReport{{Connection: "a", LimitedBy: campaign.ByRamp, At: now, Until: now.Add(3 * time.Hour)},
		{Connection: "b", LimitedBy: campaign.ByNone, At: now}}
	segments := []campaign.SegmentState{{Segment: campaign.Segment{Hi: 10}, WakeAt: now.Add(campaign.BriefPark)}}
	w, err := Explain(t.Context(), held{[]campaign.Tally{{Status: campaign.Queued, N: 10}}, lanes, segments, ""},
		campaign.Run{No: 1, Campaign: "spring", State: campaign.Running, Rows: 10}, Holds{}, now)
	want := []Wait{{For: campaign.ByRamp, Rows: 10, Until: now.Add(3 * time.Hour)}}
	if err != nil || !slices.Equal(w.Waits, want) {
		t.Errorf("got %+v and %v, want %+v", w.Waits, err, want)
	}
}

// The end of a doubt in one segment says nothing of the retries of another, which a sender has.
func TestRetriesWithASenderHaveNoTime(t *testing.T) {
	now := time.Date(2026, 11, 21, 5, 0, 0, 0, time.UTC)
	segments := []campaign.SegmentState{{Segment: campaign.Segment{Hi: 10}, Mark: 10, LeaseUntil: now.Add(time.Second)},
		{Segment: campaign.Segment{Lo: 10, Hi: 20}, Mark: 20, WakeAt: now.Add(40 * time.Minute)}}
	w, err := Explain(t.Context(), held{[]campaign.Tally{{Status: campaign.Queued, N: 2}, {Status: campaign.InDoubt, N: 1}}, nil, segments,
		""},
		campaign.Run{No: 1, Campaign: "spring", State: campaign.Running, Rows: 20}, Holds{}, now)
	if err != nil || len(w.Waits) != 1 || w.Waits[0].For != campaign.ByRetry || w.Waits[0].Rows != 2 || !w.Waits[0].Until.IsZero() {
		t.Errorf("got %+v and %v, want two retries without a time", w.Waits, err)
	}
}

// The ledger keeps such a segment asleep until the year 9999, which is no opening of a window.
func TestRowsAfterACanaryWaitForItsVerdict(t *testing.T) {
	now := time.Date(2026, 11, 21, 5, 0, 0, 0, time.UTC)
	q := queued{held: held{tallies: []campaign.Tally{{Status: campaign.Queued, N: 5}, {Status: campaign.Sending, N: 5}},
		segments: []campaign.SegmentState{{Segment: campaign.Segment{Hi: 5}, Mark: 5, LeaseUntil: now.Add(time.Second)},
			{Segment: campaign.Segment{Lo: 10, Hi: 15, AfterCanary: true}, Mark: 10, WakeAt: time.Date(9999, 12, 30, 0, 0, 0, 0, time.UTC)}},
		lanes: []campaign.LaneReport{{Connection: "a", LimitedBy: campaign.ByThroughput, At: now}}}}
	q.lines = []campaign.Line{{Delivery: campaign.Delivery{Seq: 12, Row: 8, Key: 112}, Status: campaign.Queued}}
	run := campaign.Run{No: 1, Campaign: "spring", State: campaign.Running, Rows: 10}
	w, err := Explain(t.Context(), q, run, Holds{}, now)
	if want := []Wait{{For: campaign.ByPause, Rows: 5}}; err != nil || !slices.Equal(w.Waits, want) {
		t.Errorf("the run: got %+v and %v, want %+v", w.Waits, err, want)
	}
	r, _, err := ExplainRecipient(t.Context(), q, run, Holds{}, 112, now)
	if err != nil || r.LimitedBy != campaign.ByPause || !r.Until.IsZero() {
		t.Errorf("a recipient: got %+v and %v, want a pause without a time", r, err)
	}
}

func TestWhySaysWhatARecipientWaitsFor(t *testing.T) {
	now := time.Date(2026, 11, 21, 5, 0, 0, 0, time.UTC)
	q := queued{held: held{tallies: []campaign.Tally{{Status: campaign.Queued, N: 15}},
		segments: []campaign.SegmentState{{Segment: campaign.Segment{Lo: 0, Hi: 10}, Mark: 5, Connection: "a", WakeAt: now.Add(time.Minute)},
			{Segment: campaign.Segment{Lo: 10, Hi: 20}, Mark: 10, WakeAt: now.Add(time.Hour)}},
		lanes: []campaign.LaneReport{{Connection: "a", LimitedBy: campaign.ByNone, At: now}}}}
	line := func(seq int64, status campaign.Status, reason string) campaign.Line {
		return campaign.Line{Delivery: campaign.Delivery{Seq: seq, Row: seq + 1, Key: 100 + seq}, Status: status, Reason: reason}
	}
	q.lines = []campaign.Line{line(0, campaign.Read, ""), line(4, campaign.Queued, string(campaign.ByPairLimit)), line(1, campaign.Skipped,
		"duplicate"), line(2, campaign.Queued, "throttled"),
		line(3, campaign.InDoubt, "timeout"),
		line(13, campaign.Queued, "")}
	q.lines[2].Key = 113 // of the last row too
	for key, want := range map[int64]string{
		100: "none: row 1 is read",
		102: "retry: row 3 is queued (throttled) and waits for: retry, until 2026-11-21 05:01:00 UTC",
		104: "pair_limit: row 5 is queued (pair_limit) and waits for: pair_limit, until 2026-11-21 05:01:00 UTC",
		103: "doubt: row 4 is in_doubt (timeout) until a webhook proves it sent or its window is over",
		113: "window: row 14 is queued and waits for: window, until 2026-11-21 06:00:00 UTC; 3 rows of its segment go first",
	} {
		w, found, err := ExplainRecipient(t.Context(), q, campaign.Run{No: 1, Campaign: "spring", State: campaign.Running, Rows: 20}, Holds{},
			key, now)
		if got := string(w.LimitedBy) + ": " + w.Sentence; err != nil || !found || got != want {
			t.Errorf("%d: got %q (found: %v, %v), want %q", key, got, found, err, want)
		}
	}
	if _, found, err := ExplainRecipient(t.Context(), q, campaign.Run{No: 1, State: campaign.Running}, Holds{}, 7, now); found || err != nil {
		t.Errorf("a number that is not in the list: got %v, %v, want not found", found, err)
	}
	q.fails = "lines"
	if _, _, err := ExplainRecipient(t.Context(), q, campaign.Run{No: 1, State: campaign.Running}, Holds{}, 100, now); err == nil {
		t.Error("a ledger that cannot be read: got nil, want an error")
	}
}

func TestWhySaysWhoseOptOutSkipsARecipient(t *testing.T) {
	now := time.Date(2026, 11, 21, 5, 0, 0, 0, time.UTC)
	entry := func(key int64, scope campaign.Scope, source, company string) campaign.Suppression {
		return campaign.NewSuppression(key, "", scope, source, now.Add(-time.Hour)).OfCompany(company)
	}
	old := entry(103, campaign.ScopeUnreachable, "refused:131026", "")
	old.Until = now
	q := queued{suppressed: []campaign.Suppression{entry(100, campaign.ScopeAll, "import", ""), entry(101, campaign.ScopeMarketing, "stop",
		""),
		entry(101, campaign.ScopeMarketing, "button", "co_1"), entry(102, campaign.ScopeUnreachable, "failed:131026", ""), old}}
	line := func(seq int64, reason campaign.SkipReason) campaign.Line {
		return campaign.Line{Delivery: campaign.Delivery{Seq: seq, Row: seq + 1, Key: 100 + seq}, Status: campaign.Skipped,
			Reason: string(reason)}
	}
	q.lines = []campaign.Line{line(0, campaign.Suppressed), line(1, campaign.OptedOut), line(2, campaign.Unreachable), line(3,
		campaign.Unreachable), line(4, campaign.Duplicate), line(5, campaign.SentBefore)}
	const since = " since 2026-11-21 04:00:00 UTC, source "
	for key, want := range map[int64]string{
		100: "row 1 is skipped (suppressed): on the suppression list for all companies (all)" + since + "import",
		101: "row 2 is skipped (opted_out): on the suppression list for all companies (marketing)" + since +
			"stop; on the suppression list for company co_1 alone (marketing)" + since + "button",
		102: "row 3 is skipped (unreachable): on the suppression list for all companies (unreachable)" + since +
			"failed:131026, until 2027-02-19 04:00:00 UTC",
		103: "row 4 is skipped (unreachable): its entry was removed from the suppression list since",
		104: "row 5 is skipped (duplicate)",
		105: "row 6 is skipped (sent_before): the recipient is in summer-9, summer-7 too, of the same template",
	} {
		w, found, err := ExplainRecipient(t.Context(), q, campaign.Run{No: 1, State: campaign.Finished}, Holds{}, key, now)
		if err != nil || !found || w.Sentence != want {
			t.Errorf("%d: got %q (found: %v, %v), want %q", key, w.Sentence, found, err, want)
		}
	}
	if w, _, err := ExplainRecipient(t.Context(), q, campaign.Run{No: 1, State: campaign.Finished}, Holds{}, 101, now); err != nil ||
		len(w.Suppressions) != 2 || w.Suppressions[1].Company != "co_1" || w.Suppressions[1].Source != "button" {
		t.Errorf("entries of the opt-out: got %+v (%v), want 2, the last of co_1 by button", w.Suppressions, err)
	}
	q.fails = "suppressions"
	if _, _, err := ExplainRecipient(t.Context(), q, campaign.Run{No: 1, State: campaign.Finished}, Holds{}, 101, now); err == nil {
		t.Error("a list that cannot be read: got nil, want an error")
	}
}

// A stop that comes after the import skips the row at its turn, and an opt-out from marketing skips
// no other message.
func TestWhySaysThatAQueuedRecipientWillBeSkipped(t *testing.T) {
	now := time.Date(2026, 11, 21, 5, 0, 0, 0, time.UTC)
	entry := func(scope campaign.Scope, company string) campaign.Suppression {
		return campaign.NewSuppression(100, "", scope, "stop", now.Add(-time.Hour)).OfCompany(company)
	}
	ended := entry(campaign.ScopeAll, "")
	ended.Until = now
	const stop = "(opted_out): on the suppression list for company co_1 alone (marketing) since 2026-11-21 04:00:00 UTC, source stop"
	for _, c := range []struct {
		entries []campaign.Suppression
		company string // of connection a
		other   bool   // not marketing
		want    string // after "when its turn comes it will be skipped "; "": it will be sent
	}{
		{entries: []campaign.Suppression{entry(campaign.ScopeMarketing, "co_1")}, company: "co_1", want: stop},
		{entries: []campaign.Suppression{entry(campaign.ScopeMarketing, "co_1")}, company: "", want: stop}, // one list for all companies
		{entries: []campaign.Suppression{entry(campaign.ScopeMarketing, "co_1")}, company: "co_2"},
		{entries: []campaign.Suppression{entry(campaign.ScopeMarketing, "co_1")}, company: "co_1", other: true},
		{entries: []campaign.Suppression{ended}, company: "co_1"},
		{entries: []campaign.Suppression{entry(campaign.ScopeMarketing, "co_1"), entry(campaign.ScopeAll, "")}, company: "co_1",
			want: "(suppressed): " + strings.TrimPrefix(stop, "(opted_out): ") +
				"; on the suppression list for all companies (all) since 2026-11-21 04:00:00 UTC, source stop"},
	} {
		q := queued{held: held{tallies: []campaign.Tally{{Status: campaign.Queued, N: 1}},
			segments: []campaign.SegmentState{{Segment: campaign.Segment{Hi: 10}, Connection: "a"}}},
			suppressed: c.entries}
		q.lines = []campaign.Line{{Delivery: campaign.Delivery{Seq: 0, Row: 1, Key: 100}, Status: campaign.Queued, Connection: "a"}}
		origin := func(string) campaign.Origin { return campaign.Origin{Company: c.company} }
		w, found, err := ExplainRecipient(t.Context(), q, campaign.Run{No: 1, State: campaign.Running, Marketing: !c.other},
			Holds{Origin: origin}, 100, now)
		if err != nil || !found {
			t.Fatalf("got found %v and %v, want the row", found, err)
		}
		_, got, _ := strings.Cut(w.Sentence, "; when its turn comes it will be skipped ")
		if got != c.want || (len(w.Suppressions) > 0) != (c.want != "") {
			t.Errorf("%+v: got %q with %d entries, want %q", c, w.Sentence, len(w.Suppressions), c.want)
		}
	}
}

func TestWhySaysWhatLimitsANumber(t *testing.T) {
	now := time.Date(2026, 11, 21, 5, 0, 0, 0, time.UTC)
	hold := campaign.Hold{Scope: campaign.HoldConnection, ID: "a", Reason: "131048", Since: now.Add(-time.Minute), Until: now.Add(time.Hour)}
	manual := campaign.Hold{Scope: campaign.HoldConnection, ID: "a", Reason: "operator", Source: campaign.HoldByOperator,
		Since: now.Add(-time.Minute)}
	origin := func(c string) campaign.Origin { return campaign.Origin{Connection: c, Account: c} }
	l := held{tallies: []campaign.Tally{{Status: campaign.Queued, N: 5}},
		lanes:    []campaign.LaneReport{{Connection: "a", LimitedBy: campaign.ByShare, Detail: "spring-2 goes first", At: now}},
		segments: []campaign.SegmentState{{Segment: campaign.Segment{Hi: 10}, Mark: 5, Connection: "a", LeaseUntil: now.Add(time.Second)}}}
	runs := []campaign.Run{{No: 1, Campaign: "spring", State: campaign.Running, Rows: 10}}
	for _, c := range []struct {
		name string
		runs []campaign.Run
		h    Holds
		want string
	}{
		{"a lane", runs, Holds{Origin: origin}, "share: a: spring-2 goes first"},
		{"a hold", runs, Holds{Holds: []campaign.Hold{hold}, Origin: origin}, "hold: " + wording.Hold(hold, now)},
		{"two holds", runs, Holds{Holds: []campaign.Hold{hold, manual}, Origin: origin}, "hold: " + wording.Hold(manual, now)},
		{"no run", nil, Holds{Origin: origin}, "none: a has nothing to send"},
	} {
		var answers []Answer
		for _, r := range c.runs {
			w, err := Explain(t.Context(), l, r, c.h, now)
			if err != nil {
				t.Fatal(err)
			}
			answers = append(answers, w)
		}
		n := ExplainNumber("a", answers, c.h, now)
		if got := string(n.LimitedBy) + ": " + n.Sentence; got != c.want || len(n.Runs) != len(c.runs) {
			t.Errorf("%s: got %q and %d runs, want %q", c.name, got, len(n.Runs), c.want)
		}
	}
}

// Rows that the import bound wait for their own number, also before it has claimed them.
func TestWhyNamesTheNumberOfBoundRows(t *testing.T) {
	now := time.Date(2026, 11, 21, 5, 0, 0, 0, time.UTC)
	segments := []campaign.SegmentState{
		{Segment: campaign.Segment{Index: 0, Hi: 10, Bound: "a"}, Connection: "a"},
		{Segment: campaign.Segment{Index: 1, Lo: 10, Hi: 15, Bound: "b"}, Mark: 10, Connection: "b"},
		{Segment: campaign.Segment{Index: 2, Lo: 20, Hi: 22}, Mark: 20},
		{Segment: campaign.Segment{Index: 3, Lo: 30, Hi: 33, Bound: "c"}, Mark: 30, Connection: "c", WakeAt: now.Add(time.Hour)},
	}
	for _, c := range []struct {
		lanes []campaign.LaneReport
		want  string
	}{
		{[]campaign.LaneReport{{Connection: "a", LimitedBy: campaign.ByHold, At: now}, {Connection: "b", LimitedBy: campaign.ByNone, At: now}},
			"10 hold a, 5 throughput b, 2 throughput , 3 window "},
		{[]campaign.LaneReport{{Connection: "b", LimitedBy: campaign.ByThroughput, At: now}},
			"12 throughput , 5 throughput b, 3 window "},
		{nil, "17 none , 3 window "},
	} {
		w, err := Explain(t.Context(), held{[]campaign.Tally{{Status: campaign.Queued, N: 20}}, c.lanes, segments, ""},
			campaign.Run{No: 1, Campaign: "spring", State: campaign.Running, Rows: 20}, Holds{}, now)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, one := range w.Waits {
			got = append(got, fmt.Sprintf("%d %s %s", one.Rows, one.For, one.Connection))
		}
		if s := strings.Join(got, ", "); s != c.want {
			t.Errorf("with %d lanes: %s; want %s", len(c.lanes), s, c.want)
		}
	}
}

// What was said of a refused row names its fault; the sentence of its code does not.
func TestARefusedRowShowsWhatWasSaid(t *testing.T) {
	q := queued{held: held{tallies: []campaign.Tally{{Status: campaign.Refused, Reason: "132012", N: 1}}}}
	q.lines = []campaign.Line{{Delivery: campaign.Delivery{Row: 1, Key: 112, Note: "header: expected IMAGE"}, Status: campaign.Refused,
		Code: "132012"}}
	r, found, err := ExplainRecipient(t.Context(), q, campaign.Run{No: 1, Campaign: "spring", State: campaign.Finished, Rows: 1}, Holds{}, 112,
		time.Date(2026, 11, 21, 5, 0, 0, 0, time.UTC))
	if want := "row 1 is refused (132012): header: expected IMAGE"; err != nil || !found || !strings.Contains(r.Sentence, want) {
		t.Errorf("got %q (%v), want %q in it", r.Sentence, err, want)
	}
}
