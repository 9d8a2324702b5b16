package ledgertest

import (
	"flag"
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/reception"

	"pgregory.net/rapid"
)

// The model of one segment says in a few lines of Go what the ledger must answer. The state machine
// below does what senders, dead owners, webhooks and operators do, in any order, on the ledger and
// on the model, and compares every answer and every status.

const modelRows = 12

type modelRow struct {
	status   campaign.Status // Queued (mark not passed), Sending (below the mark, no result), Accepted, Refused, Skipped, InDoubt, Unknown
	deferred bool            // Queued below the mark
	attempt  int
	rank     int          // of the statuses that webhooks told: 1 sent, 2 failed, 3 delivered, 4 read
	twice    bool         // sent again while an earlier attempt was in doubt
	open     map[int]bool // attempts that may have been sent, and that nothing proves
	id       string       // of the message
}

// doubt begins the doubt of the newest attempt.
func (r *modelRow) doubt() {
	r.status, r.open[r.attempt] = campaign.InDoubt, true
}

// accept gives the delivery the message that the service accepted.
func (r *modelRow) accept(attempt int, id string) {
	*r = modelRow{status: campaign.Accepted, attempt: attempt, id: id, open: r.open}
}

// ended is the status s of a delivery that ends, or Unknown if an earlier attempt may have been
// sent.
func (r *modelRow) ended(s campaign.Status) campaign.Status {
	if r.twice {
		return campaign.Unknown
	}
	return s
}

type model struct {
	mark   int64
	leased bool // the test has a lease
	done   bool
	rows   [modelRows]modelRow
}

// shown is the status that a report must print.
func (m *model) shown(seq int64, alive bool) campaign.Status {
	r := m.rows[seq]
	switch r.status {
	case campaign.Sending:
		if !alive {
			return campaign.InDoubt
		}
	case campaign.Accepted:
		return []campaign.Status{campaign.Accepted, campaign.Sent, campaign.Failed, campaign.Delivered, campaign.Read}[r.rank]
	}
	return r.status
}

func (m *model) open() bool {
	for _, r := range m.rows {
		switch r.status {
		case campaign.Queued, campaign.Sending, campaign.InDoubt:
			return true
		}
	}
	return false
}

func testModel(t *testing.T, open func(*testing.T) campaign.Ledger) {
	f := newFixture(t, open)
	if given := flag.Lookup("rapid.checks"); !Long && given.Value.String() == given.DefValue {
		f.ok(given.Value.Set("25"))
	}
	rapid.Check(t, func(rt *rapid.T) {
		r := f.create()
		m := &machine{f: f, no: r.No}
		rows := deliveries(0, modelRows)
		for i := range rows {
			rows[i].Key = m.key(int64(i)) // each run has recipients of its own: doubts of other runs do not compete
			m.rows[i] = modelRow{status: campaign.Queued, open: map[int]bool{}}
		}
		f.ok(f.l.AppendRows(f.ctx, r.No, 0, rows, []campaign.Segment{{Run: r.No, Hi: modelRows}}))
		f.ok(f.l.FinishImport(f.ctx, r.No, modelRows, campaign.Ready))
		rt.Repeat(rapid.StateMachineActions(m))
		if ps, _, err := f.l.Audit(f.ctx, r.No, 5); err != nil || len(ps) > 0 {
			rt.Fatalf("audit: %+v %v", ps, err)
		}
	})
}

// machine is the state machine; each exported method is an action of rapid.
type machine struct {
	f *fixture
	model
	no    campaign.RunNo
	lease campaign.Lease   // the newest
	old   []campaign.Lease // fenced ones
}

// key is the phone key of seq, which no other run has.
func (m *machine) key(seq int64) int64 { return key(int64(m.no)*1000 + seq) }

// Claim takes the segment over, as after the death of its owner, and recovers it.
func (m *machine) Claim(t *rapid.T) {
	ls := m.f.claim(m.no, gone, 1) // this lease has ended when it begins, so that the next Claim can take over
	if m.done {
		if len(ls) != 0 {
			t.Fatalf("claimed a finished segment: %+v; want length 0", ls)
		}
		return
	}
	if len(ls) != 1 || ls[0].Mark != m.mark {
		t.Fatalf("claimed %+v, mark %d; want length 1, Mark %+v", ls, m.mark, m.mark)
	}
	if m.leased {
		m.old = append(m.old, m.lease)
	}
	m.lease, m.leased = ls[0], true
	want := 0
	for i := range m.rows {
		if m.rows[i].status == campaign.Sending {
			m.rows[i].doubt()
			want++
		}
	}
	if n, err := m.f.l.Recover(m.f.ctx, m.lease, at(10)); err != nil || n != want {
		t.Fatalf("recovered %d %v, want %d", n, err, want)
	}
}

// Intend moves the mark.
func (m *machine) Intend(t *rapid.T) {
	if !m.leased {
		t.Skip("no lease")
	}
	n := rapid.Int64Range(1, 4).Draw(t, "n")
	to := min(m.mark+n, modelRows)
	if to == m.mark {
		t.Skip("at the end")
	}
	g := m.f.intend(intent(m.lease, m.mark, to))
	if g.Denied || g.Fenced || g.To != to {
		t.Fatalf("got %+v; want not Denied, not Fenced, To %+v", g, to)
	}
	for seq := m.mark; seq < to; seq++ {
		if m.rows[seq].status == campaign.Queued {
			m.rows[seq].status, m.rows[seq].attempt = campaign.Sending, 1
		}
	}
	m.mark = to
}

// StaleIntend is the intent of an owner that lost the segment and does not know it.
func (m *machine) StaleIntend(t *rapid.T) {
	if len(m.old) == 0 || m.mark == modelRows {
		t.Skip("nothing stale")
	}
	l := rapid.SampledFrom(m.old).Draw(t, "lease")
	if g := m.f.intend(intent(l, m.mark, m.mark+1)); !g.Fenced {
		t.Fatalf("got %+v; want Fenced", g)
	}
}

// Retry commits the intents of the retries that are due.
func (m *machine) Retry(t *rapid.T) {
	if !m.leased {
		t.Skip("no lease")
	}
	due, err := m.f.l.Due(m.f.ctx, m.lease, time.Now().Add(time.Hour), 2)
	if err != nil {
		t.Fatal(err)
	}
	want := 0
	for _, r := range m.rows {
		if r.deferred {
			want++
		}
	}
	if len(due) != min(want, 2) {
		t.Fatalf("%d due, want %d", len(due), want)
	}
	if len(due) == 0 {
		t.Skip("nothing due")
	}
	g := m.f.intend(campaign.Intent{Lease: m.lease, Connection: "conn_1", From: m.mark, To: m.mark, Retries: due})
	if g.Fenced || g.Denied || len(g.Skipped) > 0 {
		t.Fatalf("got %+v; want not Fenced, not Denied, none", g)
	}
	for _, d := range due {
		row := &m.rows[d.Seq]
		if !row.deferred || d.Attempt != row.attempt+1 {
			t.Fatalf("seq %d was due for attempt %d, model %+v; want deferred, Attempt %+v", d.Seq, d.Attempt, row, row.attempt+1)
		}
		row.status, row.deferred, row.attempt = campaign.Sending, false, d.Attempt
	}
}

// Record merges a result of any attempt, by the current owner or one that was fenced.
func (m *machine) Record(t *rapid.T) {
	if m.mark == 0 {
		t.Skip("nothing posted")
	}
	seq := rapid.Int64Range(0, m.mark-1).Draw(t, "seq")
	row := &m.rows[seq]
	attempt := rapid.IntRange(1, max(1, row.attempt)).Draw(t, "attempt")
	kind := campaign.ResultKind(rapid.IntRange(1, 4).Draw(t, "kind"))
	if attempt > row.attempt {
		t.Skip("not posted")
	}
	l := m.lease
	current := true
	if len(m.old) > 0 && rapid.Bool().Draw(t, "stale") {
		l, current = m.old[0], false
	}
	x := result(l, seq, kind)
	x.Attempt, x.MessageID, x.Code, x.NotBefore = attempt, messageID(m.no, seq), "code", at(0)
	m.f.record(x)
	if kind != campaign.ResultDoubt {
		delete(row.open, attempt)
	}
	same := attempt == row.attempt
	inFlight := row.status == campaign.Sending || row.status == campaign.InDoubt
	switch {
	case kind == campaign.ResultAccepted && row.status != campaign.Accepted:
		row.accept(max(attempt, row.attempt), x.MessageID)
	case kind == campaign.ResultRefused && inFlight && same:
		row.status, row.deferred = row.ended(campaign.Refused), false
	case kind == campaign.ResultDeferred && inFlight && same:
		row.status, row.deferred = campaign.Queued, true
	case kind == campaign.ResultDoubt && row.status == campaign.Sending && same && current && m.leased:
		row.doubt()
	}
}

// Status tells a webhook about an accepted message.
func (m *machine) Status(t *rapid.T) {
	seq := rapid.Int64Range(0, modelRows-1).Draw(t, "seq")
	row := &m.rows[seq]
	if row.status != campaign.Accepted {
		t.Skip("no message")
	}
	rank := rapid.IntRange(1, 4).Draw(t, "rank")
	s := []campaign.Status{"", campaign.Sent, campaign.Failed, campaign.Delivered, campaign.Read}[rank]
	m.f.apply(event(row.id, m.key(seq), s, at(rapid.IntRange(1, 30).Draw(t, "at"))))
	row.rank = max(row.rank, rank)
}

// Resolve applies the policy to all doubts, as when their window ends.
func (m *machine) Resolve(t *rapid.T) {
	if !m.leased {
		t.Skip("no lease")
	}
	policy := rapid.SampledFrom([]campaign.OnUncertain{campaign.UncertainHold, campaign.UncertainResend}).Draw(t, "policy")
	want := 0
	for i := range m.rows {
		if row := &m.rows[i]; row.status == campaign.InDoubt {
			want++
			if policy == campaign.UncertainHold {
				row.status = campaign.Unknown
			} else {
				row.status, row.deferred, row.twice = campaign.Queued, true, true
			}
		}
	}
	if n, err := m.f.l.Resolve(m.f.ctx, m.lease, reception.Span{Until: time.Now().Add(time.Hour)}, policy); err != nil || n != want {
		t.Fatalf("resolved %d %v, want %d", n, err, want)
	}
}

// SkipQueued skips the queued deliveries.
func (m *machine) SkipQueued(t *rapid.T) {
	if !m.leased || rapid.IntRange(0, 9).Draw(t, "seldom") > 0 {
		t.Skip("seldom")
	}
	want := 0
	for i := range m.rows {
		if row := &m.rows[i]; row.status == campaign.Queued {
			want++
			row.status, row.deferred = row.ended(campaign.Skipped), false
		}
	}
	if n, err := m.f.l.SkipQueued(m.f.ctx, m.lease, campaign.Expired); err != nil || n != want {
		t.Fatalf("skipped %d %v, want %d", n, err, want)
	}
	m.mark = modelRows
}

// Park gives the segment back. The segment must be done exactly when no delivery in it is open.
func (m *machine) Park(t *rapid.T) {
	if !m.leased {
		t.Skip("no lease")
	}
	p, err := m.f.l.Park(m.f.ctx, m.lease, at(0), After(time.Minute))
	if err != nil || p.Done == m.open() {
		t.Fatalf("parked %+v %v, open %v: %+v; want no error, Done other than %+v", p, err, m.open(), m.rows, m.open())
	}
	m.done = p.Done
	m.old, m.leased = append(m.old, m.lease), false
}

// Check compares the status of every row, and the sums, with the model.
func (m *machine) Check(t *rapid.T) {
	lines := map[campaign.Status]int64{}
	for l, err := range m.f.l.Lines(m.f.ctx, m.no) {
		if err != nil {
			t.Fatal(err)
		}
		if want := m.shown(l.Seq, false); l.Status != want {
			t.Fatalf("seq %d is %s, want %s (%+v, mark %d)", l.Seq, l.Status, want, m.rows[l.Seq], m.mark)
		}
		lines[l.Status]++
	}
	ts, _, err := m.f.l.Tallies(m.f.ctx, m.no)
	if err != nil {
		t.Fatal(err)
	}
	sum := int64(0)
	for _, x := range ts {
		lines[x.Status] -= x.N
		sum += x.N
	}
	for s, n := range lines {
		if n != 0 {
			t.Fatalf("lines and tallies differ by %d at %s: %+v; want 0", n, s, ts)
		}
	}
	if sum != modelRows {
		t.Fatalf("the sum is %d of %d; want %+v", sum, modelRows, modelRows)
	}
}
