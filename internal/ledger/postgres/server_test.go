//go:build unix

package postgres

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"campaignd/campaign"
	"campaignd/internal/ledger"
	"campaignd/internal/ledger/ledgertest"
	"campaignd/internal/ledger/pgtest"

	"github.com/jackc/pgx/v5"
)

// own starts a server that the test may harm.
func own(t *testing.T, settings ...string) *pgtest.Server {
	t.Helper()
	s, err := pgtest.Start(settings...)
	pgtest.Require(t, err)
	t.Cleanup(s.Stop)
	return s
}

func TestUnsafeDurabilityIsRefused(t *testing.T) {
	t.Parallel()
	s := own(t)
	for _, c := range []struct{ set, reset, want string }{
		{"ALTER ROLE postgres SET synchronous_commit = off", "ALTER ROLE postgres RESET synchronous_commit", "ALTER ROLE CURRENT_USER SET synchronous_commit = on"},
		{"ALTER ROLE postgres SET synchronous_commit = local", "ALTER ROLE postgres RESET synchronous_commit", "synchronous_commit is local"},
		{"ALTER SYSTEM SET fsync = off", "ALTER SYSTEM RESET fsync", "set fsync = on"},
		{"ALTER SYSTEM SET full_page_writes = off", "ALTER SYSTEM RESET full_page_writes", "set full_page_writes = on"},
		{"ALTER ROLE postgres SET synchronous_commit = remote_apply", "ALTER ROLE postgres RESET synchronous_commit", ""},
	} {
		if err := s.Exec(c.set); err != nil {
			t.Fatal(err)
		}
		if err := s.Restart(); err != nil {
			t.Fatal(err)
		}
		l, err := Open(t.Context(), s.URL("postgres"), ledger.Options{})
		if err == nil {
			err = l.Close()
		}
		if (err == nil) != (c.want == "") || err != nil && (!strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n")) {
			t.Errorf("%s: %v, want a line with %q", c.set, err, c.want)
		}
		if err := s.Exec(c.reset); err != nil {
			t.Fatal(err)
		}
	}
}

func TestWhatPostgresRefusesIsSaidInALine(t *testing.T) {
	s := server(t)
	foreign, closed := s.Database(t), s.Database(t)
	foreignTables(t, foreign)
	openAt(t, closed, ledger.Options{})
	if err := s.Exec("DROP ROLE IF EXISTS stranger; CREATE ROLE stranger LOGIN"); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ dsn, want string }{
		{s.URL("nothing"), "createdb"},
		{"postgres://u:secret@127.0.0.1:1/x?connect_timeout=1", "127.0.0.1:1/x: nothing answers there"},
		{"postgres://u:secret@127.0.0.1:1/x?sslmode=require", "nothing answers there"},
		{"postgres://u:secret@h/x?sslmode=sometimes", "sslmode"},
		{"postgres://postgres@" + s.Addr + "/postgres?sslmode=require", "sslmode=disable goes without TLS"},
		{"postgres://postgres@" + s.Addr + "/postgres?sslmod=disable", "it does not know a parameter of the address"},
		{foreign, "another program's tables"},
		{strings.Replace(closed, "postgres@", "stranger@", 1), "the role lacks a right"},
		{"postgres://u:an@d/secret@127.0.0.1:1/x", "write them as %40, %2F"},
		{"postgres://u:an?d&secret@127.0.0.1:1/x", "write them as %40, %2F"},
		{"postgres://127.0.0.1:1/x?user=u&password=secret&sslmode=sometimes", "sslmode"},
	} {
		l, err := Open(t.Context(), c.dsn, ledger.Options{})
		if err == nil {
			l.Close()
			t.Errorf("%s was opened", c.dsn)
			continue
		}
		if !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want a line with %q", c.dsn, err, c.want)
		}
		for _, once := range []string{"refused", "permission denied"} { // also when an attempt over TLS and one without say the same
			if n := strings.Count(err.Error(), once); n > 1 {
				t.Errorf("%s: said %d times: %v; want at most 1", c.dsn, n, err)
			}
		}
	}
}

// foreignTables puts another program's table into a database.
func foreignTables(t *testing.T, dsn string) {
	t.Helper()
	c, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Exec(t.Context(), "CREATE TABLE run (lap int)"); err != nil {
		t.Error(err)
	}
	if err := c.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestReplicasThatMigrateAtOnceAgree(t *testing.T) {
	t.Parallel()
	dsn := server(t).Database(t)
	var opening sync.WaitGroup
	for range 4 {
		opening.Go(func() {
			l, err := Open(t.Context(), dsn, ledger.Options{Sender: true})
			if err != nil {
				t.Error(err)
				return
			}
			if err := l.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	opening.Wait()
	l := openAt(t, dsn, ledger.Options{})
	ledgertest.Load(t, l, 3)
}

// next is the schema of a program to come: this one's and one more column.
func next(t *testing.T) fs.FS {
	t.Helper()
	dir, err := migrations()
	if err != nil {
		t.Fatal(err)
	}
	all := fstest.MapFS{"00099_next.sql": {Data: []byte("-- +goose Up\nALTER TABLE outcome ADD COLUMN more text;\nALTER TABLE segment ADD COLUMN more bigint NOT NULL DEFAULT 0;\n")}}
	names, err := fs.Glob(dir, "*.sql")
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range names {
		b, err := fs.ReadFile(dir, n)
		if err != nil {
			t.Fatal(err)
		}
		all[n] = &fstest.MapFile{Data: b}
	}
	return all
}

func TestARollingUpgradeLetsTheOlderProgramGoOn(t *testing.T) {
	t.Parallel()
	dsn := server(t).Database(t)
	old := openAt(t, dsn, ledger.Options{Sender: true})
	r := ledgertest.Load(t, old, 3000)
	s := ledgertest.ClaimAll(t, old, r.No)[0]
	halfway, upgraded := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(upgraded)
		<-halfway
		young, err := openMigrated(context.Background(), dsn, ledger.Options{Sender: true}, next(t))
		if err != nil {
			t.Error(err)
			return
		}
		if err := young.Close(); err != nil {
			t.Error(err)
		}
	}()
	send := func(from, to int64) {
		t.Helper()
		g, err := old.Intend(t.Context(), []campaign.Intent{{Lease: s, Connection: "conn_1", From: from, To: to}})
		if err != nil || g[0].To != to {
			t.Fatalf("got %+v, %v; want no error, To %+v", g, err, to)
		}
		if err := old.Record(t.Context(), ledgertest.Acceptances(s, from, to)); err != nil {
			t.Fatal(err)
		}
	}
	for from := int64(0); from < 2900; from += 100 {
		if from == 1000 {
			close(halfway)
		}
		send(from, from+100)
	}
	<-upgraded
	send(2900, 3000)
	if p, err := old.Park(t.Context(), s, time.Time{}, time.Minute); err != nil || !p.Done {
		t.Errorf("got %+v %v; want no error, Done", p, err)
	}
	for _, o := range []ledger.Options{{}, {Sender: true}, {ReadOnly: true}} { // one that starts now is told
		if _, err := Open(t.Context(), dsn, o); !errors.Is(err, campaign.ErrNewer) {
			t.Errorf("%+v: %v, want ErrNewer", o, err)
		}
	}
	if _, err := openMigrated(t.Context(), server(t).Database(t), ledger.Options{ReadOnly: true}, next(t)); err == nil {
		t.Error("a reader opened a database without a schema")
	}
}

func TestAReaderWritesNothing(t *testing.T) {
	dsn := migrated(t)
	l := openAt(t, dsn, ledger.Options{})
	r := ledgertest.Load(t, l, 5)
	reader := openAt(t, dsn, ledger.Options{ReadOnly: true})
	if got, err := reader.Run(t.Context(), r.No); err != nil || got.Rows != 5 {
		t.Errorf("got %+v %v; want no error, Rows 5", got, err)
	}
	if _, err := reader.SetWanted(t.Context(), r.No, campaign.WantPause); err == nil {
		t.Error("it wrote")
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Runs(t.Context(), campaign.RunFilter{}); err == nil {
		t.Error("read after Close")
	}
	if err := l.ReportLanes(t.Context(), "a", nil); err == nil {
		t.Error("wrote after Close")
	}
}

func TestARestartedServerIsSentFromWithoutACallFailing(t *testing.T) {
	t.Parallel()
	s := own(t)
	l := openAt(t, s.URL("postgres"), ledger.Options{Sender: true})
	r := ledgertest.Load(t, l, 400)
	lease := ledgertest.ClaimAll(t, l, r.No)[0]
	for from := int64(0); from < 400; from += 40 {
		g, err := l.Intend(t.Context(), []campaign.Intent{{Lease: lease, Connection: "conn_1", From: from, To: from + 40}})
		if err != nil || g[0].To != from+40 {
			t.Fatalf("got %+v, %v; want no error, To %+v", g, err, from+40)
		}
		if err := s.Restart(); err != nil { // all connections are dead now
			t.Fatal(err)
		}
		if err := l.Record(t.Context(), ledgertest.Acceptances(lease, from, from+40)); err != nil {
			t.Fatal(err)
		}
		if a, err := l.Apply(t.Context(), campaign.Events{Statuses: []campaign.StatusEvent{{MessageID: ledgertest.MessageID(r.No, from), Status: campaign.Sent, At: time.Now()}}}); err != nil || a.Matched != 1 {
			t.Fatalf("got %+v, %v; want no error, Matched 1", a, err)
		}
	}
	if p, err := l.Park(t.Context(), lease, time.Time{}, time.Minute); err != nil || !p.Done {
		t.Errorf("got %+v %v; want no error, Done", p, err)
	}
	if ps, err := l.Audit(t.Context(), r.No, 5); err != nil || len(ps) > 0 {
		t.Errorf("got %+v %v; want no error, none", ps, err)
	}
}

func TestAServerThatIsAwayFailsCallsSoon(t *testing.T) {
	t.Parallel()
	s := own(t)
	l := openAt(t, s.URL("postgres"), ledger.Options{Sender: true})
	ledgertest.Load(t, l, 1)
	s.Crash()
	began := time.Now()
	for range 20 { // a webhook must be answered 503 at once
		if _, err := l.Apply(t.Context(), campaign.Events{Statuses: []campaign.StatusEvent{{MessageID: "x", Status: campaign.Sent}}}); err == nil {
			t.Fatal("written to a server that is away")
		}
	}
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("20 calls took %s; want at most %+v", took, 10*time.Second)
	}
	if err := s.Restart(); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(5 * time.Second); ; {
		if _, err := l.Apply(t.Context(), campaign.Events{Statuses: []campaign.StatusEvent{{MessageID: "x", Status: campaign.Sent}}}); err == nil {
			break
		} else if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
}

func TestARestoredServerIsNoticed(t *testing.T) {
	t.Parallel()
	s := own(t)
	open := func(o ledger.Options) (*Ledger, error) {
		o.Sender = true
		return Open(t.Context(), s.URL("postgres"), o)
	}
	l, err := open(ledger.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	r := ledgertest.Load(t, l, 100)
	lease := ledgertest.ClaimAll(t, l, r.No)[0]
	intent := func(from, to int64) error {
		_, err := l.Intend(t.Context(), []campaign.Intent{{Lease: lease, Connection: "conn_1", From: from, To: to}})
		return err
	}
	if err := intent(0, 10); err != nil {
		t.Fatal(err)
	}
	if err := s.Restore(); err != nil {
		t.Fatal(err)
	}
	if err := l.Record(t.Context(), ledgertest.Acceptances(lease, 0, 10)); err != nil { // facts are facts
		t.Fatal(err)
	}
	if err := intent(10, 20); !errors.Is(err, ledger.ErrRestored) {
		t.Errorf("an intent on another timeline: %v; want ErrRestored", err)
	}
	if _, err := l.Claim(t.Context(), campaign.Claim{Connection: "conn_1", Runs: []campaign.RunNo{r.No}, Max: 1, Lease: time.Minute}); !errors.Is(err, ledger.ErrRestored) {
		t.Errorf("a claim on another timeline: %v; want ErrRestored", err)
	}
	if _, err := open(ledger.Options{}); !errors.Is(err, ledger.ErrRestored) || strings.Contains(err.Error(), "\n") {
		t.Errorf("opened on another timeline: %v; want ErrRestored, a text without \"\\n\"", err)
	}
	operator, err := open(ledger.Options{AcceptRestored: true})
	if err != nil {
		t.Fatal(err)
	}
	defer operator.Close()
	if err := operator.Restored(t.Context()); !errors.Is(err, ledger.ErrRestored) {
		t.Errorf("before the quarantine: %v; want ErrRestored", err)
	}
	if _, err := open(ledger.Options{}); !errors.Is(err, ledger.ErrRestored) {
		t.Errorf("who only looked has accepted it: %v; want ErrRestored", err)
	}
	n, err := operator.Quarantine(t.Context(), 15, time.Now().Add(-time.Minute))
	if err != nil || n != 15 {
		t.Errorf("put %d in doubt, %v; want no error, 15", n, err)
	}
	if got, err := operator.Run(t.Context(), r.No); err != nil || got.State != campaign.Paused || got.Reason != campaign.PausedByLedger {
		t.Errorf("got %+v %v; want no error, State Paused, Reason PausedByLedger", got, err)
	}
	if _, err := operator.SetWanted(t.Context(), r.No, campaign.WantRun); err != nil {
		t.Fatal(err)
	}
	ls := ledgertest.ClaimAll(t, l, r.No) // the process that stayed goes on
	if len(ls) != 1 || ls[0].Mark != 25 {
		t.Fatalf("got %+v; want length 1, Mark 25", ls)
	}
	if got := ledgertest.Totals(t, l, r.No); got[campaign.Accepted] != 10 || got[campaign.InDoubt] != 15 || got[campaign.Queued] != 75 {
		t.Errorf("got %v; want Accepted: 10, InDoubt: 15, Queued: 75", got)
	}
}

func TestALedgerInAnotherServerIsNoticed(t *testing.T) {
	dsn := migrated(t)
	l := openAt(t, dsn, ledger.Options{Sender: true})
	if err := l.read(t.Context(), l.sender, stmt(nil, `UPDATE ledger SET system = system - 1`)); err != nil { // as a dump would say
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), dsn, ledger.Options{Sender: true}); !errors.Is(err, ledger.ErrRestored) {
		t.Errorf("got %v; want ErrRestored", err)
	}
	openAt(t, dsn, ledger.Options{}) // to read and to pause it is no danger
	operator := openAt(t, dsn, ledger.Options{Sender: true, AcceptRestored: true})
	if _, err := operator.Quarantine(t.Context(), 1, time.Now()); err != nil {
		t.Fatal(err)
	}
	if err := openAt(t, dsn, ledger.Options{Sender: true}).Restored(t.Context()); err != nil {
		t.Errorf("after its quarantine: %v; want no error", err)
	}
}

func TestAMarkThatWentBackIsRaisedAndDoubted(t *testing.T) {
	l := openShared(t, ledger.Options{Sender: true})
	r := ledgertest.Load(t, l, 100)
	lease := ledgertest.ClaimAll(t, l, r.No)[0]
	if _, err := l.Intend(t.Context(), []campaign.Intent{{Lease: lease, Connection: "conn_1", To: 30}}); err != nil {
		t.Fatal(err)
	}
	back := stmt(nil, `UPDATE segment SET mark = 10`)
	if err := l.read(t.Context(), l.sender, back); err != nil {
		t.Fatal(err)
	}
	g, err := l.Intend(t.Context(), []campaign.Intent{{Lease: lease, Connection: "conn_1", From: 10, To: 20}})
	if err != nil || !g[0].Fenced {
		t.Fatalf("sent again: %+v %v; want no error, Fenced", g, err)
	}
	if err := l.read(t.Context(), l.sender, back); err != nil {
		t.Fatal(err)
	}
	if ls := ledgertest.ClaimAll(t, l, r.No); len(ls) != 0 {
		t.Fatalf("claimed with a mark that is too low: %+v; want length 0", ls)
	}
	ls := ledgertest.ClaimAll(t, l, r.No)
	if len(ls) != 1 || ls[0].Mark != 30 || !ls[0].Recovered {
		t.Fatalf("got %+v; want length 1, Mark 30, Recovered", ls)
	}
	if n, err := l.Recover(t.Context(), ls[0], time.Now()); err != nil || n != 30 {
		t.Errorf("recovered %d %v; want no error, 30", n, err)
	}
}

func TestWhatNoDatabaseStoresSpoilsNoBatch(t *testing.T) {
	l := openShared(t, ledger.Options{})
	r := ledgertest.Load(t, l, 3)
	s := ledgertest.ClaimAll(t, l, r.No)[0]
	odd := "a\x00b\xffc"
	long := strings.Repeat("x", 100_000)
	a := campaign.Result{Run: r.No, Attempt: 1, Kind: campaign.ResultAccepted, MessageID: odd, Warning: odd}
	b := campaign.Result{Run: r.No, Seq: 1, Attempt: 1, Kind: campaign.ResultRefused, Code: odd, Detail: odd, RequestID: odd, TraceID: odd}
	if err := l.Record(t.Context(), []campaign.Result{a, b, {Run: r.No, Seq: 2, Attempt: 1, Kind: campaign.ResultAccepted, MessageID: "fine"}}); err != nil {
		t.Fatal(err)
	}
	done, err := l.Apply(t.Context(), campaign.Events{
		Statuses: []campaign.StatusEvent{{MessageID: odd, Status: campaign.Failed, Code: odd, Connection: odd}, {MessageID: long, Status: campaign.Sent},
			{MessageID: odd + "?", Status: campaign.Failed, Code: odd, Connection: odd}, {MessageID: "fine", Status: campaign.Read}},
		Suppressions: []campaign.Suppression{{Key: 1, To: odd, Scope: campaign.ScopeAll, Source: odd}},
		Templates:    []campaign.TemplateEvent{{Name: odd, Language: odd, Event: "PAUSED", Reason: odd}}})
	if err != nil || done != (campaign.Applied{Matched: 2, Orphaned: 2}) {
		t.Errorf("got %+v %v; want no error, %+v", done, err, campaign.Applied{Matched: 2, Orphaned: 2})
	}
	if err := l.Record(t.Context(), []campaign.Result{{Run: r.No, Seq: 1, Attempt: 1, Kind: campaign.ResultAccepted, MessageID: long}}); err != nil {
		t.Error(err)
	}
	_ = s
}

func TestReportsDoNotKeepWebhooksWaiting(t *testing.T) {
	l := openShared(t, ledger.Options{})
	var held []*conn
	for range poolSize {
		c, err := l.reports.acquire(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		held = append(held, c)
	}
	if _, err := l.Apply(t.Context(), campaign.Events{Statuses: []campaign.StatusEvent{{MessageID: "x", Status: campaign.Sent}}}); err != nil {
		t.Error(err)
	}
	if _, err := l.Runs(t.Context(), campaign.RunFilter{}); err != nil {
		t.Error(err)
	}
	for _, c := range held {
		l.reports.release(c)
	}
}
