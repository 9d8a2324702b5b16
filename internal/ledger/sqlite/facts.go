package sqlite

import (
	"context"
	"fmt"

	"campaignd/internal/ledger"
)

const sqlJournalMode = `PRAGMA journal_mode`

// Facts reads the settings on which durability rests. Every writer sets synchronous=FULL itself.
func (l *Ledger) Facts(ctx context.Context) (f ledger.Facts, err error) {
	var mode string
	if err := l.read().row(ctx, sqlJournalMode, nil, &mode); err != nil {
		return f, err
	}
	f.Durable = "every commit is written through to the disk (journal_mode=wal, synchronous=FULL)"
	if mode != "wal" && mode != "memory" { // a copy that is read has none
		f.Unsafe = fmt.Errorf("its journal_mode is %s: another program changed it; stop that program, and start campaignd again", mode)
	}
	return f, nil
}
