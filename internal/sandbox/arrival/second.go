package arrival

import (
	"slices"
	"sort"
	"time"
)

// Second counts instants in a sliding second and records the largest count.
type Second struct {
	at    []int64 // Unix nanoseconds, sorted from head on
	head  int
	worst int
}

// lateBy is by how much an instant may be added after a later one.
const lateBy = 3 * time.Second

// Worst is the largest count of any second so far.
func (s *Second) Worst() int { return s.worst }

// Count is the number of instants in the second that ends at end: (end - 1 s, end].
func (s *Second) Count(end time.Time) int { return s.count(end.UnixNano()) }

func (s *Second) count(end int64) int {
	kept := s.at[s.head:]
	until := func(t int64) int { return sort.Search(len(kept), func(i int) bool { return kept[i] > t }) }
	return until(end) - until(end-int64(time.Second))
}

// Add counts an instant. It may lie up to 3 s before others that were added earlier.
func (s *Second) Add(instant time.Time) {
	at, i := instant.UnixNano(), len(s.at)
	for i > s.head && s.at[i-1] > at {
		i--
	}
	s.at = slices.Insert(s.at, i, at)
	for _, end := range s.at[i:] {
		if end-at >= int64(time.Second) {
			break
		}
		s.worst = max(s.worst, s.count(end))
	}
	for newest := s.at[len(s.at)-1]; s.at[s.head] <= newest-int64(lateBy); {
		s.head++
	}
	if s.head > 64 && s.head > len(s.at)/2 {
		s.at = s.at[:copy(s.at, s.at[s.head:])]
		s.head = 0
	}
}
