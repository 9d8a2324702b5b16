//go:build unix

package postgres

import (
	"errors"
	"testing"

	"campaignd/campaign"
	"campaignd/internal/ledger"
	"campaignd/internal/ledger/ledgertest"
)

// When the answer to a chunk was lost, its last row tells whether the ledger has this chunk or one
// of another importer.
func TestALostChunkIsFoundByItsLastRow(t *testing.T) {
	t.Parallel()
	l := openShared(t, ledger.Options{})
	r := ledgertest.Load(t, l, 10)
	for name, c := range map[string]struct {
		change func(d *campaign.Delivery)
		want   error
	}{
		"There":        {func(*campaign.Delivery) {}, nil},
		"AnotherRow":   {func(d *campaign.Delivery) { d.Row++ }, campaign.ErrFenced},
		"AnotherPhone": {func(d *campaign.Delivery) { d.To += "1" }, campaign.ErrFenced},
		"None":         {func(d *campaign.Delivery) { d.Seq = 10 }, campaign.ErrFenced},
	} {
		ds := ledgertest.Rows(0, 10)
		c.change(&ds[9])
		err := l.change(t.Context(), l.sender, "", func(tx *tx) error { return (&chunk{no: r.No, rows: ds}).confirm(tx) })
		if !errors.Is(err, c.want) {
			t.Errorf("%s: %v; want %v", name, err, c.want)
		}
	}
}
