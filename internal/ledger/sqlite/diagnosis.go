package sqlite

import (
	"context"
	"fmt"
	"time"

	"campaignd/internal/ledger"
)

const (
	sqlJournalMode = `PRAGMA journal_mode`
	sqlQuickCheck  = `PRAGMA quick_check(1)`
)

// wholeFile is how long Diagnose reads the file. A page that is damaged is found by reading it, and
// a ledger with such a page opens as any other.
const wholeFile = 4 * time.Second

// Diagnose reads the setting that makes a commit durable, and the whole file. Every writer sets
// synchronous=FULL itself.
func (l *Ledger) Diagnose(ctx context.Context) (d ledger.Diagnosis, err error) {
	var mode string
	if err := l.read().row(ctx, sqlJournalMode, nil, &mode); err != nil {
		return d, err
	}
	d.Durable = "every commit is written through to the disk (journal_mode=wal, synchronous=FULL)"
	if mode != "wal" && mode != "memory" { // a copy that is read has none
		d.Unsafe = fmt.Errorf("its journal_mode is %s: another program changed it; stop that program, and start campaignd again", mode)
	}
	within, stop := context.WithTimeout(ctx, wholeFile)
	defer stop()
	var said string
	err = l.read().row(within, sqlQuickCheck, nil, &said)
	switch {
	case within.Err() != nil && ctx.Err() == nil:
		d.Unread = true
	case err != nil:
		return d, err
	case said != "ok":
		d.Damage = fmt.Errorf("ledger %s: the file is damaged: restore a backup: %s", l.path, said)
	}
	return d, nil
}
