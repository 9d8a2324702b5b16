package sqlite

import (
	"strings"

	"campaignd/internal/ledger"
	"campaignd/internal/ledger/portable"
)

// present returns columns without NULL.
func present(columns []string) string {
	return `SELECT coalesce(` + strings.Join(columns[:5], `, 0), coalesce(`) + `, 0), coalesce(` +
		strings.Join(columns[5:], `, ''), coalesce(`) + `, '')`
}

var (
	// The outcomes without a delivery are a query of their own, for the reason that paired tells.
	sqlCounted = present(portable.CountedColumns[:]) + ` FROM delivery d LEFT JOIN outcome o ON o.rid = d.rid
		WHERE d.rid >= $1 AND d.rid < $2
		UNION ALL ` + present(portable.CountedColumns[:]) + ` FROM outcome o LEFT JOIN delivery d ON d.rid = o.rid
		WHERE o.rid >= $1 AND o.rid < $2 AND d.rid IS NULL`
	sqlCountedOutcomes = present(portable.CountedOutcome[:]) + ` FROM outcome o WHERE rid >= $1 AND rid < $2`
)

// counted is Counted of package portable.
func counted(each portable.Each, f func(*ledger.CountedRow), deliveries bool, from, to, marked int64) error {
	statement := sqlCountedOutcomes
	if deliveries {
		statement = sqlCounted
	}
	var r ledger.CountedRow
	into := []any{&r.Delivery, &r.Result, &r.DeliveredAt, &r.ReadAt, &r.FailedAt, &r.Connection, &r.Code}
	return each(func(scan portable.Scan) error {
		err := scan(into...)
		f(&r)
		return err
	}, statement, from, to, marked)
}
