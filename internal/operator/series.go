package operator

import (
	"context"
	"time"

	"campaignd/internal/client/resource"
)

// Series returns what became of a run in time, in steps of at least step.
func (d *Session) Series(ctx context.Context, id string, step time.Duration) (resource.Series, error) {
	r, err := d.find(ctx, id)
	if err != nil {
		return resource.Series{}, err
	}
	sum, err := d.Ledger.Summary(ctx, r.No)
	if err != nil {
		return resource.Series{}, err
	}
	return resource.SeriesOf(r.ID(), &sum, step), nil
}
