// Package faults keeps a fault that repeats to one line of the log.
//
// The process and the schedule call it for work that they try again and again. It promises that a
// fault is new once, until its words change or its work succeeds.
package faults

import (
	"errors"
	"strings"
	"sync"

	"campaignd/internal/messaging"
)

// Known knows the last fault of each job and how often it came. A fault that repeats is one line
// of the log, and its count is in a later line.
type Known struct {
	mu sync.Mutex
	of map[string]fault
}

type fault struct {
	words string
	times int
}

// Failed notes the fault of a job. changed reports whether its words differ from the words of the
// last fault. before is how often the last fault came, if they differ.
func (c *Known) Failed(job, words string) (changed bool, before int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	last := c.of[job]
	if last.words == words {
		c.of[job] = fault{words, last.times + 1}
		return false, 0
	}
	if c.of == nil {
		c.of = map[string]fault{}
	}
	c.of[job] = fault{words, 1}
	return true, last.times
}

// Counting adds to a line of the log how often the fault before it came, if there was one.
func Counting(before int, line ...any) []any {
	if before == 0 {
		return line
	}
	return append(line, "failures_before", before)
}

// Succeeded forgets the fault of a job, and returns how often it came.
func (c *Known) Succeeded(job string) (times int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	times = c.of[job].times
	delete(c.of, job)
	return times
}

// Words returns the text of an error without the request id, so that the same cause has the same
// words.
func Words(err error) string {
	words := err.Error()
	var answer *messaging.Error
	if errors.As(err, &answer) && answer.RequestID != "" {
		words = strings.ReplaceAll(words, answer.RequestID, "")
	}
	return words
}
