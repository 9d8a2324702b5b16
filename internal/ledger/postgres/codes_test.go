package postgres

import (
	"testing"

	"campaignd/internal/ledger/ledgertest"
)

func TestStatementsNameTheirCodes(t *testing.T) {
	t.Parallel()
	ledgertest.NamedCodes(t, ".")
}
