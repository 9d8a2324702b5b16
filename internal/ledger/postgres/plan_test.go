//go:build unix

package postgres

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/reception"
	"campaignd/internal/ledger"
	"campaignd/internal/ledger/ledgertest"
	"campaignd/internal/ledger/postgres/connect"

	"github.com/jackc/pgx/v5"
)

// listener collects every statement that a pool sends. The tests explain these statements, so none
// can be forgotten.
type listener struct {
	mu    sync.Mutex
	heard map[string]bool
}

func (h *listener) hear(sql string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.heard[sql] = true
}

func (h *listener) TraceQueryStart(ctx context.Context, _ *pgx.Conn, d pgx.TraceQueryStartData) context.Context {
	h.hear(d.SQL)
	return ctx
}

func (h *listener) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

func (h *listener) TraceBatchStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	return ctx
}

func (h *listener) TraceBatchQuery(_ context.Context, _ *pgx.Conn, d pgx.TraceBatchQueryData) {
	h.hear(d.SQL)
}

func (h *listener) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData) {}

// listen makes the pools report the statements that they send.
func listen(pools ...*connect.Pool) *listener {
	h := &listener{heard: map[string]bool{}}
	for _, p := range pools {
		p.Config.Tracer = h
		p.Forget()
	}
	return h
}

// everything calls each method of senders and webhooks at least once.
func everything(t *testing.T, l *Ledger) {
	t.Helper()
	ctx := t.Context()
	ok := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	r := ledgertest.Load(t, l, 40)
	capped, err := l.CreateRun(ctx, campaign.Run{Campaign: "capped", ListHash: "x", Launch: campaign.FiringKey + "1", Budget: 4,
		Template: "sale", Language: "en"})
	ok(err)
	ok(l.AppendRows(ctx, capped.No, 0, ledgertest.Rows(0, 10), []campaign.Segment{{Run: capped.No, Hi: 10}}))
	ok(l.FinishImport(ctx, capped.No, 10, campaign.Ready))
	claim := campaign.Claim{Owner: "a", Connection: "conn_1", Runs: []campaign.RunNo{r.No, capped.No}, Max: 2, Lease: -time.Second}
	ls, err := l.Claim(ctx, claim)
	ok(err)
	if len(ls) != 2 {
		t.Fatalf("got %+v; want length 2", ls)
	}
	_, err = l.Suppress(ctx, []campaign.Suppression{{Key: 2348030000001, Scope: campaign.ScopeAll},
		{Key: 2348030000020, Scope: campaign.ScopeMarketing, At: time.Now()}})
	ok(err)
	now := time.Now()
	_, err = l.Intend(ctx, []campaign.Intent{
		{Lease: ls[0], Connection: "conn_1", To: 12},
		{Lease: ls[1], Connection: "conn_1", To: 4, Keys: []int64{2348030000000, 2348030000001, 2348030000002, 2348030000003}}})
	ok(err)
	result := func(seq int64, k campaign.ResultKind) campaign.Result {
		return campaign.Result{Run: r.No, Seq: seq, Attempt: 1, Kind: k, Epoch: ls[0].Epoch,
			At: now, IntentAt: now, NotBefore: now.Add(-time.Second)}
	}
	noID := result(6, campaign.ResultDoubt)
	noID.NoResend = true
	refusal := result(2, campaign.ResultRefused)
	refusal.Suppress = &campaign.Suppression{Key: 2348030000002, Scope: campaign.ScopeUnreachable, Until: now.Add(time.Hour)}
	ok(l.Record(ctx, append(ledgertest.Acceptances(ls[0], 0, 1), refusal, result(4, campaign.ResultDeferred),
		result(5, campaign.ResultDoubt), noID, result(7, campaign.ResultDeferred))))
	due, err := l.Due(ctx, ls[0], now, 9)
	ok(err)
	_, err = l.Suppress(ctx, []campaign.Suppression{{Key: 2348030000007, Scope: campaign.ScopeAll}})
	ok(err)
	_, err = l.Intend(ctx, []campaign.Intent{{Lease: ls[0], Connection: "conn_1", From: 12, To: 12, Retries: due}})
	ok(err)
	for _, s := range []campaign.Status{campaign.Sent, campaign.Failed} {
		_, err = l.Apply(ctx, campaign.Events{Statuses: []campaign.StatusEvent{
			{MessageID: ledgertest.MessageID(r.No, 0), Status: s, At: now}, {MessageID: "wamid.lost", Status: s, At: now, Recipient: 2348030000005},
			{MessageID: "wamid.whose", Status: s, At: now, Recipient: 2348030000008}},
			Suppressions: []campaign.Suppression{{Key: 5, Scope: campaign.ScopeMarketing}}, Lifted: []campaign.Suppression{{Key: 5}}})
		ok(err)
	}
	_, err = l.Sweep(ctx, now)
	ok(err)
	_, err = l.Deliveries(ctx, r.No, 0, 40)
	ok(err)
	_, err = l.Renew(ctx, ls, -time.Second)
	ok(err)
	ok(l.Release(ctx, ls[1], []int64{0}))
	_, err = l.FreeSegments(ctx, claim.Runs)
	ok(err)
	claim.Begun = true
	ls, err = l.Claim(ctx, claim)
	ok(err)
	_, err = l.Recover(ctx, ls[0], now)
	ok(err)
	for _, p := range []campaign.OnUncertain{campaign.UncertainResend, campaign.UncertainHold} {
		_, err = l.Resolve(ctx, ls[0], reception.Span{Until: now.Add(time.Minute)}, p)
		ok(err)
	}
	_, err = l.SkipQueued(ctx, ls[0], campaign.Expired)
	ok(err)
	_, err = l.Park(ctx, ls[0], time.Time{}, ledgertest.After(time.Minute))
	ok(err)
	ok(l.ReportLanes(ctx, "a", []campaign.LaneReport{{Run: r.No, Connection: "conn_1", At: now}}))
	_, err = l.FinishRuns(ctx)
	ok(err)
	_, err = l.SetWanted(ctx, capped.No, campaign.WantCancel, "")
	ok(err)
	_, err = l.SetState(ctx, capped.No, []campaign.State{campaign.Running}, campaign.Paused, campaign.PausedByCanary, "")
	ok(err)
	ok(l.SetAssets(ctx, capped.No, []campaign.Asset{{Connection: "conn_1", ID: "asset", Until: now}}))
	_, err = l.Assets(ctx, capped.No)
	ok(err)
	for _, w := range []campaign.RunFilter{
		{Limit: 1}, {Unfinished: true}, {Unfinished: true, Limit: 1}, {Campaign: "capped", Fired: true, Limit: 1},
		{Campaign: "capped", ListHash: "x", Limit: 1}, {Campaign: "capped", Launch: campaign.FiringKey + "1", Limit: 1},
	} {
		_, err = l.Runs(ctx, w)
		ok(err)
	}
	_, err = l.Unsuppress(ctx, []campaign.Suppression{{Key: 1, Scope: campaign.ScopeAll}})
	ok(err)
	late := ledgertest.Load(t, l, 10)
	ls, err = l.Claim(ctx, campaign.Claim{Owner: "dead", Connection: "conn_1", Runs: []campaign.RunNo{late.No}, Max: 1, Lease: -time.Second})
	ok(err)
	_, err = l.Intend(ctx, []campaign.Intent{{Lease: ls[0], Connection: "conn_1", To: 5}})
	ok(err)
	_, err = l.Unposted(ctx, campaign.WireLog{Owner: "dead", Posts: []campaign.Post{{Run: late.No, Seq: 1, Attempt: 1}}})
	ok(err)
	hold := campaign.Hold{Scope: campaign.HoldAccount, ID: "acc", Reason: "131042", Source: campaign.HoldByStatus, Since: now}
	_, err = l.AddHolds(ctx, []campaign.Hold{hold})
	ok(err)
	_, err = l.LiftHolds(ctx, []campaign.Lift{{Scope: hold.Scope, ID: hold.ID, By: campaign.HoldByOperator, At: now}})
	ok(err)
	_, err = l.Apply(ctx, campaign.Events{Holds: []campaign.Hold{hold}, Statuses: []campaign.StatusEvent{
		{MessageID: ledgertest.MessageID(r.No, 0), Status: campaign.Failed, Code: "131042", At: now.Add(-time.Second)}}})
	ok(err)
	for _, ended := range []bool{false, true} {
		_, err = l.Holds(ctx, ended)
		ok(err)
	}
	job, _, err := l.AcquireJob(ctx, "sweep", "a", time.Minute)
	ok(err)
	_, err = l.RenewJob(ctx, job, time.Minute)
	ok(err)
	ok(l.ReleaseJob(ctx, job))
}

// node is a node of EXPLAIN (FORMAT JSON).
type node struct {
	Type      string `json:"Node Type"`
	Relation  string `json:"Relation Name"`
	Index     string `json:"Index Name"`
	Condition string `json:"Index Cond"`
	Plans     []node `json:"Plans"`
}

// large are the tables that grow with the messages sent or received.
var large = []string{"outcome", "delivery", "attempt", "orphan", "suppression", "segment"}

// whole are the partial indexes that may be read as a whole, because they have open rows only.
var whole = map[string]bool{"segment_undone": true}

// faults names each node that reads all of a large table, or all of an index of one.
func (n node) faults(limited bool) (found []string) {
	limited = limited || n.Type == "Limit"
	switch {
	case slices.Contains([]string{"Seq Scan", "Hash Join", "Merge Join"}, n.Type) && (n.Relation == "" || slices.Contains(large, n.Relation)):
		found = append(found, n.Type+" "+n.Relation)
	case strings.Contains(n.Type, "Index") && n.Condition == "" && !limited && !whole[n.Index] &&
		slices.ContainsFunc(large, func(t string) bool { return strings.HasPrefix(n.Index, t) }):
		found = append(found, n.Type+" of all of "+n.Index)
	}
	for _, p := range n.Plans {
		found = append(found, p.faults(limited)...)
	}
	return found
}

var parameter = regexp.MustCompile(`\$(\d+)`)

// plan explains a statement with its generic plan and returns the faults of the plan.
func plan(t *testing.T, c *connect.Conn, sql string) (faults []string) {
	t.Helper()
	most := 0
	for _, m := range parameter.FindAllStringSubmatch(sql, -1) {
		var n int
		_, _ = fmt.Sscan(m[1], &n)
		most = max(most, n)
	}
	call := "asked"
	if most > 0 {
		call += "(NULL" + strings.Repeat(", NULL", most-1) + ")"
	}
	var text string
	var all []struct{ Plan node }
	for _, x := range []string{"PREPARE asked AS " + sql, "", "DEALLOCATE asked"} {
		var err error
		if x != "" {
			_, err = c.Exec(t.Context(), x, pgx.QueryExecModeSimpleProtocol)
		} else {
			err = c.QueryRow(t.Context(), "EXPLAIN (FORMAT JSON, COSTS OFF) EXECUTE "+call, pgx.QueryExecModeSimpleProtocol).Scan(&text)
		}
		if err != nil {
			t.Fatalf("%v in %s; want no error", err, sql)
		}
	}
	if err := json.Unmarshal([]byte(text), &all); err != nil {
		t.Fatal(err)
	}
	return all[0].Plan.faults(false)
}

func TestNoHotStatementReadsAWholeTable(t *testing.T) {
	t.Parallel()
	l := openUnused(t, ledger.Options{Sender: true, Origin: ledgertest.Origin})
	empty := openUnused(t, ledger.Options{Sender: true}) // statements are explained on tables that never had a row
	heard := listen(l.sender, l.hooks)
	lines := listen(l.reports)
	everything(t, l)
	if len(heard.heard) < 60 {
		t.Fatalf("the pools sent %d statements; want at least 60", len(heard.heard))
	}
	for range l.Lines(t.Context(), 1) {
		continue
	}
	filters := []campaign.LineFilter{{}, {Key: 1}, {Reason: "x"}}
	for _, s := range campaign.Statuses {
		filters = append(filters, campaign.LineFilter{Status: s})
	}
	for _, f := range filters {
		if _, _, err := l.SelectLines(t.Context(), 1, f, 0, 9); err != nil {
			t.Fatal(err)
		}
	}
	hot := slices.Sorted(maps.Keys(heard.heard))
	for sql := range lines.heard {
		if strings.Contains(sql, "OFFSET 0") { // a page of a report must not read the run from its start either
			hot = append(hot, sql)
		}
	}
	check := func(stage string, l *Ledger) {
		c, err := l.sender.Acquire(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer l.sender.Release(c)
		n := 0
		for _, sql := range hot {
			switch verb, _, _ := strings.Cut(strings.TrimSpace(sql), " "); verb {
			case "SELECT", "INSERT", "UPDATE", "DELETE", "WITH":
			default:
				continue // begin, commit, rollback
			}
			n++
			for _, f := range plan(t, c, sql) {
				t.Errorf("%s: %s, want a plan without that: %s", stage, f, connect.OneLine(sql))
			}
		}
		if n < 60 {
			t.Errorf("%s: explained %d statements only; want at least 60", stage, n)
		}
	}
	check("empty", empty)
	// A plan made for a few rows stays in use when there are many, so it must be right at once.
	for _, few := range []int64{1, 20, 300} {
		tiny := openUnused(t, ledger.Options{Sender: true})
		sentAll(t, tiny, few)
		if err := tiny.read(t.Context(), tiny.reports, stmt(nil, "ANALYZE")); err != nil {
			t.Fatal(err)
		}
		check(fmt.Sprint(few, " rows"), tiny)
	}
	if !ledgertest.Long { // it takes long to fill the others
		return
	}
	young := openUnused(t, ledger.Options{Sender: true})
	sentAll(t, young, 5000)
	check("young", young)
	full := openUnused(t, ledger.Options{Sender: true})
	sentAll(t, full, 100_000)
	if err := full.read(t.Context(), full.reports, stmt(nil, "ANALYZE")); err != nil {
		t.Fatal(err)
	}
	check("full", full)
}

// sentAll makes a run of n accepted deliveries, and as many orphans as a busy day leaves.
func sentAll(t testing.TB, l campaign.Ledger, n int64) campaign.Run {
	t.Helper()
	r := ledgertest.Load(t, l, n)
	for _, s := range ledgertest.ClaimAll(t, l, r.No) {
		if _, err := l.Intend(context.Background(), []campaign.Intent{{Lease: s, Connection: "conn_1", From: s.Lo, To: s.Hi}}); err != nil {
			t.Fatal(err)
		}
		if err := l.Record(context.Background(), ledgertest.Acceptances(s, s.Lo, s.Hi)); err != nil {
			t.Fatal(err)
		}
	}
	var es []campaign.StatusEvent
	for i := range 1 + n/100 {
		id := fmt.Sprint("wamid.stranger.", i)
		es = append(es, campaign.StatusEvent{MessageID: id, Status: campaign.Sent, At: time.Now(), Recipient: i + 1})
	}
	if _, err := l.Apply(context.Background(), campaign.Events{Statuses: es}); err != nil {
		t.Fatal(err)
	}
	return r
}
