package sqlite

import (
	"context"
	"os"
	"sync/atomic"
	"time"
)

// checkpointer moves the write-ahead log into the file each second, on a connection
// of its own, and empties it when nothing is written any more. While something is
// written all the time it can never catch up with the last frame, and a log that is
// not moved to its last frame is never begun anew: measured, it grew without bound. So
// when the log is long the writer itself moves the few frames that are left, between
// two transactions.
type checkpointer struct {
	ledger  *Ledger
	commits atomic.Int64
	dirty   chan struct{} // holds a token after a commit
	quit    chan struct{}
	ended   chan struct{}
	long    atomic.Bool // the writer is to move the rest
	alarmed bool
}

// walLong is the size of the log from which the writer helps: one second at 20,000 messages.
const walLong = 16 << 20

// walAlarm is the size of the write-ahead log that tells of a reader that does not go away.
const walAlarm = 256 << 20

func startCheckpointer(l *Ledger) *checkpointer {
	c := &checkpointer{ledger: l, dirty: make(chan struct{}, 1), quit: make(chan struct{}), ended: make(chan struct{})}
	go c.loop()
	return c
}

// wrote says that the writer committed something.
func (c *checkpointer) wrote() {
	c.commits.Add(1)
	select {
	case c.dirty <- struct{}{}:
	default:
	}
}

func (c *checkpointer) stop() {
	close(c.quit)
	<-c.ended
}

func (c *checkpointer) loop() {
	defer close(c.ended)
	tick := time.NewTimer(time.Hour)
	tick.Stop()
	defer tick.Stop()
	seen := int64(0)
	for {
		select { // asleep without a timer while the ledger is quiet
		case <-c.quit:
			return
		case <-c.dirty:
		}
		for busy := true; busy; {
			tick.Reset(time.Second)
			select {
			case <-c.quit:
				return
			case <-tick.C:
			}
			n := c.commits.Load()
			if busy = n != seen; busy {
				c.run("PRAGMA wal_checkpoint(PASSIVE)")
			} else {
				c.run("PRAGMA wal_checkpoint(TRUNCATE)")
			}
			seen = n
		}
	}
}

// run does one checkpoint. A busy one is not an error: the next one does its work.
func (c *checkpointer) run(pragma string) {
	var blocked, frames, moved int64
	if err := c.ledger.checks.QueryRowContext(context.Background(), pragma).Scan(&blocked, &frames, &moved); err != nil {
		c.ledger.log.Warn("ledger checkpoint failed", "path", c.ledger.path, "error", err)
		return
	}
	s, err := os.Stat(c.ledger.path + "-wal")
	if err != nil {
		return
	}
	if s.Size() > walLong {
		c.long.Store(true)
	}
	if big := s.Size() > walAlarm; big != c.alarmed {
		c.alarmed = big
		if big {
			c.ledger.log.Warn("the ledger's write-ahead log grows: a reader holds it; look for a long report or a shell on the file",
				"path", s.Name(), "bytes", s.Size())
		}
	}
}
