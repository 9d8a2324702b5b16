package postgres

import (
	"cmp"
	"strconv"
	"sync"
)

// markMemory is what this process knows to be committed: no mark of the ledger may be
// lower (reliability.md 2.3).
type markMemory struct {
	sync.Mutex
	of map[int64]acknowledged
}

// acknowledged is a segment's mark as the ledger acknowledged it, and when the first one was.
type acknowledged struct{ mark, since int64 }

// keep remembers a mark.
func (m *markMemory) keep(id, mark, now int64) {
	m.Lock()
	defer m.Unlock()
	if m.of == nil {
		m.of = map[int64]acknowledged{}
	}
	a := m.of[id]
	m.of[id] = acknowledged{max(a.mark, mark), cmp.Or(a.since, now)}
}

// behind reports what is known of a segment whose mark the ledger puts lower.
func (m *markMemory) behind(id, mark int64) (acknowledged, bool) {
	m.Lock()
	defer m.Unlock()
	a := m.of[id]
	return a, mark < a.mark
}

// forget is for a segment that is done.
func (m *markMemory) forget(id int64) {
	m.Lock()
	defer m.Unlock()
	delete(m.of, id)
}

// raise puts a mark that went back where it was: raising is always safe, and what lies
// below becomes doubt.
func (l *Ledger) raise(t *tx, id int64, a acknowledged) error {
	l.log.Error("a mark of the ledger is lower than it was: transactions were lost; it is raised, and what lies below it is in doubt",
		"ledger", l.name, "segment", strconv.FormatInt(id, 10), "mark", a.mark)
	return t.do(stmt(nil, `UPDATE segment SET mark = greatest(mark, $2), epoch = epoch + 1, lease_until = 0, owner = '',
		intents_since = CASE WHEN intents_since = 0 THEN $3 ELSE least(intents_since, $3) END WHERE id = $1`, id, a.mark, a.since))
}
