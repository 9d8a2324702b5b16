package postgres

import (
	"cmp"
	"strconv"
	"sync"
)

// markMemory keeps the marks that the ledger acknowledged to this process. A lower mark in the
// ledger proves that committed transactions were lost
// (docs/protocol.md#when-the-ledger-goes-back-in-time).
type markMemory struct {
	sync.Mutex
	of map[int64]acknowledged // by segment
}

// acknowledged is the highest mark of a segment that the ledger acknowledged, and when it first
// acknowledged one, in milliseconds.
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

// behind reports whether the ledger's mark of a segment is lower than the acknowledged one, which
// it returns.
func (m *markMemory) behind(id, mark int64) (acknowledged, bool) {
	m.Lock()
	defer m.Unlock()
	a := m.of[id]
	return a, mark < a.mark
}

// forget deletes a segment that is done.
func (m *markMemory) forget(id int64) {
	m.Lock()
	defer m.Unlock()
	delete(m.of, id)
}

const sqlRaiseMark = `UPDATE segment SET mark = greatest(mark, $2), epoch = epoch + 1, lease_until = 0, owner = '', granted_by = '',
	intents_since = CASE WHEN intents_since = 0 THEN $3 ELSE least(intents_since, $3) END WHERE id = $1`

// raise moves a mark that went back to where it was. That is always safe: the deliveries below it
// become doubts.
func (l *Ledger) raise(t *tx, id int64, a acknowledged) error {
	l.log.Error("a mark of the ledger is lower than it was: transactions were lost; it is raised, and the deliveries below it are in doubt",
		"ledger", l.name, "segment", strconv.FormatInt(id, 10), "mark", a.mark)
	return t.do(stmt(nil, sqlRaiseMark, id, a.mark, a.since))
}
