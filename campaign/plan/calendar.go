package plan

import (
	"fmt"
	"math"
	"time"
)

// calendar holds when the window of one window group changes, in seconds since Situation.Now.
// Courses share it.
type calendar struct {
	window *Window
	zones  []*time.Location
	now    time.Time
	open   bool      // before the first change
	edges  []float64 // known changes
	last   bool      // there is no further one
}

// at reports whether the window is open at t, and when that changes. cursor is the caller's place.
func (c *calendar) at(t float64, cursor *int) (open bool, changes float64) {
	for {
		for *cursor < len(c.edges) && c.edges[*cursor] <= t+1e-9 {
			*cursor++
		}
		open = c.open != (*cursor%2 == 1)
		if *cursor < len(c.edges) {
			return open, c.edges[*cursor]
		}
		if c.last {
			return open, math.Inf(1)
		}
		from := c.now
		if n := len(c.edges); n > 0 {
			from = instantAt(c.now, c.edges[n-1])
		}
		_, next := c.window.Open(from, c.zones...)
		if c.last = next.IsZero(); !c.last {
			c.edges = append(c.edges, next.Sub(c.now).Seconds())
		}
	}
}

// calendars makes one calendar for each window and zone of a situation, by run and group.
func calendars(s *Situation) []*calendar {
	type key struct {
		window *Window
		zones  string
	}
	known := map[key]*calendar{}
	var all []*calendar
	for _, r := range s.Runs {
		for _, g := range r.Groups {
			k := key{window: r.Window}
			if r.Window.PerRecipient() {
				k.zones = fmt.Sprint(g.Zones)
			}
			if known[k] == nil {
				open, _ := r.Window.Open(s.Now, g.Zones...)
				known[k] = &calendar{window: r.Window, zones: g.Zones, now: s.Now, open: open}
			}
			all = append(all, known[k])
		}
	}
	return all
}
