package reporting

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"campaignd/campaign"
)

func audited(t *testing.T, run campaign.Run, m *memory) *AuditResult {
	t.Helper()
	a, err := Audit(context.Background(), m, run)
	if err != nil {
		t.Fatal(err)
	}
	if a.Balanced != (a.Found == 0) || a.Balanced != (len(a.Problems) == 0) {
		t.Fatalf("balanced %v with %d problems found, %d named", a.Balanced, a.Found, len(a.Problems))
	}
	return a
}

func TestAuditFindsThatTheSumBalances(t *testing.T) {
	run, m := sample()
	a := audited(t, run, m)
	if !a.Balanced || a.Counted != run.Rows || a.Moving {
		t.Errorf("got %+v", a)
	}
	var b bytes.Buffer
	if err := a.Text(&b); err != nil {
		t.Fatal(err)
	}
	golden(t, "audit_balanced.txt", b.Bytes())
}

func TestAuditCatchesEachPlantedFault(t *testing.T) {
	for name, c := range map[string]struct {
		plant func(*campaign.Run, *memory)
		row   int64
		what  string
	}{
		"a row lost": {func(_ *campaign.Run, m *memory) { m.lines = slices.Delete(m.lines, 3, 4) }, 4, "no delivery"},
		"rows lost":  {func(_ *campaign.Run, m *memory) { m.lines = slices.Delete(m.lines, 3, 6) }, 4, "rows 4 to 6 have no delivery"},
		"the last row lost": {func(_ *campaign.Run, m *memory) { m.lines = m.lines[:len(m.lines)-1] }, 16,
			"no delivery"},
		"a row twice": {func(_ *campaign.Run, m *memory) {
			l := m.lines[9]
			l.Seq = 99
			m.lines = slices.Insert(m.lines, 10, l)
		}, 10, "twice"},
		"a row too many": {func(r *campaign.Run, m *memory) { r.Rows-- }, 0, "the list has 15 rows"},
		"a seq twice":    {func(_ *campaign.Run, m *memory) { m.lines[5].Seq = 2 }, 6, "seq 2 belongs to another row"},
		"a phone twice":  {func(_ *campaign.Run, m *memory) { m.lines[14].Key = m.lines[2].Key }, 15, "the same phone number as row 3"},
		"a wrong total": {func(_ *campaign.Run, m *memory) {
			m.tallies = []campaign.Tally{{Status: campaign.Sent, N: 16}}
		}, 0, "1 rows are sent, the totals say 16"},
		"a total too small": {func(_ *campaign.Run, m *memory) {
			m.tallies = []campaign.Tally{{Status: campaign.Sent, N: 15}}
		}, 0, "the totals add up to 15"},
		"a skip reason outside the list": {func(_ *campaign.Run, m *memory) { m.lines[8].Reason = "felt_like_it" }, 9, "felt_like_it"},
		"a skipped row that was posted":  {func(_ *campaign.Run, m *memory) { m.lines[8].MessageID = "wamid.X" }, 9, "it was posted"},
		"a refused row that was accepted": {func(_ *campaign.Run, m *memory) { m.lines[6].MessageID = "wamid.X" }, 7,
			"the service accepted it"},
		"a refusal without a code":   {func(_ *campaign.Run, m *memory) { m.lines[6].Code = "" }, 7, "without a code"},
		"an acceptance without id":   {func(_ *campaign.Run, m *memory) { m.lines[2].MessageID = "" }, 3, "without a messageId"},
		"an acceptance from nowhere": {func(_ *campaign.Run, m *memory) { m.lines[2].Connection = "" }, 3, "without a connection"},
		"failed shown over delivered": {func(_ *campaign.Run, m *memory) { m.lines[1].Status = campaign.Failed }, 2,
			"its times say delivered"},
		"a status of no list":        {func(_ *campaign.Run, m *memory) { m.lines[2].Status = "lost" }, 3, `status "lost"`},
		"a queued row without phone": {func(_ *campaign.Run, m *memory) { m.lines[15].Key = 0 }, 16, "no phone number"},
		"a problem the ledger found": {func(_ *campaign.Run, m *memory) {
			m.problems = []campaign.Problem{{Row: 5, Seq: 4, What: "accepted above the mark"}}
		}, 5, "above the mark"},
		"rows lost while importing": {func(r *campaign.Run, m *memory) {
			r.State, r.Rows = campaign.Importing, 20
		}, 0, "while importing"},
	} {
		t.Run(name, func(t *testing.T) {
			run, m := sample()
			c.plant(&run, m)
			a := audited(t, run, m)
			if !slices.ContainsFunc(a.Problems, func(p Problem) bool { return p.Row == c.row && strings.Contains(p.What, c.what) }) {
				t.Errorf("not found in %+v", a.Problems)
			}
		})
	}
}

func TestAuditOfARunThatMovesDoesNotCryWolf(t *testing.T) {
	run, m := sample()
	moves := 0
	m.between = func(int) { // what was read as queued is being sent, the same number of rows as before
		moves++
		m.lines[15].Status = campaign.Sending
	}
	if a := audited(t, run, m); !a.Balanced || !a.Moving || moves != 1 {
		t.Errorf("%d readings, %+v", moves, a)
	}
}

func TestAuditReadsAgainBeforeItBlames(t *testing.T) {
	run, m := sample()
	stale := slices.Clone(m.lines)
	m.lines[14].Status, m.lines[13].Status = campaign.Sending, campaign.Queued // two moves that leave the totals as they were
	current := m.lines
	m.tallies, _, _ = m.Tallies(context.Background(), run.No)
	m.lines = stale
	m.lines[12].Status = campaign.InDoubt
	m.between = func(int) { m.lines = current }
	if a := audited(t, run, m); !a.Balanced || m.reads != 2 {
		t.Errorf("%d readings, %+v", m.reads, a)
	}
}

func TestAuditWhileImportingCountsRowsThatCameSince(t *testing.T) {
	run, m := sample()
	run.State, run.Rows = campaign.Importing, 10
	if a := audited(t, run, m); !a.Balanced || a.Rows != 16 {
		t.Errorf("got %+v", a)
	}
}

func TestAuditSaysWhatIsWrongAndWhere(t *testing.T) {
	run, m := sample()
	m.lines[1].Status = campaign.Failed
	m.lines[8].Reason = "felt like\x1b[31mit"
	m.lines[14].Key = m.lines[2].Key
	m.lines = slices.Delete(m.lines, 3, 6)
	m.problems = []campaign.Problem{{What: "segment 0 has its mark above its end"}}
	var b bytes.Buffer
	if err := audited(t, run, m).Text(&b); err != nil {
		t.Fatal(err)
	}
	golden(t, "audit_unbalanced.txt", b.Bytes())
}

func TestAuditNamesTheFirstHundredAndCountsTheRest(t *testing.T) {
	run, m := sample()
	l := m.lines[15]
	for i := range 300 {
		l.Row, l.Seq, l.Key = int64(17+i), int64(16+i), 77
		m.lines = append(m.lines, l)
	}
	run.Rows = int64(len(m.lines))
	a := audited(t, run, m)
	if len(a.Problems) != MaxProblems || a.Found != 299 {
		t.Errorf("%d named, %d found", len(a.Problems), a.Found)
	}
	var b bytes.Buffer
	if err := a.Text(&b); err != nil || !strings.HasSuffix(b.String(), "\n  and 199 more\n") {
		t.Errorf("%v:\n%s", err, &b)
	}
	j, err := a.JSON()
	if err != nil {
		t.Fatal(err)
	}
	var back AuditResult
	if err := json.Unmarshal(j, &back); err != nil || back.Found != 299 || back.Balanced {
		t.Errorf("%v: %s", err, j)
	}
}

func TestAuditThatCannotReadIsAnError(t *testing.T) {
	for _, failAt := range []int{0, 5} {
		run, m := sample()
		m.fail, m.failAt = errors.New("disk on fire"), failAt
		if _, err := Audit(context.Background(), m, run); !errors.Is(err, m.fail) {
			t.Errorf("got %v", err)
		}
	}
}

func TestSeqSetKnowsGapsAndBlockBorders(t *testing.T) {
	s := seqSet{}
	for _, seq := range []int64{0, 1, 63, 64, 4095, 4096, 8191, 1 << 31, -1} {
		if !s.add(seq) {
			t.Errorf("seq %d is new", seq)
		}
		if s.add(seq) {
			t.Errorf("seq %d is not new", seq)
		}
	}
}

func TestAuditOfAMillionRowsIsQuick(t *testing.T) {
	l := sendingMillion{}
	began := time.Now()
	a, err := Audit(context.Background(), l, campaign.Run{No: 1, Campaign: "big", Rows: million, State: campaign.Running})
	if err != nil || !a.Balanced {
		t.Fatalf("%v, %+v", err, a)
	}
	t.Logf("%d rows in %v", int(million), time.Since(began))
}
