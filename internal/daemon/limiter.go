package daemon

import (
	"context"
	"time"

	"campaignd/internal/config"
	"campaignd/throttle"
)

// limiter hands out slots and units of quotas, and knows the traffic of the numbers. throttle.Local
// and throttle.Redis are limiters.
type limiter interface {
	throttle.Limiter
	throttle.Counter
	throttle.Sharer
}

// openLimiter makes the limiter: shared over redis if that is configured, else of this process. A
// process that only takes webhooks sends nothing, but tells the others what came in.
func (d *Daemon) openLimiter(ctx context.Context) error {
	if d.cfg.Redis == "" {
		if d.cfg.Role != config.RoleIntake {
			d.limiter = throttle.NewLocal()
		}
		return nil
	}
	r, err := throttle.NewRedis(ctx, d.cfg.Redis, throttle.Options{Ledger: d.ledger.LedgerID(), Log: d.log, Address: d.cfg.RedisNow()})
	if err != nil {
		return err
	}
	d.closers = append(d.closers, r.Close)
	d.limiter = r
	return nil
}

// heard tells the limiter of an event.
func (d *Daemon) heard(connection string, at time.Time, message bool) {
	if d.limiter != nil && connection != "" {
		d.limiter.Heard(connection, at, message)
	}
}

// tellHeard tells the other processes what came in, until ctx ends.
func (d *Daemon) tellHeard(ctx context.Context) {
	if r, ok := d.limiter.(*throttle.Redis); ok {
		r.Flush(ctx)
	}
}
