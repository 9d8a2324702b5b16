package commerce

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"time"
)

// Hint says that an order may have changed. It comes from an event, which anybody who saw it may
// repeat, so the order itself is asked for before it counts (docs/commerce.md#conversions).
type Hint struct {
	Order string
	// At is when the platform says that the order changed last.
	At time.Time
}

// Hint returns the order that an event is about; false if it is about none, or names none.
func (e *Event) Hint() (Hint, bool) {
	var record struct {
		ID        text     `json:"id"`
		UpdatedAt Time     `json:"updated_at"`
		Metadata  Metadata `json:"metadata"`
	}
	if json.Unmarshal(e.Data, &record) != nil {
		return Hint{}, false
	}
	h := Hint{Order: string(record.ID), At: record.UpdatedAt.Time}
	if !strings.HasPrefix(e.Type, "order.") {
		h = Hint{Order: record.Metadata["order_id"], At: e.CreatedAt.Time}
	}
	return h, h.Order != "" && CheckID(h.Order) == nil
}

// storeTime limits one commit of hints. The platform repeats an event that is not answered.
const storeTime = 5 * time.Second

// group stores the hints of requests that wait at the same time in one transaction. The first
// request of a group stores all of it, once the group before it is stored.
type group struct {
	store func(context.Context, []Hint) error

	turn sync.Mutex // is held while a group is stored
	mu   sync.Mutex // guards next
	next *gathered
}

// gathered is a group that has not been stored yet. err is set before done is closed.
type gathered struct {
	hints []Hint
	done  chan struct{}
	err   error
}

// add returns when the hint is stored, or cannot be.
func (g *group) add(ctx context.Context, h Hint) error {
	g.mu.Lock()
	mine, first := g.next, g.next == nil
	if first {
		mine = &gathered{done: make(chan struct{})}
		g.next = mine
	}
	mine.hints = append(mine.hints, h)
	g.mu.Unlock()
	if !first {
		<-mine.done
		return mine.err
	}
	g.turn.Lock()
	defer g.turn.Unlock()
	g.mu.Lock()
	g.next = nil
	g.mu.Unlock()
	// The other requests wait for this commit, so the end of this request must not undo it.
	storing, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTime)
	defer cancel()
	mine.err = g.store(storing, mine.hints)
	close(mine.done)
	return mine.err
}
