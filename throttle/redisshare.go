package throttle

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"time"

	"campaignd/throttle/throughput"
)

// way is the arithmetic of Share over the processes that share a server.
//
//go:embed way.lua
var way string

// news is what this process heard of a key and has not shared yet.
type news struct {
	heard   bool
	seconds map[int64]int // messages that came in
}

// Heard notes an event as Sharer says. The next Share, or Flush, tells it.
func (r *Redis) Heard(key string, at time.Time, message bool) {
	now := time.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	n := r.newsOf(key)
	n.heard = true
	if second, counts := secondOf(at, now); message && counts {
		n.add(second, 1)
	}
}

func (n *news) add(second int64, messages int) {
	if n.seconds == nil {
		n.seconds = map[int64]int{}
	}
	n.seconds[second] += messages
}

// count is what this process was told of the count of a key's messages that came in.
type count struct {
	since string    // when it began, by Redis's clock
	told  time.Time // when the server last answered
	lost  time.Time // when a later count was seen in place of one that cannot have expired
}

// lost notes when the count of key began, and returns when it was last lost; zero: never.
func (r *Redis) lost(key, since string) time.Time {
	now := time.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.counts[key]
	if c.since != "" && c.since != since && now.Sub(c.told) < inboundFor {
		c.lost = now.UTC()
	}
	c.since, c.told = since, now
	r.counts[key] = c
	return c.lost
}

// newsOf returns the news of key, and makes them if there are none. The caller holds the lock.
func (r *Redis) newsOf(key string) *news {
	n := r.news[key]
	if n == nil {
		n = &news{}
		r.news[key] = n
	}
	return n
}

// Share tells and answers as Sharer says. It blocks as Lease does.
func (r *Redis) Share(ctx context.Context, key string, own throughput.Measured) (throughput.Measured, error) {
	own.Inbound, own.Quiet, own.Heard = 0, 0, false
	if own.Messages > 0 { // the slots of another process may be so much later
		d := r.clock.doubt()
		own.Usual.Soonest, own.Whole.Soonest = own.Usual.Soonest-d, own.Whole.Soonest-d
	}
	text := ""
	if own != (throughput.Measured{}) {
		r.mu.Lock()
		own.Lost = r.counts[key].lost // for a process that begins now
		r.mu.Unlock()
		raw, err := json.Marshal(own)
		if err != nil {
			return throughput.Measured{}, err
		}
		text = string(raw)
	}
	r.mu.Lock()
	told := r.news[key]
	delete(r.news, key)
	r.mu.Unlock()
	args := []any{r.process, text, 0}
	if told != nil {
		args[2] = 1
		for second, n := range told.seconds {
			args = append(args, second, n)
		}
	}
	reply, err := r.server.eval(ctx, r.way, way, []string{"{n:" + key + "}:way", "{n:" + key + "}:in"}, args...)
	if err != nil {
		r.keep(key, told)
		return throughput.Measured{}, fmt.Errorf("%w: redis: %w", ErrUnavailable, err)
	}
	all, since, err := parseShared(reply)
	if err != nil {
		return throughput.Measured{}, fmt.Errorf("%w: redis: %w", ErrUnavailable, err)
	}
	return all.Merge(throughput.Measured{Lost: r.lost(key, since)}), nil
}

// keep takes news back that may not have arrived: messages that count twice slow a number for 10
// minutes, messages that do not count make it send too fast.
func (r *Redis) keep(key string, told *news) {
	if told == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	n := r.newsOf(key)
	n.heard = n.heard || told.heard
	for second, messages := range told.seconds {
		n.add(second, messages)
	}
}

// parseShared reads the script's reply.
func parseShared(reply any) (all throughput.Measured, since string, err error) {
	parts, _ := reply.([]any)
	if len(parts) < 4 {
		return all, "", fmt.Errorf("the script answered %v", reply)
	}
	for _, text := range parts[4:] {
		var one throughput.Measured
		if err := json.Unmarshal([]byte(fmt.Sprint(text)), &one); err != nil {
			return all, "", fmt.Errorf("what a process shared cannot be read: %w", err)
		}
		all = all.Merge(one)
	}
	most, ok := parts[0].(int64)
	quiet, ok1 := parts[1].(int64)
	heard, ok2 := parts[2].(int64)
	since, ok3 := parts[3].(string)
	if !ok || !ok1 || !ok2 || !ok3 {
		return all, "", fmt.Errorf("the script answered %v", reply)
	}
	all.Inbound, all.Quiet, all.Heard = int(most), int(quiet), heard == 1
	return all, since, nil
}

// sharedSoon is how long after a lease of a key its sender is expected to share again.
const sharedSoon = 3 * time.Second

// Flush shares what was heard of keys over which this process sends nothing, once a second until
// ctx ends. News that the server does not take are kept for 10 minutes.
func (r *Redis) Flush(ctx context.Context) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		for _, key := range r.unshared(time.Now()) {
			if _, err := r.Share(ctx, key, throughput.Measured{}); err != nil {
				break // the server's breaker logs it
			}
		}
	}
}

// unshared returns the keys with news, and drops what is too old to count.
func (r *Redis) unshared(now time.Time) (keys []string) {
	oldest := now.Add(-inboundFor).Unix()
	r.mu.Lock()
	defer r.mu.Unlock()
	for key, n := range r.news {
		if m := r.keys[key]; m != nil && now.Sub(m.used) < sharedSoon {
			continue
		}
		maps.DeleteFunc(n.seconds, func(second int64, _ int) bool { return second < oldest })
		keys = append(keys, key)
	}
	return keys
}
