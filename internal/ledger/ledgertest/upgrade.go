package ledgertest

import (
	"cmp"
	"fmt"
	"io/fs"
	"testing"
	"testing/fstest"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/reception"
	"campaignd/internal/ledger"
)

// RunUpgrade fills a ledger of the first schema with unfinished runs, and requires that this
// program continues them. exec runs a statement on the database, open opens the ledger as sender.
func RunUpgrade(t *testing.T, exec func(stmt string), open func(*testing.T) campaign.Ledger) {
	t.Helper()
	for _, r := range olderRuns {
		for _, stmt := range r.statements() {
			exec(stmt)
		}
	}
	f := newFixture(t, open)
	for _, r := range olderRuns {
		if got := f.run(r.no); string(got.State) != r.state || string(got.Reason) != r.reason || string(got.Wanted) != r.wanted {
			f.Errorf("run %d was %s (%s), wanted %s, and is %s (%s), wanted %s; want it unchanged", r.no, r.state, r.reason, r.wanted,
				got.State, got.Reason, got.Wanted)
		}
	}
	f.goesOnReady(olderRuns[0].no)
	f.goesOnAdopting(olderRuns[4].no)
	f.goesOnDoubtful(olderRuns[1].no)
	for _, r := range olderRuns {
		f.sound(r.no)
	}
}

// olderRun is a run of a ledger of the first schema.
type olderRun struct {
	no                    campaign.RunNo
	state, wanted, reason string
	rows, mark            int64
}

var olderRuns = []olderRun{
	{1, "ready", "run", "", 4, 2},
	{2, "running", "run", "", 6, 5},
	{3, "paused", "pause", "operator", 2, 0},
	{4, "paused", "run", "breaker", 2, 0},
	{5, "running", "run", "", 6, 6},
}

// statements write the run with one segment, whose owner died. In runs 1, 2 and 5, deliveries below
// the mark have these outcomes:
//
//   - run 1: accepted, and deferred;
//   - run 2: accepted, in doubt, unknown, none, and a retry in flight;
//   - run 5: in doubt, unknown, waiting to be sent again, being sent again, and in doubt since a
//     quarantine, so that any connection may have sent it. A stored event proves each of these.
//     One more delivery is in doubt, and no event proves it.
func (r olderRun) statements() []string {
	const accepted = "INSERT INTO outcome (rid, state, attempt, mh, message_id, result_at) " +
		"VALUES (%d, 5 /* accepted */, 1, %d, 'wamid.%d', %d)"
	id, ms := int64(r.no)<<32, at(0).UnixMilli()
	all := []string{
		fmt.Sprintf(`INSERT INTO run (no, state, wanted, reason, marketing, budget, template, language, created_at, started_at,
			parent, campaign, list_hash, launch, list_name, asset, asset_until, header, definition)
			VALUES (%d, '%s', '%s', '%s', true, 0, 'sale', 'en', %d, %d, 0, 'older', 'hash%d', '', 'list.csv',
				'', 0, '["name"]', '')`,
			r.no, r.state, r.wanted, r.reason, ms, ms, r.no),
		fmt.Sprintf(`INSERT INTO run_count (no, rows, taken) VALUES (%d, %d, %d)`, r.no, r.rows, r.mark),
		fmt.Sprintf(`INSERT INTO segment (id, run, lo, hi, mark, epoch, done, closed, lease_until, intents_since, connection, owner, zone)
			VALUES (%d, %d, 0, %d, %d, 3, false, false, %d, %d, 'conn_1', 'dead', '')`, id, r.no, r.rows, r.mark, ms, ms),
	}
	for seq := range r.rows {
		all = append(all, fmt.Sprintf(`INSERT INTO delivery (rid, key, row, dest, cells) VALUES (%d, %d, %d, '+%d', '["a"]')`,
			id+seq, key(int64(r.no)*100+seq), seq+1, key(int64(r.no)*100+seq)))
	}
	switch r.no {
	case 1:
		all = append(all, fmt.Sprintf(accepted, id, 11, 11, ms),
			fmt.Sprintf(`INSERT INTO outcome (rid, state, attempt, tries, code, result_at, next_due)
				VALUES (%d, 1 /* deferred */, 1, 1, 'send_retryable', %d, %d)`, id+1, ms, ms))
	case 2:
		all = append(all, fmt.Sprintf(accepted, id, 21, 21, ms),
			fmt.Sprintf("INSERT INTO outcome (rid, state, attempt, intent_at) VALUES (%d, 2 /* retrying */, 2, %d)", id+4, ms))
		all = append(all, r.doubt(1, 3, 1, 0, "conn_1")...)
		all = append(all, r.doubt(2, 4, 1, 0, "conn_1")...)
	case 5:
		for seq, o := range []struct {
			state, attempt, flags int
			connection            string
		}{{3, 1, 0, "conn_1"}, {4, 1, 0, "conn_1"}, {1, 1, 2, "conn_1"}, {2, 2, 2, "conn_1"}, {3, 1, 0, ""}, {3, 1, 0, "conn_1"}} {
			all = append(all, r.doubt(int64(seq), o.state, o.attempt, o.flags, o.connection)...)
			if seq < 5 {
				all = append(all, fmt.Sprintf(`INSERT INTO orphan (mh, message_id, rank, at, received_at, key, connection, code)
					VALUES (%d, 'wamid.old.%d', 1, %d, %d, %d, '%s', '')`, 80+seq, seq, ms+2000, ms+2000, key(500+int64(seq)),
					cmp.Or(o.connection, "conn_2")))
			}
		}
	}
	return all
}

// doubt writes an outcome with an open attempt, which is the one before the last of a retry in
// flight. connection is that of the open attempt; empty may be any.
func (r olderRun) doubt(seq int64, state, attempt, flags int, connection string) []string {
	rid, ms := int64(r.no)<<32+seq, at(0).UnixMilli()
	open := attempt
	if state == int(ledger.Retrying) {
		open--
	}
	return []string{
		fmt.Sprintf(`INSERT INTO outcome (rid, state, attempt, flags, code, result_at, intent_at)
			VALUES (%d, %d, %d, %d, 'time_out', %d, %d)`, rid, state, attempt, flags, ms+1000, ms),
		fmt.Sprintf(`INSERT INTO attempt (rid, attempt, key, connection, intent_at, doubt_at)
			VALUES (%d, %d, %d, '%s', %d, %d)`, rid, open, key(int64(r.no)*100+seq), connection, ms, ms+1000),
	}
}

// olderClaim takes over the segment of an older run, and fails unless Recover finds this number of
// doubts.
func (f *fixture) olderClaim(no campaign.RunNo, doubts int) campaign.Lease {
	f.Helper()
	ls := f.claim(no, long, 9)
	if len(ls) != 1 || !ls[0].Recovered || ls[0].Epoch != 4 {
		f.Fatalf("claimed %+v; want one segment of epoch 4, Recovered", ls)
	}
	if n, err := f.l.Recover(f.ctx, ls[0], at(1)); err != nil || n != doubts {
		f.Errorf("recovered %d, %v; want %d", n, err, doubts)
	}
	return ls[0]
}

// goesOnReady sends the rest of a run whose sender was to begin.
func (f *fixture) goesOnReady(no campaign.RunNo) {
	f.Helper()
	l := f.olderClaim(no, 0)
	due, err := f.l.Due(f.ctx, l, time.Now(), 9)
	f.ok(err)
	if len(due) != 1 || due[0].Seq != 1 || due[0].Attempt != 2 || due[0].Tries != 1 {
		f.Fatalf("due %+v; want seq 1, attempt 2, 1 try", due)
	}
	g := f.intend(campaign.Intent{Lease: l, Connection: "conn_1", From: 2, To: 4, Retries: due})
	if g.Denied || g.To != 4 {
		f.Fatalf("granted %+v; want To 4", g)
	}
	for seq := int64(1); seq < 4; seq++ {
		r := acceptance(l, seq)
		if seq == 1 {
			r.Attempt = 2
		}
		f.record(r)
	}
	if p, err := f.l.Park(f.ctx, l, time.Time{}, After(time.Minute)); err != nil || !p.Done {
		f.Errorf("parked %+v, %v; want Done", p, err)
	}
	f.counted(no, map[campaign.Status]int64{campaign.Accepted: 4})
}

// goesOnDoubtful ends the doubts of a run whose owner died. Events prove the delivery in doubt and
// the unknown one, and the policy ends the other doubts.
func (f *fixture) goesOnDoubtful(no campaign.RunNo) {
	f.Helper()
	l := f.olderClaim(no, 2)
	f.apply(event("wamid.x1", key(int64(no)*100+1), campaign.Sent, at(1)), event("wamid.x2", key(int64(no)*100+2), campaign.Sent, at(1)))
	f.sweptAt(at(2), campaign.Swept{Adopted: 2})
	if n, err := f.l.Resolve(f.ctx, l, reception.Span{Until: time.Now()}, campaign.UncertainHold); err != nil || n != 2 {
		f.Errorf("resolved %d, %v; want 2", n, err)
	}
	f.sent(campaign.Lease{Segment: l.Segment, Epoch: l.Epoch}, 5, 6)
	f.record(acceptance(l, 5))
	if p, err := f.l.Park(f.ctx, l, time.Time{}, After(time.Minute)); err != nil || !p.Done {
		f.Errorf("parked %+v, %v; want Done", p, err)
	}
	f.counted(no, map[campaign.Status]int64{campaign.Accepted: 2, campaign.Sent: 2, campaign.Unknown: 2})
}

// goesOnAdopting ends the doubts of a run by the events that the ledger had stored before its
// upgrade.
func (f *fixture) goesOnAdopting(no campaign.RunNo) {
	f.Helper()
	f.sweptAt(at(5), campaign.Swept{Adopted: 4, Left: 1}) // the event that is left may also be about the retry in flight
	l := f.olderClaim(no, 1)
	f.sweptAt(at(5), campaign.Swept{Adopted: 1})
	if n, err := f.l.Resolve(f.ctx, l, reception.Span{Until: time.Now()}, campaign.UncertainHold); err != nil || n != 1 {
		f.Errorf("resolved %d, %v; want 1", n, err)
	}
	if p, err := f.l.Park(f.ctx, l, time.Time{}, After(time.Minute)); err != nil || !p.Done {
		f.Errorf("parked %+v, %v; want Done", p, err)
	}
	f.counted(no, map[campaign.Status]int64{campaign.Sent: 5, campaign.Unknown: 1})
	for seq, line := range f.lines(no) {
		if seq < 5 && (line.MessageID != fmt.Sprint("wamid.old.", seq) || !line.Adopted) {
			f.Errorf("seq %d: %+v; want it adopted by wamid.old.%d", seq, line, seq)
		}
	}
}

// FirstSchema is the version of the first migration, which makes a whole ledger.
const FirstSchema = "00031_ledger.sql"

// OlderMigrations returns those of a folder of migrations that lead to the first schema.
func OlderMigrations(t testing.TB, dir fs.FS) fs.FS {
	t.Helper()
	b, err := fs.ReadFile(dir, FirstSchema)
	if err != nil {
		t.Fatal(err)
	}
	return fstest.MapFS{FirstSchema: {Data: b}}
}
