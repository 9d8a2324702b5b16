package daemon

import (
	"context"
	"time"

	"campaignd/throttle/throughput"
)

// toldFor is how long what a sender reported of a pace counts.
const toldFor = 10 * time.Minute

// pace is the rate of a number: the one that its sender has learned, if it reported that lately,
// else the one with which a number begins. It notes what is kept back of the limit. 0: the rate is
// not known.
func (o *Outlook) pace(ctx context.Context, id string) float64 {
	if !o.directory.Rated(id) {
		return 0
	}
	begins := o.directory.AssumedPace(id)
	l := o.directory.Limit(id).Learn(throughput.Measured{Heard: true}, o.Now)
	o.paces[id] = l.String()
	if o.ledger == nil {
		return begins
	}
	lanes, err := o.ledger.LiveLanes(ctx, toldFor, "")
	if err != nil {
		return begins // the forecast says with which pace it was made
	}
	for _, lane := range lanes {
		if rate, sum, ok := throughput.Told(lane.Detail); ok && lane.Connection == id {
			o.paces[id] = sum
			return rate
		}
	}
	return begins
}
