//go:build mutants

package harness

import (
	"bufio"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/internal/sandbox"
	"campaignd/throttle/throttletest"
	"campaignd/throttle/throughput"
)

// posts returns how many requests a replica has made over each connection, from its metrics.
func (r *replica) posts() map[string]float64 {
	r.t.Helper()
	client := http.Client{Timeout: lifeLimit}
	answer, err := client.Get("http://" + r.admin + "/metrics")
	if err != nil {
		r.t.Fatalf("%s: %v", r.name, err)
	}
	defer answer.Body.Close()
	found := map[string]float64{}
	for lines := bufio.NewScanner(answer.Body); lines.Scan(); {
		var n float64
		line := strings.NewReplacer(`campaignd_posts_total{connection="`, "", `"}`, "").Replace(lines.Text())
		if line == lines.Text() {
			continue
		}
		name, count, _ := strings.Cut(line, " ")
		if _, err := fmt.Sscan(count, &n); err == nil {
			found[name] = n
		}
	}
	return found
}

// flow is the traffic of one number without faults.
type flow struct {
	limit int           // messages per second
	pace  float64       // messages per second at which the limit is paced (docs/limits.md#pace)
	mean  float64       // messages per second
	worst int           // most messages in a sliding second
	most  int           // as many are right
	by    []int         // requests of each replica
	busy  time.Duration // the latest wake-up of the machine, a measure of its load
}

// sharing is processes that share numbers.
type sharing struct {
	processes int
	limits    []int         // messages per second; conn_1 has the first
	silent    float64       // the share of the messages that have no statuses
	jitter    time.Duration // the way to the service, and the way back, take up to so much longer
	after     int64         // as many messages of each number are sent before it is measured
	lasting   time.Duration // for so long it is measured
}

// untilMeasured is how long the slowest number takes for the messages before, at its first pace.
func (s sharing) untilMeasured() time.Duration {
	slowest := throughput.Number{Limit: float64(slices.Min(s.limits))}.Pace().Rate
	return time.Duration(float64(s.after) / slowest * float64(time.Second))
}

// measure lets processes share numbers.
func measure(t *testing.T, s sharing) []flow {
	t.Helper()
	n, limits := s.processes, s.limits
	var numbers []string
	for i, l := range limits {
		numbers = append(numbers, fmt.Sprintf("%s: {rate: %d}", all[i], l))
	}
	c := newCluster(t, n, standard, func(o *sandbox.Options) {
		for i, l := range limits {
			o.Connections[i].Rate = l
		}
		o.Statuses.Silent = s.silent
		o.EnforceThroughput = false // a number that is too fast is counted, not slowed down
	})
	if s.jitter > 0 {
		c.way.Store(int64(s.jitter))
	}
	c.env = append(c.env, "CAMPAIGND_NUMBERS={"+strings.Join(numbers, ", ")+"}",
		"CAMPAIGND_SENDING_LEASE=15s", "CAMPAIGND_SENDING_TICK=250ms")
	defer c.killAll()
	c.startAll()
	// The list has as many segments as the processes hold. It waits for an approval, so that all
	// processes begin at the same time.
	for i, limit := range limits {
		each := 2 + limit/500
		list := make([]entry, max(each*n*campaign.SegmentSize, 20*limit+int((s.untilMeasured()+s.lasting).Seconds())*limit))
		for k := range list {
			to := fmt.Sprintf("+23480%d%07d", []int{3, 5, 6}[i], k)
			list[k] = entry{to: to, text: to + ",A,B"}
		}
		c.schedule(fmt.Sprint("flow", i), "order_update", list, all[i:i+1], "approval: true")
	}
	c.until(3*time.Minute, "the lists are imported", func() bool {
		_, out := c.ask("runs")
		return strings.Count(out, "waiting_approval") == len(limits)
	})
	for i := range limits {
		if code, out := c.ask("approve", fmt.Sprint(i+1)); code != 0 {
			t.Fatalf("approve %d: %s", i+1, out)
		}
	}
	c.until(lifeLimit+3*s.untilMeasured(), "every number sends", func() bool {
		for _, x := range c.service.Stats().Connections[:len(limits)] {
			if x.Accepted <= s.after {
				return false
			}
		}
		return true
	})
	time.Sleep(2 * time.Second) // until every process has its first lease
	watched := throttletest.Watch()
	from := time.Now()
	time.Sleep(s.lasting)
	to := time.Now()
	busy := watched()
	flows := make([]flow, len(limits))
	for m := range c.service.Messages() {
		for i := range limits {
			if m.Connection == all[i] && !m.At.Before(from) && m.At.Before(to) {
				flows[i].mean++
			}
		}
	}
	for i, x := range c.service.Stats().Connections[:len(limits)] {
		flows[i].limit, flows[i].most, flows[i].worst = limits[i], c.mostIn(limits[i]), x.WorstSecond
		flows[i].pace = throughput.Number{Limit: float64(limits[i])}.Pace().Rate
		flows[i].mean /= to.Sub(from).Seconds()
		flows[i].busy = busy
	}
	for _, r := range c.replicas {
		posts := r.posts()
		for i := range flows {
			flows[i].by = append(flows[i].by, int(posts[all[i]]))
		}
	}
	return flows
}

// One, four and eight processes share a number. No sliding second exceeds its limit, and the mean
// is at the pace when the machine has time for so many processes. A mean off the pace is measured
// once more. The figures at 1,000 a second are only printed.
func TestClusterProcessesShareANumbersRate(t *testing.T) {
	for _, n := range []int{1, 4, 8} {
		off := offThePace(t, n)
		if len(off) > 0 {
			t.Logf("measuring again: %v", off)
			off = offThePace(t, n)
		}
		for _, complaint := range off {
			t.Errorf("off the pace twice: got %s, want at most 3 %%", complaint)
		}
	}
}

// offThePace measures n processes and returns the numbers that were off their pace. It fails the
// test when a second exceeded a limit.
func offThePace(t *testing.T, n int) (off []string) {
	t.Helper()
	for _, f := range measure(t, sharing{processes: n, limits: []int{20, 80, 1000}, silent: 1, lasting: 10 * time.Second}) {
		t.Logf("%d processes at %4d/s: %6.1f/s on average of a pace of %5.1f, %d in the worst second; requests of each: %v; overslept %v",
			n, f.limit, f.mean, f.pace, f.worst, f.by, f.busy)
		if f.limit >= 500 {
			continue
		}
		if f.worst > f.most {
			t.Errorf("%d processes: %d messages in one second, want at most %d", n, f.worst, f.most)
		}
		if by := f.mean/f.pace - 1; by > 0.03 || by < -0.03 && f.busy <= throttletest.Busy {
			off = append(off, fmt.Sprintf("%d processes at %d/s: %.1f/s is %.1f %% off the pace", n, f.limit, f.mean, 100*by))
		}
		for i, posts := range f.by {
			if posts == 0 {
				off = append(off, fmt.Sprintf("process %d of %d sent nothing at %d/s", i+1, n, f.limit))
			}
		}
	}
	return off
}
