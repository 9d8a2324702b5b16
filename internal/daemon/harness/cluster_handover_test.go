//go:build mutants

package harness

import (
	"context"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/internal/ledger"
	"campaignd/internal/ledger/backend"
)

// begun returns the marks of the unfinished segments of run 1 that a process has begun, by index.
func begun(t *testing.T, l campaign.Ledger, pid int) map[int64]int64 {
	t.Helper()
	all, err := l.SegmentStates(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	found := map[int64]int64{}
	for _, s := range all {
		if strings.Contains(s.Owner, fmt.Sprintf("/%d/", pid)) && !s.Done && s.Mark > s.Lo {
			found[s.Index] = s.Mark
		}
	}
	return found
}

// Another replica continues the segments of one that has ended: within 2 s after SIGTERM, and
// within 20 s after SIGKILL at the default lease of 15 s.
func TestClusterSegmentsAreTakenOver(t *testing.T) {
	for _, tt := range []struct {
		name   string
		signal syscall.Signal
		limit  time.Duration
	}{
		{"SIGTERM", syscall.SIGTERM, 2 * time.Second},
		{"SIGKILL", syscall.SIGKILL, 20 * time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := newCluster(t, 2, standard, nil)
			c.env = append(c.env, "CAMPAIGND_SENDING_LEASE=15s", "CAMPAIGND_SENDING_TICK=250ms", "CAMPAIGND_SERVICE_TIMEOUT=10s")
			list := listOf(30000, drawOf(t))
			c.schedule("orders", "order_update", list, all, held...)
			c.startAll()
			defer c.killAll()
			l, err := backend.Open(context.WithoutCancel(t.Context()), c.postgres.URL("postgres"), ledger.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			leaving, staying := c.replicas[0], c.replicas[1]
			var left map[int64]int64
			c.until(3*time.Minute, "both have begun segments", func() bool {
				left = begun(t, l, leaving.process().cmd.Process.Pid)
				return len(left) >= 2 && len(begun(t, l, staying.process().cmd.Process.Pid)) >= 2
			})
			leaving.busy.Store(true)
			if err := leaving.process().cmd.Process.Signal(tt.signal); err != nil {
				t.Fatal(err)
			}
			taken := map[int64]int64{} // the marks at which the other replica took over
			happened := c.within(tt.limit, fmt.Sprintf("the other continues %d begun segments", len(left)))
			c.until(tt.limit+lifeLimit, "the other continues every begun segment", func() bool {
				mine := begun(t, l, staying.process().cmd.Process.Pid)
				moved := 0
				for index := range left {
					mark, owned := mine[index]
					at, before := taken[index]
					if owned && !before {
						taken[index] = mark
					} else if before && (mark > at || !owned) { // a segment that is no longer owned is finished
						moved++
					}
				}
				return moved == len(left)
			})
			happened()
			want(t, twice(c.sent("order_update")))
			c.withinLimits()
		})
	}
}
