package throttle

import (
	"context"
	_ "embed"
	"fmt"
	"time"
)

// Tolerance is by how much the uses that Allow permits may be uneven: in any time t there are at
// most rate x (t + Tolerance) of them, and one more.
const Tolerance = time.Second

// AllowFor is how long a permission may be used. It is part of the Tolerance.
const AllowFor = 300 * time.Millisecond

// burstOf is how many uses may be permitted at once after idle time, as a time at the rate. Beyond
// one use it is what a caller may ask late without a loss: a sender asks when a slot of its number
// is in hand, which for a slow number is half a second after the permission was free.
func burstOf(every time.Duration) time.Duration { return every + Tolerance - AllowFor }

// Allow permits uses as Limiter says. A key idle for a minute is forgotten: it starts without a
// burst.
func (l *Local) Allow(ctx context.Context, key string, perSecond float64, n int) (int, time.Duration, error) {
	every, err := interval(key, perSecond, n)
	if err != nil {
		return 0, 0, err
	}
	if err := ctx.Err(); err != nil {
		return 0, 0, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	l.forget(now)
	burst := burstOf(every)
	tat, known := l.arrivals[key]
	if !known {
		tat = now.Add(burst - every)
	}
	if tat.Before(now) {
		tat = now
	}
	last := now.Add(burst)
	if tat.After(last) { // what a lower rate permitted is not waited out
		tat = last
	}
	granted := min(n, int(last.Sub(tat)/every))
	tat = tat.Add(time.Duration(granted) * every)
	l.arrivals[key] = tat
	if granted < n {
		return granted, tat.Add(every - burst).Sub(now), nil
	}
	return granted, 0, nil
}

// allow is the arithmetic of Allow over the processes that share a server.
//
//go:embed allow.lua
var allow string

// Allow permits uses as Limiter says, over all processes that share the server. It blocks as Lease
// does. A server that lost its memory starts the key anew, without a burst.
func (r *Redis) Allow(ctx context.Context, key string, rate float64, n int) (int, time.Duration, error) {
	every, err := interval(key, rate, n)
	if err != nil {
		return 0, 0, err
	}
	if err := ctx.Err(); err != nil {
		return 0, 0, err
	}
	micros := float64(every) / float64(time.Microsecond)
	reply, err := r.server.eval(ctx, r.allow, allow, []string{"{n:" + r.own(key) + "}:gcra"}, fmt.Sprintf("%.3f", micros), n,
		fmt.Sprintf("%.3f", float64(burstOf(every))/float64(time.Microsecond)))
	if err != nil {
		return 0, 0, fmt.Errorf("%w: redis: %w", ErrUnavailable, err)
	}
	parts, ok := reply.([]any)
	if ok && len(parts) == 2 {
		granted, ok1 := parts[0].(int64)
		wait, ok2 := parts[1].(int64)
		if ok1 && ok2 && granted >= 0 && wait >= 0 {
			return int(granted), time.Duration(wait) * time.Microsecond, nil
		}
	}
	return 0, 0, fmt.Errorf("%w: redis: the script answered %v", ErrUnavailable, reply)
}
