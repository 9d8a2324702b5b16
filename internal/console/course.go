package console

import (
	"context"
	"errors"
	"sync"
	"time"

	"campaignd/reporting"
	"campaignd/reporting/html"
)

const (
	// slowestCourse is the longest time that a page waits for the plots of a run. The segments of a
	// run that has just begun are counted on the way, until their summaries are kept
	// (docs/protocol.md#summaries).
	slowestCourse = 60 * time.Millisecond
	// courseRest is how long the plots of a run stay, as a multiple of the time that they took.
	courseRest = 20
	// mostCourses is the most runs whose plots are kept.
	mostCourses = 100
)

// courses are the plots of runs, for all who look at them.
type courses struct {
	slowest time.Duration // slowestCourse
	mu      sync.Mutex
	kept    map[watched]course
}

type course struct {
	parts []html.Part
	late  bool      // none could be drawn in time yet
	until time.Time // when they are drawn again
}

// get returns the plots of a run, and whether they are new enough.
func (c *courses) get(key watched, now time.Time) (course, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	one := c.kept[key]
	return one, now.Before(one.until)
}

// put keeps the plots of a run, and forgets others if there are too many.
func (c *courses) put(key watched, one course) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for k := range c.kept {
		if len(c.kept) < mostCourses {
			break
		}
		delete(c.kept, k)
	}
	c.kept[key] = one
}

// course returns the plots of a run: those from before, or none, if they cannot be drawn in time.
func (v *visit) course(ctx context.Context, run string, report *reporting.Report) (course, error) {
	key, began := watched{run, v.who.Company}, time.Now()
	one, fresh := v.courses.get(key, began)
	if fresh {
		return one, nil
	}
	limited, cancel := context.WithTimeout(ctx, v.courses.slowest)
	defer cancel()
	parts, err := v.d.Course(limited, run, report)
	took := time.Since(began)
	switch {
	case err == nil:
		one.parts, one.late = parts, false
	case ctx.Err() == nil && errors.Is(limited.Err(), context.DeadlineExceeded):
		took, one.late = time.Second, one.parts == nil // what it takes is not known
	default:
		return course{}, err
	}
	one.until = began.Add(max(readEvery*9/10, courseRest*took))
	v.courses.put(key, one)
	return one, nil
}
