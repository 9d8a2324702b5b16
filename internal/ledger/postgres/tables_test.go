//go:build long && unix

package postgres

import (
	"context"
	"strings"
	"testing"

	"campaignd/internal/ledger"
	"campaignd/internal/ledger/ledgertest"
)

// tables gives the suite access to a ledger's tables.
type tables struct{ *Ledger }

var dialect = strings.NewReplacer("NONE", "NULL", "ZERO", "NULL")

func (l tables) Alter(ctx context.Context, query string) error {
	return l.read(ctx, l.sender, stmt(nil, dialect.Replace(query)))
}

func (l tables) Stored(ctx context.Context, query string) (text string, err error) {
	err = l.read(ctx, l.sender, row(&text, query))
	return text, err
}

func (l tables) QuarantineAt(ctx context.Context, ahead, since, now int64) (n int64, err error) {
	err = l.change(ctx, l.sender, "", func(t *tx) (err error) {
		n, err = t.quarantine(ahead, nil, since, now)
		return err
	})
	return n, err
}

func (l tables) MessageHash(id string) int64 { return l.key.MessageHash(id) }

func (l tables) ReadOnly(ctx context.Context) error {
	dir, err := migrations()
	if err != nil {
		return err
	}
	l.readOnly = true
	defer func() { l.readOnly = false }()
	return l.explain(l.migrate(ctx, dir))
}

func TestPostgresKeepsItsTablesAsPromised(t *testing.T) {
	t.Parallel()
	ledgertest.RunTables(t, func(t *testing.T) ledgertest.Tables {
		return tables{openShared(t, ledger.Options{Sender: true})}
	})
}
