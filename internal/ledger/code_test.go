package ledger_test

import (
	"testing"

	"campaignd/internal/ledger/ledgertest"
)

func TestSharedSQLNamesItsCodes(t *testing.T) {
	t.Parallel()
	ledgertest.NamedCodes(t, ".")
}
