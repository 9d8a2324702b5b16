package campaign

import (
	"strings"
	"time"
)

// laneFresh is how old a lane's report may be. Senders write one every two seconds, and a machine
// may stall.
const laneFresh = 15 * time.Second

// LaneMissed is how long a sender that stopped reporting is shown beside others of its connection.
// A ledger keeps the last report at least as long.
const LaneMissed = 10 * time.Minute

// paceFresh is how old a report may be for its pace to be that of now: three reports, of which two
// were missed.
const paceFresh = 6 * time.Second

// Stale reports whether the lane's sender is dead, or has not reported for 15 seconds: it is gone,
// or it stalls.
func (r LaneReport) Stale(now time.Time) bool { return r.Dead || now.Sub(r.At) > laneFresh }

// Pace is the rate at which the lane is known to send now, in messages per second.
func (r LaneReport) Pace(now time.Time) float64 {
	if r.Gone(now) || now.Sub(r.At) > paceFresh {
		return 0
	}
	return r.Rate
}

// Gone reports whether no sender serves the lane any more: it has ended, or is stale.
func (r LaneReport) Gone(now time.Time) bool { return r.LimitedBy == ByStopped || r.Stale(now) }

// Sender names the process of the lane: host and process id, without its start time.
func (r LaneReport) Sender() string {
	if i := strings.LastIndexByte(r.Owner, '/'); i > 0 {
		return r.Owner[:i]
	}
	return r.Owner
}
