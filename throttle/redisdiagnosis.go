package throttle

import (
	"context"
	"fmt"
	"time"

	"campaignd/throttle/throughput"
)

// RedisDiagnosis is what `campaignd doctor` says about a Redis.
type RedisDiagnosis struct {
	Version string
	// Policy is its maxmemory-policy, "" if it does not tell it.
	Policy string
	// Persistent means that it writes an append-only file.
	Persistent bool
}

// Diagnose asks the server about itself.
func (r *Redis) Diagnose(ctx context.Context) (RedisDiagnosis, error) {
	reply, err := r.server.do(ctx, "info")
	text, _ := reply.(string)
	return RedisDiagnosis{
		Version: infoField(text, "redis_version"), Policy: infoField(text, "maxmemory_policy"), Persistent: infoField(text, "aof_enabled") == "1",
	}, err
}

// Try runs each script as sending over a number does, on keys of the same form that no message
// waits for, so it takes no slot of the number. The keys expire by themselves. An error wraps
// ErrUnavailable: the server would refuse a sender too.
func (r *Redis) Try(ctx context.Context, number string) error {
	key, now := number+"/doctor", time.Now()
	quota := Quota{Key: key, From: now.Add(-time.Minute), To: now.Add(time.Minute), Limit: 1}
	for _, script := range []func() error{
		func() error { _, err := r.Lease(ctx, key, 100, 1); return err },
		func() error { _, _, err := r.Allow(ctx, key, 1, 1); return err },
		func() error { _, err := r.Take(ctx, quota, Ask{N: 1}); return err },
		func() error { _, err := r.Restore(ctx, quota, 0, 0); return err },
		func() error { _, err := r.Share(ctx, key, throughput.Measured{}); return err },
		func() error { return r.canLoad(ctx) },
	} {
		if err := script(); err != nil {
			return err
		}
	}
	return nil
}

// canLoad reports whether the server runs the text of a script, which it needs after a restart.
func (r *Redis) canLoad(ctx context.Context) error {
	if _, err := r.server.do(ctx, "eval", "return 1", 0); err != nil {
		return fmt.Errorf("%w: redis: %w", ErrUnavailable, err)
	}
	return nil
}
