package sqlite

import (
	"context"
	"os"
	"sync/atomic"
	"time"
)

// checkpointer moves the write-ahead log into the file each second, on a connection of its own, and
// truncates it when nothing is written any more. While transactions follow each other without a
// pause it never reaches the last frame, and SQLite starts a log anew only when every frame was
// moved: measured, the log grew without limit. If the log is long, the writer therefore moves the
// few frames that are left, between two transactions.
type checkpointer struct {
	ledger  *Ledger
	commits atomic.Int64
	dirty   chan struct{} // has a token after a commit
	quit    chan struct{}
	ended   chan struct{}
	long    atomic.Bool // the log is long: the writer moves the rest
	alarmed bool        // a warning was logged and the log is still too long
	failed  int         // checkpoints in succession
}

// walLong is the size in bytes above which the writer helps: one second at 20,000 messages a
// second.
const walLong = 16 << 20

// walAlarm is the size in bytes above which some reader must be keeping the log from its start.
const walAlarm = 256 << 20

// fullWait is how many checkpoints fail on a full disk before that is logged. The writer meets the
// full disk too, within seconds unless its log has room, and logs the outage.
const fullWait = 10

const (
	sqlCheckpoint = `PRAGMA wal_checkpoint(PASSIVE)`  // what is possible without waiting
	sqlTruncate   = `PRAGMA wal_checkpoint(TRUNCATE)` // all of it, and empties the log
)

func startCheckpointer(l *Ledger) *checkpointer {
	c := &checkpointer{ledger: l, dirty: make(chan struct{}, 1), quit: make(chan struct{}), ended: make(chan struct{})}
	go c.loop()
	return c
}

// wrote tells the checkpointer that the writer committed a transaction.
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
		select { // no timer while nothing is written
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
				c.run(sqlCheckpoint)
			} else {
				c.run(sqlTruncate)
			}
			seen = n
		}
	}
}

// run makes one checkpoint. A busy database is no error: the next checkpoint moves its frames.
func (c *checkpointer) run(query string) {
	var blocked, frames, moved int64
	if err := c.ledger.checks.QueryRowContext(context.Background(), query).Scan(&blocked, &frames, &moved); err != nil {
		at := 1 // once, not each second
		if takesNoWrites(err) {
			at = fullWait
		}
		if c.failed++; c.failed == at && !c.ledger.outage.Logged() {
			c.ledger.log.Warn("ledger checkpoint failed: trying again until one succeeds", "path", c.ledger.path, "err", err)
		}
		return
	}
	c.failed = 0
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
