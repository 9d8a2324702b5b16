package sqlite

import (
	"context"
	"fmt"

	"campaignd/internal/ledger"
)

const sqlJournalMode = `PRAGMA journal_mode`

// Diagnose reads the setting that makes a commit durable. Every writer sets synchronous=FULL
// itself.
func (l *Ledger) Diagnose(ctx context.Context) (d ledger.Diagnosis, err error) {
	var mode string
	if err := l.read().row(ctx, sqlJournalMode, nil, &mode); err != nil {
		return d, err
	}
	d.Durable = "every commit is written through to the disk (journal_mode=wal, synchronous=FULL)"
	if mode != "wal" && mode != "memory" { // a copy that is read has none
		d.Unsafe = fmt.Errorf("its journal_mode is %s: another program changed it; stop that program, and start campaignd again", mode)
	}
	return d, nil
}
