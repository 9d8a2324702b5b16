package portable

import (
	"context"
	"time"
)

// listingKept is how long a listing stays after it was asked for last.
const listingKept = 24 * time.Hour

const (
	sqlListing     = `SELECT text, ledger_now() - at FROM listing WHERE name = $1`
	sqlKeepListing = `INSERT INTO listing (name, at, text) VALUES ($1, ledger_now(), $2)
		ON CONFLICT (name) DO UPDATE SET at = ledger_now(), text = $2`
	sqlDropListing = `DELETE FROM listing WHERE substr(name, 1, length($1)) = $1`
	sqlOldListings = `DELETE FROM listing WHERE at < ledger_now() - $1`
)

// Listing implements campaign.ListingLedger, on the clock of the database.
func (l *Ledger) Listing(ctx context.Context, name string) (text string, age time.Duration, err error) {
	var passed int64
	_, err = l.row(ctx, Reports, []any{&text, &passed}, sqlListing, name)
	return text, max(time.Duration(passed)*time.Millisecond, 0), err
}

// KeepListing implements campaign.ListingLedger.
func (l *Ledger) KeepListing(ctx context.Context, name, text string) error {
	return l.db.Change(ctx, Reports, func(t Tx) error {
		if _, err := t.Exec(sqlOldListings, listingKept.Milliseconds()); err != nil {
			return err
		}
		_, err := t.Exec(sqlKeepListing, name, text)
		return err
	})
}

// DropListings implements campaign.ListingLedger.
func (l *Ledger) DropListings(ctx context.Context, prefix string) error {
	return l.db.Change(ctx, Reports, func(t Tx) error {
		_, err := t.Exec(sqlDropListing, prefix)
		return err
	})
}
