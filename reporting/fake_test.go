package reporting

import (
	"bytes"
	stdcmp "cmp"
	"context"
	"flag"
	"iter"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"campaignd/campaign"
)

var update = flag.Bool("update", false, "write the golden files instead of comparing with them")

// memory is a ReportLedger over a slice of lines. A test can make its parts contradict each other.
type memory struct {
	campaign.ReportLedger
	lines     []campaign.Line
	tallies   []campaign.Tally // nil: counted from lines
	funnel    *campaign.Funnel // nil: counted from lines
	problems  []campaign.Problem
	segments  []campaign.SegmentState
	responses *campaign.Responses
	failAt    int            // Lines fails with fail after this many lines
	fail      error          // with failAt 0, every method fails with it
	between   func(read int) // called after each audit of the lines
	reads     int            // how many audits there were
}

func (m *memory) Responses(context.Context, campaign.RunNo) (*campaign.Responses, error) {
	return m.responses, nil
}

func (m *memory) SegmentStates(context.Context, campaign.RunNo) ([]campaign.SegmentState, error) {
	return m.segments, nil
}

func (m *memory) Tallies(context.Context, campaign.RunNo) ([]campaign.Tally, campaign.Funnel, error) {
	if m.fail != nil && m.failAt == 0 {
		return nil, campaign.Funnel{}, m.fail
	}
	if m.tallies != nil {
		return m.tallies, *stdcmp.Or(m.funnel, &campaign.Funnel{}), nil
	}
	type group struct {
		s campaign.Status
		r string
	}
	counts := map[group]int64{}
	var f campaign.Funnel
	for _, l := range m.lines {
		g := group{l.Status, l.Reason}
		if l.Status == campaign.Failed || l.Status == campaign.Refused {
			g.r = l.Code
		}
		counts[g]++
		add := func(n *int64, yes bool) {
			if yes {
				*n++
			}
		}
		add(&f.Accepted, l.MessageID != "")
		add(&f.Sent, !l.SentAt.IsZero() || !l.DeliveredAt.IsZero() || !l.ReadAt.IsZero())
		add(&f.Delivered, !l.DeliveredAt.IsZero() || !l.ReadAt.IsZero())
		add(&f.Read, !l.ReadAt.IsZero())
		add(&f.Failed, !l.FailedAt.IsZero())
		add(&f.Adopted, l.Adopted)
	}
	if m.funnel != nil {
		f = *m.funnel
	}
	var tallies []campaign.Tally
	for g, n := range counts {
		tallies = append(tallies, campaign.Tally{Status: g.s, Reason: g.r, N: n})
	}
	return tallies, f, nil
}

func (m *memory) Lines(context.Context, campaign.RunNo) iter.Seq2[campaign.Line, error] {
	return func(yield func(campaign.Line, error) bool) {
		for i := range m.lines {
			if m.fail != nil && i == m.failAt {
				yield(campaign.Line{}, m.fail)
				return
			}
			if !yield(m.lines[i], nil) {
				return
			}
		}
	}
}

func (m *memory) SelectLines(_ context.Context, _ campaign.RunNo, f campaign.LineFilter, _ int64, n int) (page []campaign.Line, _ int64,
	_ error) {
	for i := range m.lines {
		if f.Selects(&m.lines[i]) && len(page) < n {
			page = append(page, m.lines[i])
		}
	}
	return page, 0, nil
}

func (m *memory) Audit(_ context.Context, _ campaign.RunNo, limit int) ([]campaign.Problem, campaign.AuditCounts, error) {
	m.reads++
	counts := campaign.AuditCounts{Rows: int64(len(m.lines)), Statuses: map[campaign.Status]int64{}, Problems: int64(len(m.problems))}
	for i := range m.lines {
		counts.Statuses[m.lines[i].Status]++
	}
	if m.between != nil {
		m.between(m.reads)
	}
	return m.problems[:min(limit, len(m.problems))], counts, nil
}

var start = time.Date(2026, 9, 21, 14, 13, 20, 0, time.UTC)

func at(seconds float64) time.Time {
	return start.Add(time.Duration(seconds * float64(time.Second)))
}

// sample is a run with a row in every status.
func sample() (campaign.Run, *memory) {
	run := campaign.Run{
		No: 3, Campaign: "spring-sale", ListHash: "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
		ListName: "lists/spring.csv", Header: []string{"phone", "first_name", "status", "discount"},
		Template: "spring_sale", Language: "en_US", Marketing: true, Wanted: campaign.WantRun,
		State: campaign.Running, CreatedAt: start, StartedAt: at(2),
	}
	phone := func(n int64) string {
		return "+1555555" + string('0'+rune(n/1000%10)) + string('0'+rune(n/100%10)) + string('0'+rune(n/10%10)) + string('0'+rune(n%10))
	}
	m := &memory{}
	add := func(l campaign.Line, name, discount string) {
		n := int64(len(m.lines) + 1)
		l.Run, l.Row, l.Seq = run.No, n, n-1
		if l.To == "" {
			l.To, l.Key = phone(100+n), 15555550100+n
		}
		l.Cells = []string{l.To, name, "gold", discount}
		m.lines = append(m.lines, l)
	}
	id := func(n string) string { return "wamid.HBgLMTU1NTU1NTAx" + n }
	sent := campaign.Line{Connection: "conn_1", Attempts: 1, AcceptedAt: at(3.25)}
	with := func(l campaign.Line, change func(*campaign.Line)) campaign.Line { change(&l); return l }

	add(with(sent, func(l *campaign.Line) {
		l.Status, l.MessageID = campaign.Read, id("01")
		l.SentAt, l.DeliveredAt, l.ReadAt, l.Price = at(4), at(5.001), at(300), "regular/marketing"
	}), "Ada", "=SUM(1+1)")
	add(with(sent, func(l *campaign.Line) {
		l.Status, l.MessageID, l.DeliveredAt, l.FailedAt = campaign.Delivered, id("02"), at(6), at(5)
	}), "Zoë, the \"second\"", "-5")
	add(with(sent, func(l *campaign.Line) {
		l.Status, l.MessageID, l.SentAt, l.Price = campaign.Sent, id("03"), at(4), "regular/marketing"
	}), "=cmd|'/C calc'!A0", "+10%")
	add(with(sent, func(l *campaign.Line) { l.Status, l.MessageID, l.Adopted = campaign.Accepted, id("04"), true }), "two\nlines", "@discount")
	add(with(sent, func(l *campaign.Line) {
		l.Status, l.MessageID, l.SentAt, l.FailedAt, l.Code = campaign.Failed, id("05"), at(4), at(9), "131049"
	}), "Eve", "10")
	add(with(sent, func(l *campaign.Line) {
		l.Status, l.MessageID, l.FailedAt, l.Code = campaign.Failed, id("06"), at(9), "131026"
	}), "Mallory", "10")
	add(campaign.Line{Status: campaign.Refused, Connection: "conn_1", Attempts: 1, Code: "send_recipient_permanent"}, "Bob", "15.5")
	add(campaign.Line{Delivery: campaign.Delivery{To: "=1+2"}, Status: campaign.Skipped, Reason: string(campaign.InvalidPhone)}, "Trudy", "")
	add(campaign.Line{Delivery: campaign.Delivery{To: "+15555550101", Key: 15555550101}, Status: campaign.Skipped,
		Reason: string(campaign.Duplicate)}, "Ada", "20")
	add(campaign.Line{Status: campaign.Skipped, Reason: string(campaign.OptedOut)}, "Olivia", "20")
	add(campaign.Line{Status: campaign.Skipped, Reason: string(campaign.OptedOut)}, "Oscar", "20")
	add(campaign.Line{Status: campaign.InDoubt, Connection: "conn_1", Attempts: 1, Reason: "time_out"}, "Ivan", "-1-1")
	add(campaign.Line{Status: campaign.Unknown, Connection: "conn_1", Attempts: 1, Reason: "time_out"}, "Judy", "20")
	add(campaign.Line{Status: campaign.Sending, Connection: "conn_1", Attempts: 1}, "Walter", "20")
	add(campaign.Line{Status: campaign.Queued, Reason: "not before 2026-09-21T14:20:00Z: pair limit"}, "Peggy", "20")
	add(campaign.Line{Status: campaign.Queued}, "Victor", "20")
	run.Rows = int64(len(m.lines))
	return run, m
}

// golden compares got with testdata/golden/name, or writes it with -update.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("..", "testdata", "golden", name)
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs (run the test with -update when the change is meant):\n%s", path, cmp.Diff(string(want), string(got)))
	}
}
