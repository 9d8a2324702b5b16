package sqlite

import (
	"cmp"
	"context"

	"campaignd/internal/ledger/sqlite/dbfile"
)

// Sendable returns why nothing may be sent from the ledger, and nil when a sender may. If the
// ledger is open to be read, that is whether a sender would be refused: ledger.ErrRestored. To a
// sender it also returns the error of Look.
func (l *Ledger) Sendable(ctx context.Context) error {
	if l.lock != nil {
		return cmp.Or(l.Look(), l.Restored(ctx))
	}
	path, err := dbfile.Resolve(cmp.Or(l.original, l.path))
	if err != nil {
		return err
	}
	for {
		before, _ := dbfile.ReadStamp(dbfile.StampPath(path)) // compare returns an error that matters
		s, was := dbfile.Stamp{}, ""
		if err := l.read().row(ctx, sqlNumberAndFiles, nil, &s.ID, &s.Number, &was); err != nil {
			return err
		}
		is, err := dbfile.IDOf(path)
		if err == nil {
			err = s.Compare(path, dbfile.ParseFiles(was), is)
		}
		if after, _ := dbfile.ReadStamp(dbfile.StampPath(path)); err != nil && after != before && ctx.Err() == nil {
			continue // a sender has renewed both in between
		}
		return explain(path, err)
	}
}

const sqlNumberAndFiles = `SELECT id, opens, files FROM ledger`
