package reporting

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"campaignd/campaign"
)

func audited(t *testing.T, run campaign.Run, m *memory) *AuditResult {
	t.Helper()
	a, err := Audit(context.Background(), m, run)
	if err != nil {
		t.Fatal(err)
	}
	if a.Balanced != (a.Found == 0) || a.Balanced != (len(a.Problems) == 0) {
		t.Fatalf("balanced %v with %d problems found and %d named, want balanced exactly without problems",
			a.Balanced, a.Found, len(a.Problems))
	}
	return a
}

func TestAuditFindsThatTheSumBalances(t *testing.T) {
	run, m := sample()
	a := audited(t, run, m)
	if !a.Balanced || a.Counted != run.Rows || a.Moving {
		t.Errorf("got %+v, want a balanced sum of %d rows that stands still", a, run.Rows)
	}
	var b bytes.Buffer
	if err := a.Text(&b); err != nil {
		t.Fatal(err)
	}
	golden(t, "audit_balanced.txt", b.Bytes())
}

// Totals that contradict the rows are found and named, and nothing else is reported with them.
func TestAuditFindsTotalsThatDiffer(t *testing.T) {
	type problems = []Problem
	sumAs := func(m *memory, change func(map[campaign.Status]int64)) { // totals that differ from the lines
		sum := map[campaign.Status]int64{}
		for _, l := range m.lines {
			sum[l.Status]++
		}
		change(sum)
		m.tallies = []campaign.Tally{}
		for s, n := range sum {
			m.tallies = append(m.tallies, campaign.Tally{Status: s, N: n})
		}
	}
	for name, c := range map[string]struct {
		damage func(*campaign.Run, *memory)
		want   problems
	}{
		"a row lost": {func(_ *campaign.Run, m *memory) { m.lines = slices.Delete(m.lines, 3, 4) }, problems{
			{0, 0, "the totals add up to 15, the list has 16 rows"}}},
		"a row lost, the totals not": {func(_ *campaign.Run, m *memory) {
			sumAs(m, func(map[campaign.Status]int64) {})
			m.lines = m.lines[:15]
		}, problems{{0, 0, "15 deliveries were read, the list has 16 rows"}, {0, 0, "1 row is queued, the totals say 2"}}},
		"a row too many": {func(r *campaign.Run, m *memory) { r.Rows-- }, problems{{0, 0, "the totals add up to 16, the list has 15 rows"}}},
		"a wrong total": {func(_ *campaign.Run, m *memory) {
			sumAs(m, func(sum map[campaign.Status]int64) { sum[campaign.Sent]++; sum[campaign.Read]-- })
		}, problems{{0, 0, "1 row is sent, the totals say 2"}, {0, 0, "1 row is read, the totals say 0"}}},
		"a total too small": {func(_ *campaign.Run, m *memory) {
			sumAs(m, func(sum map[campaign.Status]int64) { sum[campaign.Sent]-- })
		}, problems{{0, 0, "the totals add up to 15, the list has 16 rows"}, {0, 0, "1 row is sent, the totals say 0"}}},
		"a problem the ledger found": {func(_ *campaign.Run, m *memory) {
			m.problems = []campaign.Problem{{Row: 5, Seq: 4, What: "accepted above the mark"}}
		}, problems{{5, 4, "accepted above the mark"}}},
		"rows lost while importing": {func(r *campaign.Run, m *memory) {
			r.State, r.Rows = campaign.Importing, 20
		}, problems{{0, 0, "while importing: 20 rows were stored, the totals then added up to 16 and later to 16, and 16 deliveries were read"}}},
		"fewer rows read than counted while importing": {func(r *campaign.Run, m *memory) {
			r.State, r.Rows = campaign.Importing, 15
			sumAs(m, func(map[campaign.Status]int64) {})
			m.lines = m.lines[:15]
		}, problems{{0, 0, "while importing: 15 rows were stored, the totals then added up to 16 and later to 16, and 15 deliveries were read"},
			{0, 0, "1 row is queued, the totals say 2"}}},
		"more rows read than counted while importing": {func(r *campaign.Run, m *memory) {
			r.State, r.Rows = campaign.Importing, 15
			sumAs(m, func(sum map[campaign.Status]int64) { sum[campaign.Queued]-- })
		}, problems{{0, 0, "while importing: 15 rows were stored, the totals then added up to 15 and later to 15, and 16 deliveries were read"},
			{0, 0, "2 rows are queued, the totals say 1"}}},
	} {
		t.Run(name, func(t *testing.T) {
			run, m := sample()
			c.damage(&run, m)
			if diff := cmp.Diff(c.want, audited(t, run, m).Problems); diff != "" {
				t.Errorf("problems -want +got:\n%s", diff)
			}
		})
	}
}

// Only while a run is imported may rows be missing.
func TestAuditOfEveryLaterStateWantsEveryRow(t *testing.T) {
	for _, state := range []campaign.State{campaign.WaitingApproval, campaign.Ready, campaign.Running, campaign.Paused, campaign.Finished,
		campaign.Cancelled, campaign.RunStateFailed} {
		run, m := sample()
		run.State, m.lines = state, m.lines[:15]
		if a := audited(t, run, m); a.Found != 1 {
			t.Errorf("%s: %d problems found, want 1: %+v", state, a.Found, a.Problems)
		}
	}
}

func TestAuditNamesAtMostAHundredProblems(t *testing.T) {
	if maxProblems != 100 {
		t.Fatalf("maxProblems = %d, want 100", maxProblems)
	}
	run, m := sample()
	m.problems = make([]campaign.Problem, 150)
	if a := audited(t, run, m); a.Found != 150 || len(a.Problems) != 100 {
		t.Errorf("%d of the ledger's 150 were found and %d named, want 150 and 100", a.Found, len(a.Problems))
	}
}

func TestAuditTextNamesRowsAndCountsTheRest(t *testing.T) {
	for found, want := range map[int64]string{
		2: "c-1: the sum does not balance: 3 rows, nothing counted; 2 problems\n  row 1: a\n  run: b\n",
		3: "c-1: the sum does not balance: 3 rows, nothing counted; 3 problems\n  row 1: a\n  run: b\n  and 1 more\n",
	} {
		var b bytes.Buffer
		a := AuditResult{Run: "c-1", Rows: 3, Found: found, Problems: []Problem{{Row: 1, What: "a"}, {What: "b"}}}
		if err := a.Text(&b); err != nil || b.String() != want {
			t.Errorf("got %q, %v, want %q", &b, err, want)
		}
	}
}

func TestAuditOfACleanRunHasAnEmptyJSONList(t *testing.T) {
	run, m := sample()
	b, err := audited(t, run, m).JSON()
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(b), `"problems": []`) {
		t.Errorf("got %s, want an empty list of problems", b)
	}
}

func TestAuditSaysWhatIsWrongAndWhere(t *testing.T) {
	run, m := sample()
	m.lines = slices.Delete(m.lines, 3, 6)
	m.problems = []campaign.Problem{{What: "segment 0 has its mark above its end"}, {Row: 4, What: "rows 4 to 6 have no delivery"},
		{Row: 9, Seq: 8, What: `is skipped for an unknown reason: code "felt like\x1b[31mit"`}}
	var b bytes.Buffer
	if err := audited(t, run, m).Text(&b); err != nil {
		t.Fatal(err)
	}
	golden(t, "audit_unbalanced.txt", b.Bytes())
}

func TestAuditNamesTheFirstHundredAndCountsTheRest(t *testing.T) {
	run, m := sample()
	for i := range int64(299) {
		m.problems = append(m.problems, campaign.Problem{Row: 17 + i, Seq: 16 + i, What: "lies in no segment"})
	}
	a := audited(t, run, m)
	if len(a.Problems) != maxProblems || a.Found != 299 {
		t.Errorf("%d named, %d found; want %d and 299", len(a.Problems), a.Found, maxProblems)
	}
	var b bytes.Buffer
	if err := a.Text(&b); err != nil || !strings.HasSuffix(b.String(), "\n  and 199 more\n") {
		t.Errorf("Text: error %v; want no error and \"and 199 more\" at the end, got\n%s", err, &b)
	}
	j, err := a.JSON()
	if err != nil {
		t.Fatal(err)
	}
	var back AuditResult
	if err := json.Unmarshal(j, &back); err != nil || back.Found != 299 || back.Balanced {
		t.Errorf("JSON: error %v, want 299 found and no balance, got %s", err, j)
	}
}

func TestAProblemIsNamedByItsRowOrTheRun(t *testing.T) {
	a := AuditResult{Run: "spring/1", Rows: 2, Counted: 2, Totals: Totals{campaign.Queued: 2}, Found: 4,
		Problems: []Problem{{What: "a"}, {Row: 1, What: "b"}, {Row: 2, What: "c"}}}
	for found, more := range map[int64]string{3: "", 4: "  and 1 more\n", 5: "  and 2 more\n"} {
		a.Found = found
		var b bytes.Buffer
		err := a.Text(&b)
		_, got, _ := strings.Cut(b.String(), "\n")
		if want := "  run: a\n  row 1: b\n  row 2: c\n" + more; err != nil || !strings.HasSuffix(got, want) {
			t.Errorf("%d found: error %v, got\n%s\nwant its end\n%s", found, err, got, want)
		}
	}
}
