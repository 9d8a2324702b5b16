package daemon

import "sync"

// causes knows the last fault of each job and how often it came. A fault that repeats is one line
// of the log, and its count is in a later line.
type causes struct {
	mu sync.Mutex
	of map[string]cause
}

type cause struct {
	words string
	times int
}

// failed notes the fault of a job. changed reports whether its words differ from those of the last
// fault. before is how often the last fault came, if they differ.
func (c *causes) failed(job, words string) (changed bool, before int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	last := c.of[job]
	if last.words == words {
		c.of[job] = cause{words, last.times + 1}
		return false, 0
	}
	if c.of == nil {
		c.of = map[string]cause{}
	}
	c.of[job] = cause{words, 1}
	return true, last.times
}

// counting adds to a line of the log how often the fault before it came, if there was one.
func counting(before int, line ...any) []any {
	if before == 0 {
		return line
	}
	return append(line, "failures_before", before)
}

// succeeded forgets the fault of a job, and returns how often it came.
func (c *causes) succeeded(job string) (times int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	times = c.of[job].times
	delete(c.of, job)
	return times
}
