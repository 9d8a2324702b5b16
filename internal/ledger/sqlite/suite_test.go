package sqlite

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"campaignd/campaign"
	"campaignd/internal/ledger"
	"campaignd/internal/ledger/ledgertest"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if path := os.Getenv("LEDGER_TEST_CHILD"); path != "" {
		childSends(path)
	}
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given && !testing.Short() { // they wait for a server or a disk more than for a processor
		if err := flag.Set("test.parallel", strconv.Itoa(2*runtime.GOMAXPROCS(0))); err != nil {
			panic(err)
		}
	}
	goleak.VerifyTestMain(m)
}

// openTest opens a ledger in a folder of the test's own.
func openTest(t testing.TB, o ledger.Options) *Ledger {
	t.Helper()
	return openThrough(t, "sqlite", o)
}

// openThrough is openTest through a driver of database/sql.
func openThrough(t testing.TB, driver string, o ledger.Options) *Ledger {
	t.Helper()
	l, err := openWith(t.Context(), driver, filepath.Join(t.TempDir(), "test.db"), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

func TestSQLiteKeepsEveryPromiseOfTheLedger(t *testing.T) {
	t.Parallel()
	ledgertest.Run(t, func(t *testing.T) campaign.Ledger { return openTest(t, ledger.Options{}) })
}

// tables lets the suite look into a ledger's tables.
type tables struct{ *Ledger }

var dialect = strings.NewReplacer("NONE", "''", "ZERO", "0")

func (l tables) Alter(ctx context.Context, query string) error {
	return l.write(ctx, urgent, func(t *tx) error {
		_, err := t.exec(dialect.Replace(query))
		return err
	})
}

func (l tables) Stored(ctx context.Context, query string) (text string, err error) {
	err = l.read().row(ctx, query, nil, &text)
	return text, err
}

func (l tables) QuarantineAt(ctx context.Context, ahead, since, now int64) (n int64, err error) {
	err = l.write(ctx, urgent, func(t *tx) (err error) {
		n, err = t.quarantine(ahead, since, now)
		return err
	})
	return n, err
}

func (l tables) MessageHash(id string) int64 { return l.key.MessageHash(id) }

func (l tables) ReadOnly(ctx context.Context) error {
	r, err := Open(ctx, l.Path(), ledger.Options{ReadOnly: true})
	if err != nil {
		return err
	}
	return r.Close()
}

func TestSQLiteKeepsItsTablesAsPromised(t *testing.T) {
	ledgertest.RunTables(t, func(t *testing.T) ledgertest.Tables { return tables{openTest(t, ledger.Options{Sender: true})} })
}

func TestSQLiteKeepsItsPromisesToTheMillisecond(t *testing.T) {
	ledgertest.RunClock(t, func(t *testing.T, f func(*testing.T, campaign.Ledger, ledgertest.Clock)) {
		synctest.Test(t, func(t *testing.T) {
			f(t, openTest(t, ledger.Options{}), ledgertest.Clock{Now: time.Now, Pass: time.Sleep}) // virtual: the ledger's clock is the bubble's
		})
	})
}

// childSends is the process that TestAKilledProcessKeepsWhatItAcknowledged kills.
func childSends(path string) {
	fail := func(err error) {
		if err != nil {
			fmt.Println("error", err)
			os.Exit(1)
		}
	}
	ctx := context.Background()
	l, err := Open(ctx, path, ledger.Options{Sender: true})
	fail(err)
	ls, err := l.Claim(ctx, campaign.Claim{Owner: "child", Connection: "conn_1", Runs: []campaign.RunNo{1}, Max: 1, Lease: time.Hour})
	fail(err)
	for mark := ls[0].Mark; mark < ls[0].Hi; mark += 4 {
		g, err := l.Intend(ctx, []campaign.Intent{{Lease: ls[0], Connection: "conn_1", From: mark, To: mark + 4}})
		fail(err)
		fmt.Println("intended", g[0].To)
		fail(l.Record(ctx, ledgertest.Acceptances(ls[0], mark, mark+4)))
		fmt.Println("recorded", mark+4)
	}
	select {}
}

func TestAKilledProcessKeepsWhatItAcknowledged(t *testing.T) {
	path := filepath.Join(t.TempDir(), "test.db")
	l, err := Open(t.Context(), path, ledger.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r := ledgertest.Load(t, l, campaign.SegmentSize)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	for round := range 5 {
		child := exec.Command(os.Args[0])
		child.Env = append(os.Environ(), "LEDGER_TEST_CHILD="+path)
		out, err := child.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		said := map[string]int64{}
		lines := bufio.NewScanner(out)
		for n := 0; lines.Scan(); n++ {
			what, number, _ := strings.Cut(lines.Text(), " ")
			if what == "error" {
				t.Fatal(lines.Text())
			}
			said[what], _ = strconv.ParseInt(number, 10, 64)
			if n == 30+7*round {
				_ = child.Process.Kill()
			}
		}
		_, _ = io.Copy(io.Discard, out)
		_ = child.Wait()

		l, err := Open(t.Context(), path, ledger.Options{Sender: true}) // the dead process's lock is free
		if err != nil {
			t.Fatal(err)
		}
		ls := ledgertest.ClaimAll(t, l, r.No)
		if len(ls) != 1 || ls[0].Mark < said["intended"] || !ls[0].Recovered {
			t.Fatalf("round %d: %+v, the child said %v; want length 1, Mark at least %+v, Recovered", round, ls, said, said["intended"])
		}
		tallies, _, err := l.Tallies(t.Context(), r.No)
		if err != nil {
			t.Fatal(err)
		}
		by := map[campaign.Status]int64{}
		for _, x := range tallies {
			by[x.Status] += x.N
		}
		if by[campaign.Accepted]+by[campaign.InDoubt] < said["recorded"] {
			t.Errorf("round %d: %v, the child said %v; want by[Accepted]+by[InDoubt] at least %+v", round, tallies, said, said["recorded"])
		}
		if _, err := l.Recover(t.Context(), ls[0], time.Now()); err != nil {
			t.Fatal(err)
		}
		if err := l.Release(t.Context(), ls[0], nil); err != nil {
			t.Fatal(err)
		}
		if ps, err := l.Audit(t.Context(), r.No, 5); err != nil || len(ps) > 0 {
			t.Errorf("audit: %+v %v", ps, err)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestOneSenderAtATime(t *testing.T) {
	l := openTest(t, ledger.Options{Sender: true})
	_, err := Open(t.Context(), l.Path(), ledger.Options{Sender: true})
	if !errors.Is(err, campaign.ErrLocked) || !strings.Contains(err.Error(), strconv.Itoa(os.Getpid())) {
		t.Fatalf("second sender: %v; want ErrLocked, a text with %+v", err, strconv.Itoa(os.Getpid()))
	}
	r := ledgertest.Load(t, l, 1)
	beside, err := Open(t.Context(), l.Path(), ledger.Options{}) // the operator's commands work beside it
	if err != nil {
		t.Fatal(err)
	}
	defer beside.Close()
	if _, err := beside.SetWanted(t.Context(), r.No, campaign.WantPause); err != nil {
		t.Fatal(err)
	}
	ls := ledgertest.ClaimAll(t, l, r.No)
	g, err := l.Intend(t.Context(), []campaign.Intent{{Lease: ls[0], Connection: "conn_1", To: 1}})
	if err != nil || !g[0].Held {
		t.Errorf("a pause from another process: %+v %v; want no error, Held", g, err)
	}
	reader, err := Open(t.Context(), l.Path(), ledger.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	if got, err := reader.Run(t.Context(), r.No); err != nil || got.Wanted != campaign.WantPause {
		t.Errorf("got %+v %v; want no error, Wanted WantPause", got, err)
	}
	if _, err := reader.SetWanted(t.Context(), r.No, campaign.WantRun); err == nil {
		t.Error("a read-only ledger was written to")
	}
}

func TestWhoGetsTheLockTakesEveryLeaseAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "test.db")
	l, err := Open(t.Context(), path, ledger.Options{Sender: true})
	if err != nil {
		t.Fatal(err)
	}
	r := ledgertest.Load(t, l, 5000)
	old := ledgertest.ClaimAll(t, l, r.No)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if l, err = Open(t.Context(), path, ledger.Options{Sender: true}); err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	ls := ledgertest.ClaimAll(t, l, r.No)
	if len(old) != 2 || len(ls) != 2 || ls[0].Epoch != 2 || !ls[0].Recovered {
		t.Errorf("got %+v; want length 2, Epoch 2, Recovered", ls)
	}
}

func TestARestoredLedgerIsNoticed(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "test.db")
	open := func(o ledger.Options) (*Ledger, error) {
		o.Sender = true
		return Open(t.Context(), path, o)
	}
	session := func() campaign.Run {
		l, err := open(ledger.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		return ledgertest.Load(t, l, 10)
	}
	session()
	session()
	backup, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	session()
	if err := os.WriteFile(path, backup, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := open(ledger.Options{}); !errors.Is(err, ledger.ErrRestored) {
		t.Fatalf("a restored backup: %v; want ErrRestored", err)
	}
	looked, err := open(ledger.Options{AcceptRestored: true})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := looked.Claim(t.Context(), campaign.Claim{Connection: "conn_1", Runs: []campaign.RunNo{1}, Max: 1, Lease: time.Minute}); !errors.Is(err, ledger.ErrRestored) {
		t.Errorf("a claim before the quarantine: %v; want ErrRestored", err)
	}
	if _, err := looked.Intend(t.Context(), []campaign.Intent{{Connection: "conn_1", To: 1}}); !errors.Is(err, ledger.ErrRestored) {
		t.Errorf("an intent before the quarantine: %v; want ErrRestored", err)
	}
	if err := looked.Close(); err != nil {
		t.Fatal(err)
	}
	l, err := open(ledger.Options{AcceptRestored: true}) // who died before the quarantine has accepted nothing
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Restored(t.Context()); !errors.Is(err, ledger.ErrRestored) || strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), "run `campaignd ledger quarantine`") {
		t.Errorf("got %v; want ErrRestored, a text without \"\\n\", a text with \"run `campaignd ledger quarantine`\"", err)
	}
	n, err := l.Quarantine(t.Context(), 4, time.Now().Add(-time.Minute))
	if err != nil || n != 8 {
		t.Errorf("put %d in doubt, %v; want 4 of each run", n, err)
	}
	if got, err := l.Run(t.Context(), 1); err != nil || got.State != campaign.Paused || got.Reason != campaign.PausedByLedger {
		t.Errorf("got %+v %v; want no error, State Paused, Reason PausedByLedger", got, err)
	}
	if _, err := l.SetWanted(t.Context(), 1, campaign.WantRun); err != nil {
		t.Fatal(err)
	}
	if ls := ledgertest.ClaimAll(t, l, 1); len(ls) != 1 || ls[0].Mark != 4 {
		t.Errorf("got %+v; want length 1, Mark 4", ls)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	session() // accepted once, it is the ledger from now on

	if err := os.Remove(stampPath(path)); err != nil {
		t.Fatal(err)
	}
	if _, err := open(ledger.Options{}); !errors.Is(err, ledger.ErrRestored) {
		t.Errorf("a copied file: %v; want ErrRestored", err)
	}
}

func TestWhatCannotBeOpenedIsSaidInASentence(t *testing.T) {
	dir := t.TempDir()
	text := filepath.Join(dir, "notes.txt")
	if err := os.WriteFile(text, []byte(strings.Repeat("these are notes, not a ledger\n", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	damaged := filepath.Join(dir, "x.db")
	l, err := Open(t.Context(), damaged, ledger.Options{Sender: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(stampPath(damaged), []byte("what"), 0o600); err != nil {
		t.Fatal(err)
	}
	foreign := filepath.Join(dir, "music.db")
	other, err := sql.Open("sqlite", foreign)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := other.ExecContext(t.Context(), "CREATE TABLE songs (title TEXT)"); err != nil {
		t.Fatal(err)
	}
	if err := other.Close(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		path, want string
		o          ledger.Options
	}{
		{filepath.Join(dir, "no", "x.db"), "does not exist: create it", ledger.Options{}},
		{dir, "is a folder: name a file in it", ledger.Options{}},
		{text, "is not a campaignd ledger", ledger.Options{}},
		{foreign, "is not a campaignd ledger", ledger.Options{}},
		{filepath.Join(text, "x.db"), "notes.txt", ledger.Options{}},
		{filepath.Join(dir, "none.db"), "does not exist", ledger.Options{ReadOnly: true}},
		{damaged, "is damaged", ledger.Options{Sender: true}},
	} {
		l, err := Open(t.Context(), c.path, c.o)
		if err == nil {
			l.Close()
			t.Errorf("%s was opened", c.path)
			continue
		}
		if !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want a line with %q", c.path, err, c.want)
		}
	}
}

func TestAFolderThatCannotBeWrittenIsSaid(t *testing.T) {
	dir := "/proc" // not even root may make a file there
	if os.Getuid() != 0 {
		dir = t.TempDir()
		if err := os.Chmod(dir, 0o500); err != nil {
			t.Fatal(err)
		}
	}
	_, err := Open(t.Context(), filepath.Join(dir, "x.db"), ledger.Options{})
	if err == nil || !strings.Contains(err.Error(), "writable") {
		t.Errorf(`got %v; want an error, a text with "writable"`, err)
	}
}

func TestANewerSchemaIsRefused(t *testing.T) {
	l := openTest(t, ledger.Options{})
	db, err := sql.Open("sqlite", l.Path())
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(`INSERT INTO goose_db_version (version_id, is_applied) VALUES (9999, 1)`); err != nil {
		t.Fatal(err)
	}
	for _, o := range []ledger.Options{{}, {Sender: true}, {ReadOnly: true}} {
		if _, err := Open(t.Context(), l.Path(), o); !errors.Is(err, campaign.ErrNewer) {
			t.Errorf("%+v: %v, want ErrNewer", o, err)
		}
	}
}

func TestAMigrationTakenBackIsNotCounted(t *testing.T) {
	l := openTest(t, ledger.Options{})
	db := beside(t, l.Path())
	if _, err := db.ExecContext(t.Context(), `INSERT INTO goose_db_version (version_id, is_applied) VALUES (9999, 0)`); err != nil {
		t.Fatalf("writing the version: %v; want no error", err)
	}
	reader, err := Open(t.Context(), l.Path(), ledger.Options{ReadOnly: true})
	if err != nil {
		t.Fatalf("opened for reading: %v; want no error", err)
	}
	if err := reader.Close(); err != nil {
		t.Errorf("closing: %v; want no error", err)
	}
}

func TestAFailingOperationDoesNotSpoilItsGroup(t *testing.T) {
	l := openTest(t, ledger.Options{})
	boom := errors.New("boom")
	insert := func(key int64, fail error) *op {
		return &op{done: make(chan struct{}), run: func(t *tx) error {
			if _, err := t.suppress(campaign.Suppression{Key: key, Scope: campaign.ScopeAll}); err != nil {
				return err
			}
			return fail
		}}
	}
	sqlError := &op{done: make(chan struct{}), run: func(t *tx) error {
		_, err := t.exec(`INSERT INTO ledger (one, id, opens, hash_key) VALUES (2, '', 0, x'')`)
		return err
	}}
	ok1, bad, ok2 := insert(1, nil), insert(2, boom), insert(3, nil)
	busy, held := make(chan struct{}), make(chan struct{})
	go func() { // hold the writer so that the four become one group
		_ = l.write(context.Background(), urgent, func(*tx) error { close(busy); <-held; return nil })
	}()
	<-busy
	done := make(chan error, 4)
	for _, o := range []*op{ok1, bad, sqlError, ok2} {
		go func() { done <- l.submit(context.Background(), o) }()
	}
	for waiting := 0; waiting < 4; {
		l.writer.mu.Lock()
		waiting = len(l.writer.queues[urgent])
		l.writer.mu.Unlock()
		runtime.Gosched()
	}
	close(held)
	for range 4 {
		<-done
	}
	if ok1.err != nil || ok2.err != nil || !errors.Is(bad.err, boom) || sqlError.err == nil {
		t.Errorf("answers %v, %v, %v, %v; want none, boom, another error and none", ok1.err, bad.err, sqlError.err, ok2.err)
	}
	var keys []int64
	for s, err := range l.Suppressions(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, s.Key)
	}
	if fmt.Sprint(keys) != "[1 3]" {
		t.Errorf(`stored %v; want fmt.Sprint(keys) "[1 3]"`, keys)
	}
}

func TestACallAfterCloseFails(t *testing.T) {
	l := openTest(t, ledger.Options{})
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Runs(t.Context(), campaign.RunFilter{}); err == nil {
		t.Error("read after Close")
	}
	if err := l.ReportLanes(t.Context(), "a", nil); err == nil {
		t.Error("wrote after Close")
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}

func TestTheLedgerLivesInABubble(t *testing.T) {
	path := filepath.Join(t.TempDir(), "test.db")
	synctest.Test(t, func(t *testing.T) {
		l, err := Open(t.Context(), path, ledger.Options{Sender: true})
		if err != nil {
			t.Fatal(err)
		}
		r := ledgertest.Load(t, l, 100)
		claim := campaign.Claim{Owner: "a", Connection: "conn_1", Runs: []campaign.RunNo{r.No}, Max: 1, Lease: 15 * time.Second}
		ls, err := l.Claim(t.Context(), claim)
		if err != nil || len(ls) != 1 {
			t.Fatalf("got %+v %v; want no error, length 1", ls, err)
		}
		if _, err := l.Intend(t.Context(), []campaign.Intent{{Lease: ls[0], Connection: "conn_1", To: 10}}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(14 * time.Second)
		if more, err := l.Claim(t.Context(), claim); err != nil || len(more) != 0 {
			t.Fatalf("claimed before the lease ended: %+v %v; want no error, length 0", more, err)
		}
		time.Sleep(time.Second) // virtual: the ledger's clock is the bubble's
		more, err := l.Claim(t.Context(), claim)
		if err != nil || len(more) != 1 || more[0].Epoch != 2 {
			t.Fatalf("got %+v %v; want no error, length 1, Epoch 2", more, err)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

func TestTheWriteAheadLogStaysSmall(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "test.db")
	synctest.Test(t, func(t *testing.T) {
		l, err := Open(t.Context(), path, ledger.Options{Sender: true})
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		r := ledgertest.Load(t, l, 4*campaign.SegmentSize)
		time.Sleep(3 * time.Second)
		largest := int64(0)
		for _, lease := range ledgertest.ClaimAll(t, l, r.No) {
			for from := lease.Lo; from < lease.Hi; from += 64 {
				if _, err := l.Intend(t.Context(), []campaign.Intent{{Lease: lease, Connection: "conn_1", From: from, To: from + 64}}); err != nil {
					t.Fatal(err)
				}
				if err := l.Record(t.Context(), ledgertest.Acceptances(lease, from, from+64)); err != nil {
					t.Fatal(err)
				}
				time.Sleep(100 * time.Millisecond)
				if s, err := os.Stat(path + "-wal"); err == nil {
					largest = max(largest, s.Size())
				}
			}
		}
		if largest > 2*walLong {
			t.Errorf("the log grew to %d bytes; want at most %+v", largest, 2*walLong)
		}
		time.Sleep(5 * time.Second)
		if s, err := os.Stat(path + "-wal"); err != nil || s.Size() != 0 {
			t.Errorf("a quiet ledger keeps a log of %v bytes, %v; want no error, 0 of them", s.Size(), err)
		}
	})
}
