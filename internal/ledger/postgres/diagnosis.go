package postgres

import (
	"context"
	"fmt"
	"time"

	"campaignd/internal/ledger"
	"campaignd/internal/ledger/postgres/connect"
)

// settings are those that make the commits of a session durable.
type settings struct {
	commit, fsync, pages string
	standby              bool
	version              int
}

func (s *settings) query() *query {
	return rowOf([]any{&s.commit, &s.fsync, &s.pages, &s.standby, &s.version}, sqlSettings)
}

// unsafe names the first setting that can lose a commit, and its remedy; nil: there is none.
func (s *settings) unsafe() error {
	switch {
	case s.standby:
		return connect.ErrStandby
	case s.version < 130000:
		return fmt.Errorf("%w: it is PostgreSQL %d, and 13 or newer is needed", connect.ErrUnsafe, s.version/10000)
	case s.commit != "on" && s.commit != "remote_write" && s.commit != "remote_apply":
		return fmt.Errorf("%w: synchronous_commit is %s, so that a crash of the server would make recipients get a message twice: "+
			"ALTER ROLE CURRENT_USER SET synchronous_commit = on", connect.ErrUnsafe, s.commit)
	case s.fsync != "on":
		return fmt.Errorf("%w: fsync is %s, so that a power cut would destroy the ledger: "+
			"set fsync = on in postgresql.conf", connect.ErrUnsafe, s.fsync)
	case s.pages != "on":
		return fmt.Errorf("%w: full_page_writes is %s, so that a power cut would tear pages of the ledger: "+
			"set full_page_writes = on in postgresql.conf", connect.ErrUnsafe, s.pages)
	}
	return nil
}

const sqlStandbysAndClock = `SELECT current_setting('synchronous_standby_names'), (extract(epoch FROM clock_timestamp()) * 1000000)::bigint`

// Diagnose reads the settings and the clock of the server, also of a ledger that is open for
// reading only.
func (l *Ledger) Diagnose(ctx context.Context) (d ledger.Diagnosis, err error) {
	var set settings
	var standbys string
	var micros int64
	if err := l.read(ctx, l.reports, set.query(), rowOf([]any{&standbys, &micros}, sqlStandbysAndClock)); err != nil {
		return d, err
	}
	d.Unsafe, d.Clock = set.unsafe(), time.UnixMicro(micros)
	d.Durable = fmt.Sprintf("PostgreSQL %d with synchronous_commit=%s, fsync=%s, full_page_writes=%s", set.version/10000, set.commit,
		set.fsync, set.pages)
	d.Failover = failover(standbys, set.commit)
	return d, nil
}

// failover says what a failover will need (docs/recovery.md#after-a-failover).
func failover(standbys, commit string) string {
	const stops = "sending stops until `campaignd ledger quarantine`"
	if standbys == "" {
		return "no standby is synchronous (synchronous_standby_names is empty), so a failover may lose the last transactions: " + stops +
			" has run, with the time that was lost"
	}
	if commit == "remote_write" {
		return "with synchronous_commit=remote_write a synchronous standby whose machine fails too may lose the last transactions: " + stops +
			" has run; with --lost 0s only if it did not fail"
	}
	return fmt.Sprintf("%s --lost 0s has run if the new primary was synchronous to the end (synchronous_standby_names is %q), "+
		"and otherwise with the time that was lost", stops, standbys)
}

// Sendable returns ledger.ErrRestored when the ledger is on another server or timeline than the one
// that it was last accepted on.
func (l *Ledger) Sendable(ctx context.Context) error {
	var here, known serverIdentity
	if err := l.read(ctx, l.reports, rowOf([]any{&here.system, &here.timeline}, sqlServer),
		rowOf([]any{&known.system, &known.timeline}, sqlKnownServer)); err != nil {
		return err
	}
	if known != here {
		return l.explain(restored(known, here))
	}
	return nil
}
