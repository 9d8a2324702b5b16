package portable

import (
	"cmp"
	"context"

	"campaignd/campaign"
	"campaignd/internal/ledger"
	"campaignd/recipients"
)

// PersonRecords implements campaign.PersonLedger.
func (l *Ledger) PersonRecords(ctx context.Context, key int64, rows []campaign.Line) (all []campaign.PersonRecord, err error) {
	for i := range ledger.PersonTables {
		t := &ledger.PersonTables[i]
		read := func(args ...any) error {
			found, err := list(ctx, l.db, Reports, func(scan Scan) (campaign.PersonRecord, error) { return t.Scan(scan) }, t.Query(), args...)
			all = append(all, found...)
			return err
		}
		if !t.ByRow {
			if err := read(key, cmp.Or(recipients.Other(key), key)); err != nil {
				return nil, err
			}
			continue
		}
		for i := range rows {
			if err := read(ledger.RowID(rows[i].Run, rows[i].Seq)); err != nil {
				return nil, err
			}
		}
	}
	return all, nil
}
