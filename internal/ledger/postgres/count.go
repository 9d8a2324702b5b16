package postgres

import (
	"encoding/binary"
	"errors"
	"strings"

	"campaignd/internal/ledger"
	"campaignd/internal/ledger/portable"

	"github.com/jackc/pgx/v5/pgtype"
)

// arrays returns columns of all rows as one array each: the server needs less CPU for it than for
// rows or groups, and a NULL in it costs nothing.
func arrays(columns []string) string {
	all := `SELECT array_agg(` + strings.Join(columns, `), array_agg(`) + `)`
	return strings.ReplaceAll(all, `array_agg(NULL)`, `array_agg(NULL::bigint)`)
}

var (
	sqlCounted = arrays(portable.CountedColumns[:]) + ` FROM (SELECT rid, key FROM delivery WHERE rid >= $1 AND rid < $2) d
		FULL JOIN (SELECT * FROM outcome WHERE rid >= $1 AND rid < $2) o ON o.rid = d.rid`
	sqlCountedOutcomes = arrays(portable.CountedOutcome[:]) + ` FROM outcome o WHERE rid >= $1 AND rid < $2`
)

// counted is Counted of package portable.
func counted(each portable.Each, f func(*ledger.CountedRow), deliveries bool, from, to, marked int64) error {
	statement := sqlCountedOutcomes
	if deliveries {
		statement = sqlCounted
	}
	return each(func(scan portable.Scan) error {
		var all [len(portable.CountedColumns)]pgtype.UndecodedBytes
		if err := scan(&all[0], &all[1], &all[2], &all[3], &all[4], &all[5], &all[6]); err != nil || all[0] == nil {
			return err // without rows, the arrays are NULL
		}
		var columns [len(all)]elements
		for i := range all {
			var err error
			if columns[i], err = elementsOf(all[i]); err != nil {
				return err
			}
		}
		var r ledger.CountedRow
		for columns[0].n > 0 {
			numbers := [...]*int64{&r.Delivery, &r.Result, &r.DeliveredAt, &r.ReadAt, &r.FailedAt}
			for i, to := range numbers {
				*to = 0
				if b := columns[i].next(); len(b) == 8 {
					*to = int64(binary.BigEndian.Uint64(b))
				}
			}
			r.Connection, r.Code = string(columns[5].next()), string(columns[6].next())
			f(&r)
		}
		for i := range columns {
			if columns[i].n != 0 || len(columns[i].rest) > 0 {
				return errArray
			}
		}
		return nil
	}, statement, from, to, marked)
}

// elements are those of an array in PostgreSQL's binary format: the number of dimensions, a flag
// for NULL, the type and, for each dimension, the length and the first index; then the length of
// each element, -1 for NULL, and its bytes.
type elements struct {
	rest []byte
	n    int // elements in rest
}

var errArray = errors.New("an array of the server has not the form that its protocol has")

func elementsOf(b []byte) (e elements, err error) {
	if len(b) < 20 || binary.BigEndian.Uint32(b) != 1 {
		return e, errArray
	}
	return elements{b[20:], int(binary.BigEndian.Uint32(b[12:]))}, nil
}

// next returns the next element, and nil for NULL.
func (e *elements) next() []byte {
	e.n--
	if len(e.rest) < 4 {
		return nil
	}
	length := int(int32(binary.BigEndian.Uint32(e.rest)))
	if e.rest = e.rest[4:]; length < 0 || length > len(e.rest) {
		return nil
	}
	b := e.rest[:length]
	e.rest = e.rest[length:]
	return b
}
