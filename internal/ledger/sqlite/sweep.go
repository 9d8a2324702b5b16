package sqlite

import (
	"context"
	"sync"
	"time"

	"campaignd/campaign"
	"campaignd/internal/ledger"
)

// sweepPos is where the search by message id goes on. Each sweep looks at ledger.SweepStep orphans,
// so that a million events of unknown messages cost no more than a few.
type sweepPos struct {
	sync.Mutex
	mh        int64
	messageID string
	begun     bool
}

const (
	sqlAnyOrphan    = `SELECT EXISTS (SELECT 1 FROM orphan)`
	sqlOrphanCounts = `SELECT count(*), count(*) FILTER (WHERE received_at < ?) FROM orphan`
)

// Sweep implements campaign.EventLedger. It searches on a reader and gives the writer only what it
// found, in several operations, because intents wait for the same writer.
func (l *Ledger) Sweep(ctx context.Context, now time.Time) (done campaign.Swept, err error) {
	if err := l.ForgetPeople(ctx, now); err != nil {
		return done, err
	}
	if err := l.SweepWishes(ctx, &done, l.Apply); err != nil {
		return done, err
	}
	var some bool
	if err := l.read().row(ctx, sqlAnyOrphan, nil, &some); err != nil || !some {
		return done, err
	}
	known, err := l.knownOrphans(ctx)
	if err != nil {
		return done, err
	}
	if err := l.sweepKnown(ctx, known, &done); err != nil {
		return done, err
	}
	if err := l.adoptAll(ctx, &done); err != nil {
		return done, err
	}
	tooOld := ledger.Millis(now.Add(-ledger.OrphanAge))
	var left, old int64
	if err := l.read().row(ctx, sqlOrphanCounts, args(tooOld), &left, &old); err != nil {
		return done, err
	}
	// First orphans that are too old, then those over the cap, no more than there were.
	if err := l.sweepExpire(ctx, tooOld, min(old, ledger.SweepStep), &done); err != nil {
		return done, err
	}
	excess := min(max(0, left-old-ledger.OrphanCap), 10*ledger.SweepStep)
	if err := l.sweepExpire(ctx, 1<<62, excess, &done); err != nil {
		return done, err
	}
	done.Left = int(left) - done.Expired
	return done, nil
}

// sweepStep runs one operation of a sweep and adds its counts to done.
func (l *Ledger) sweepStep(ctx context.Context, done *campaign.Swept, rows int, f func(*tx, *campaign.Swept) error) error {
	var counts campaign.Swept
	if err := l.submit(ctx, &op{urgency: results, rows: rows, run: func(t *tx) error {
		counts = campaign.Swept{}
		return f(t, &counts)
	}}); err != nil {
		return err
	}
	done.Matched += counts.Matched
	done.Adopted += counts.Adopted
	done.Ambiguous += counts.Ambiguous
	done.Expired += counts.Expired
	return nil
}

// sweepKnown applies the orphans whose messages are known.
func (l *Ledger) sweepKnown(ctx context.Context, known []ledger.Orphan, done *campaign.Swept) error {
	if len(known) == 0 {
		return nil
	}
	return l.sweepStep(ctx, done, len(known), func(t *tx, counts *campaign.Swept) error {
		for _, o := range known {
			n, err := t.absorbMessage(o)
			if err != nil {
				return err
			}
			counts.Matched += n
		}
		return nil
	})
}

const sqlExpireOrphans = `DELETE FROM orphan WHERE (mh, message_id, rank) IN
	(SELECT mh, message_id, rank FROM orphan WHERE received_at < ? ORDER BY received_at LIMIT +?)`

// sweepExpire deletes the n oldest orphans of those received before a time.
func (l *Ledger) sweepExpire(ctx context.Context, before, n int64, done *campaign.Swept) error {
	for ; n > 0; n -= ledger.SweepStep {
		step := min(n, ledger.SweepStep)
		if err := l.sweepStep(ctx, done, int(step), func(t *tx, counts *campaign.Swept) error {
			deleted, err := t.exec(sqlExpireOrphans, before, step)
			counts.Expired = int(deleted)
			return err
		}); err != nil {
			return err
		}
	}
	return nil
}

const sqlKnownOrphans = `SELECT o.mh, o.message_id,
		EXISTS (SELECT 1 FROM outcome x WHERE x.mh = o.mh AND x.mh <> 0 AND x.message_id = o.message_id)
	FROM orphan o WHERE (o.mh, o.message_id) > (?, ?) ORDER BY o.mh, o.message_id LIMIT +?`

// knownOrphans finds, among the next ledger.SweepStep orphans, those whose message is known. The
// transactions that record receipts absorb their own orphans; the search is for events that another
// process wrote.
func (l *Ledger) knownOrphans(ctx context.Context) (known []ledger.Orphan, err error) {
	p := &l.sweepAt
	p.Lock()
	defer p.Unlock()
	if !p.begun {
		p.mh, p.messageID, p.begun = -1<<63, "", true
	}
	n := 0
	err = l.read().each(ctx, sqlKnownOrphans, args(p.mh, p.messageID, ledger.SweepStep), func(scan scanFunc) error {
		var o ledger.Orphan
		var isKnown bool
		err := scan(&o.Hash, &o.MessageID, &isKnown)
		if isKnown && (len(known) == 0 || known[len(known)-1].MessageID != o.MessageID) {
			known = append(known, o)
		}
		p.mh, p.messageID = o.Hash, o.MessageID
		n++
		return err
	})
	if n < ledger.SweepStep {
		p.begun = false
	}
	return known, err
}

const sqlOrphansOfMessage = `SELECT mh, message_id, rank, at, code, connection FROM orphan WHERE mh = ? AND message_id = ?`

// absorbMessage applies all orphans of one message, if it is known, and returns how many.
func (t *tx) absorbMessage(o ledger.Orphan) (int, error) {
	var found []messageStatus
	if err := t.each(sqlOrphansOfMessage, args(o.Hash, o.MessageID), func(scan scanFunc) error {
		var s messageStatus
		err := scan(&s.mh, &s.messageID, &s.rank, &s.at, &s.code, &s.connection)
		found = append(found, s)
		return err
	}); err != nil {
		return 0, err
	}
	return t.absorb(found)
}
