package throttle

import (
	"context"
	_ "embed"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// bucket is the arithmetic of Take over the processes that share a server, and restore the
// arithmetic of Restore.
//
//go:embed bucket.lua
var bucket string

//go:embed restore.lua
var restore string

// quotaKey is the hash of a quota's count. The count is rebuilt from one ledger, so the messages of
// another ledger have another count.
func (r *Redis) quotaKey(q Quota) string { return "{c:" + r.own(q.Key) + "}:units" }

// own is a key that the other ledgers of the server do not have.
func (r *Redis) own(key string) string { return strings.TrimPrefix(r.ledger+":"+key, ":") }

// Take leases units as Counter says, over all processes that share the server. It blocks as Lease
// does. A count lives in the memory of one server process: after a restart, a failover or a
// FLUSHALL it is lost, and rebuilt from the ledger.
func (r *Redis) Take(ctx context.Context, q Quota, a Ask) (Units, error) {
	if err := q.check(a); err != nil {
		return Units{}, err
	}
	if err := ctx.Err(); err != nil {
		return Units{}, err
	}
	asked := time.Now() // before the server granted them: they end here no later than there
	reserve := 0
	if a.Reserve {
		reserve = 1
	}
	reply, err := r.server.eval(ctx, r.bucket, bucket, []string{r.quotaKey(q)},
		q.From.UnixMicro(), q.To.UnixMicro(), q.Limit, q.Kept, a.N, reserve, a.Back, a.Generation,
		r.rebuildAfter.Microseconds(), Chunk, chunkPart, chunkLeast,
		countFor.Microseconds(), recountAfter.Microseconds(), askAgain.Microseconds())
	if err != nil {
		return Units{}, fmt.Errorf("%w: redis: %w", ErrUnavailable, err)
	}
	u, ok := parseUnits(reply)
	if !ok {
		return Units{}, fmt.Errorf("%w: redis: the script answered %v", ErrUnavailable, reply)
	}
	u.Until = asked.Add(r.unitsFor)
	return u, nil
}

// Restore sets the count as Counter says.
func (r *Redis) Restore(ctx context.Context, q Quota, rebuild, used int64) (bool, error) {
	reply, err := r.server.eval(ctx, r.restore, restore, []string{r.quotaKey(q)}, q.From.UnixMicro(), rebuild, used)
	if err != nil {
		return false, fmt.Errorf("%w: redis: %w", ErrUnavailable, err)
	}
	return reply == int64(1), nil
}

// parseUnits reads the script's reply.
func parseUnits(reply any) (u Units, ok bool) {
	parts, _ := reply.([]any)
	if len(parts) != 6 {
		return u, false
	}
	var numbers [6]int64
	for i, p := range parts {
		n, err := strconv.ParseInt(fmt.Sprint(p), 10, 64)
		if err != nil || n < 0 {
			return u, false
		}
		numbers[i] = n
	}
	if numbers[0] > Chunk {
		return u, false
	}
	return Units{
		N: int(numbers[0]), Reserved: numbers[1] == 1, Generation: numbers[2], Wait: time.Duration(numbers[3]) * time.Microsecond,
		Rebuild: numbers[4], Empty: numbers[5] == 1,
	}, true
}
