package portable_test

import (
	"testing"

	"campaignd/internal/ledger/ledgertest"
)

func TestPortableStatementsNameTheirCodes(t *testing.T) {
	t.Parallel()
	ledgertest.NamedCodes(t, ".")
}
