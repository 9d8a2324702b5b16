//go:build unix

package postgres

import (
	"errors"
	"strings"
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/internal/ledger"
	"campaignd/internal/ledger/ledgertest"
	"campaignd/internal/ledger/postgres/connect"
)

// elsewhere returns the address of a ledger whose search_path has the schema "elsewhere" before
// pg_catalog. The functions given replace PostgreSQL's own.
func elsewhere(t *testing.T, functions ...string) string {
	t.Helper()
	url := migrated(t)
	c := beside(t, url)
	for _, f := range append([]string{`CREATE SCHEMA elsewhere`}, functions...) {
		if _, err := c.Exec(t.Context(), f); err != nil {
			t.Fatalf("%s: %v; want no error", f, err)
		}
	}
	more := "?"
	if strings.Contains(url, "?") {
		more = "&"
	}
	return url + more + "search_path=public,elsewhere,pg_catalog"
}

// setting returns a function that replaces the value of one setting.
func setting(name, value string) string {
	return `CREATE FUNCTION elsewhere.current_setting(n text) RETURNS text LANGUAGE sql STABLE AS
		$$ SELECT CASE n WHEN '` + name + `' THEN '` + value + `' ELSE pg_catalog.current_setting(n) END $$`
}

const inRecovery = `CREATE FUNCTION elsewhere.pg_is_in_recovery() RETURNS boolean LANGUAGE sql STABLE AS 'SELECT true'`

func TestAServerThatMayLoseCommitsIsRefused(t *testing.T) {
	t.Parallel()
	url := elsewhere(t)
	for name, c := range map[string]struct {
		function string
		is       error
		want     string // "": it is opened
	}{
		"Standby": {inRecovery, connect.ErrStandby,
			"it is a read-only standby: name the primary, or several hosts with target_session_attrs=read-write"},
		"Version12":    {setting("server_version_num", "129999"), connect.ErrUnsafe, "it is PostgreSQL 12, and 13 or newer is needed"},
		"Version13":    {setting("server_version_num", "130000"), nil, ""},
		"Asynchronous": {setting("synchronous_commit", "off"), connect.ErrUnsafe, "synchronous_commit is off, so that a crash"},
		"Local":        {setting("synchronous_commit", "local"), connect.ErrUnsafe, "synchronous_commit is local, so that a crash"},
		"RemoteWrite":  {setting("synchronous_commit", "remote_write"), nil, ""},
		"RemoteApply":  {setting("synchronous_commit", "remote_apply"), nil, ""},
		"NoFsync":      {setting("fsync", "off"), connect.ErrUnsafe, "fsync is off, so that a power cut would destroy the ledger"},
		"TornPages":    {setting("full_page_writes", "off"), connect.ErrUnsafe, "full_page_writes is off, so that a power cut would tear pages"},
	} {
		conn := beside(t, url) // a new one each: prepared statements keep the functions that they found
		if _, err := conn.Exec(t.Context(), `BEGIN; `+c.function); err != nil {
			t.Fatalf("%s: %v; want no error", name, err)
		}
		err := (&Ledger{}).checkServer(t.Context(), conn)
		if !errors.Is(err, c.is) || c.want != "" && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: checked: %v; want %v with %q", name, err, c.is, c.want)
		}
		if err := (&Ledger{readOnly: true}).checkServer(t.Context(), conn); err != nil {
			t.Errorf("%s: checked by a reader: %v; want no error", name, err)
		}
		if _, err := conn.Exec(t.Context(), `ROLLBACK`); err != nil {
			t.Fatalf("%s: %v; want no error", name, err)
		}
	}
}

// A proxy may move an old connection to a promoted standby, so the claim itself reads the timeline.
func TestAClaimNoticesAPromotedStandby(t *testing.T) {
	t.Parallel()
	l := openAt(t, elsewhere(t, `CREATE TABLE elsewhere.promoted (n int)`,
		`CREATE FUNCTION elsewhere.pg_walfile_name(l pg_lsn) RETURNS text LANGUAGE sql STABLE AS
			$$ SELECT lpad((1 + count(*))::text, 8, '0') || substr(pg_catalog.pg_walfile_name(l), 9) FROM elsewhere.promoted $$`),
		ledger.Options{Sender: true})
	r := ledgertest.Load(t, l, 10)
	promote := stmt(nil, `INSERT INTO elsewhere.promoted VALUES (1)`)
	if err := l.read(t.Context(), l.sender, promote); err != nil {
		t.Fatalf("promoting: %v; want no error", err)
	}
	if err := l.ReportLanes(t.Context(), "held up", nil); err != nil {
		t.Fatal(err)
	}
	if at, err := l.Newest(t.Context()); err != nil || !at.IsZero() {
		t.Errorf("a report to the promoted standby: the newest record is of %v, %v; want none", at, err)
	}
	c := campaign.Claim{Owner: "test", Connection: "conn_1", Runs: []campaign.RunNo{r.No}, Max: 1, Lease: time.Hour}
	for _, when := range []string{"at first", "again"} {
		ls, err := l.Claim(t.Context(), c)
		if !errors.Is(err, ledger.ErrRestored) || len(ls) > 0 || !strings.Contains(err.Error(), "was on timeline 1 and is on 2 now") {
			t.Errorf("claimed %s: %v, %v; want no lease, and ErrRestored from timeline 1 to 2", when, ls, err)
		}
	}
	if err := l.read(t.Context(), l.sender, stmt(nil, `DELETE FROM elsewhere.promoted`)); err != nil {
		t.Fatalf("going back: %v; want no error", err)
	}
	if ls, err := l.Claim(t.Context(), c); err != nil || len(ls) != 1 {
		t.Errorf("claimed where it was: %v, %v; want one lease and no error", ls, err)
	}
	if err := l.ReportLanes(t.Context(), "test", nil); err != nil {
		t.Fatal(err)
	}
	alive := time.Now().Add(-time.Minute)
	if at, err := l.Newest(t.Context()); err != nil || at.Before(alive) {
		t.Errorf("a report where it was: the newest record is of %v, %v; want one of now", at, err)
	}
}

func TestAPostgresLedgerOfADamagedKeyIsNotOpened(t *testing.T) {
	t.Parallel()
	url := migrated(t)
	if _, err := beside(t, url).Exec(t.Context(), `UPDATE ledger SET hash_key = substr(hash_key, 1, 15)`); err != nil {
		t.Fatalf("cutting the key: %v; want no error", err)
	}
	const want = "its message hash key is damaged: restore a backup"
	for _, o := range []ledger.Options{{}, {Sender: true}, {ReadOnly: true}} {
		l, err := Open(t.Context(), url, o)
		if err == nil {
			l.Close()
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("opened with %+v: %v; want an error with %q", o, err, want)
		}
	}
}

// A connection that reports another server makes the sender check again, and it goes on when the
// server is the known one after all.
func TestADoubtfulConnectionOnlyDelaysSending(t *testing.T) {
	t.Parallel()
	l := openAt(t, elsewhere(t, `CREATE TABLE elsewhere.flickers (n int)`,
		`CREATE FUNCTION elsewhere.pg_walfile_name(l pg_lsn) RETURNS text LANGUAGE plpgsql VOLATILE AS $$ BEGIN
			IF EXISTS (SELECT 1 FROM elsewhere.flickers) AND coalesce(pg_catalog.current_setting('test.asked', true), '') = '' THEN
				PERFORM set_config('test.asked', 'yes', false);
				RETURN lpad('2', 8, '0') || substr(pg_catalog.pg_walfile_name(l), 9); -- the first answer of a connection
			END IF;
			RETURN pg_catalog.pg_walfile_name(l); END $$`), ledger.Options{Sender: true})
	r := ledgertest.Load(t, l, 10)
	if err := l.read(t.Context(), l.sender, stmt(nil, `INSERT INTO elsewhere.flickers VALUES (1)`)); err != nil {
		t.Fatalf("preparing: %v; want no error", err)
	}
	c := campaign.Claim{Owner: "test", Connection: "conn_1", Runs: []campaign.RunNo{r.No}, Max: 1, Lease: time.Hour}
	l.sender.Forget()
	ls, err := l.Claim(t.Context(), c)
	if err != nil || len(ls) != 0 {
		t.Fatalf("claimed over a doubtful connection: %v, %v; want no lease and no error", ls, err)
	}
	ls, err = l.Claim(t.Context(), c)
	if err != nil || len(ls) != 1 {
		t.Fatalf("claimed again: %v, %v; want one lease and no error", ls, err)
	}
	l.sender.Forget()
	g, err := l.Intend(t.Context(), []campaign.Intent{{Lease: ls[0], Connection: "conn_1", To: 10}})
	if err != nil || len(g) != 1 || g[0].To != 10 {
		t.Errorf("intended over a doubtful connection: %+v, %v; want up to 10 and no error", g, err)
	}
}

// A claim over a connection to another server returns no lease and ErrRestored.
func TestAClaimOnAnotherServerIsRestored(t *testing.T) {
	t.Parallel()
	l := openAt(t, elsewhere(t, `CREATE TABLE elsewhere.restored (n int)`,
		`CREATE FUNCTION elsewhere.pg_control_system() RETURNS TABLE (system_identifier bigint) LANGUAGE sql STABLE AS
			$$ SELECT c.system_identifier + (SELECT count(*) FROM elsewhere.restored) FROM pg_catalog.pg_control_system() c $$`),
		ledger.Options{Sender: true})
	r := ledgertest.Load(t, l, 10)
	if err := l.read(t.Context(), l.sender, stmt(nil, `INSERT INTO elsewhere.restored VALUES (1)`)); err != nil {
		t.Fatalf("restoring: %v; want no error", err)
	}
	l.sender.Forget()
	claim := campaign.Claim{Owner: "test", Connection: "conn_1", Runs: []campaign.RunNo{r.No}, Max: 1, Lease: time.Hour}
	ls, err := l.Claim(t.Context(), claim)
	if !errors.Is(err, ledger.ErrRestored) || len(ls) != 0 {
		t.Errorf("claimed on another server: %v, %v; want no lease, and ErrRestored", ls, err)
	}
}

func TestALedgerInAnotherServerIsNoticed(t *testing.T) {
	dsn := migrated(t)
	l := openAt(t, dsn, ledger.Options{Sender: true})
	if err := l.read(t.Context(), l.sender, stmt(nil, `UPDATE ledger SET system = system - 1`)); err != nil { // as after a restored dump
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), dsn, ledger.Options{Sender: true}); !errors.Is(err, ledger.ErrRestored) {
		t.Errorf("got %v; want ErrRestored", err)
	}
	openAt(t, dsn, ledger.Options{}) // it may be read and paused
	operator := openAt(t, dsn, ledger.Options{Sender: true, AcceptRestored: true})
	if _, err := operator.Quarantine(t.Context(), 1, nil, time.Now()); err != nil {
		t.Fatal(err)
	}
	if err := openAt(t, dsn, ledger.Options{Sender: true}).Restored(t.Context()); err != nil {
		t.Errorf("after its quarantine: %v; want no error", err)
	}
}
