package sqlite

import (
	"context"
	"slices"
	"sync"
	"time"

	"campaignd/campaign"
	"campaignd/internal/ledger"
	"campaignd/internal/mutant"
)

// sweepPos is where the search by message id goes on: each sweep looks at sweepStep
// orphans, so that a million of somebody else's messages cost no more than a few.
type sweepPos struct {
	sync.Mutex
	mh        int64
	messageID string
	begun     bool
}

// Sweep implements campaign.EventLedger. It searches on a reader and gives the writer
// only what it found, in steps: intents wait for the same writer.
func (l *Ledger) Sweep(ctx context.Context, now time.Time) (done campaign.Swept, err error) {
	if mutant.On("sweeper_off") {
		return done, nil
	}
	var some bool
	if err := l.read().row(ctx, `SELECT EXISTS (SELECT 1 FROM orphan)`, nil, &some); err != nil || !some {
		return done, err
	}
	known, err := l.knownOrphans(ctx)
	if err != nil {
		return done, err
	}
	var fitting []ledger.Orphan
	var then map[int64][]ledger.Suspect
	var left, old int64
	if err := l.snapshot(ctx, func(r reader) (err error) {
		ask := func(q string, a []any, f func(func(...any) error) error) error { return r.each(ctx, q, a, f) }
		if fitting, then, err = adoptable(ask); err != nil {
			return err
		}
		return r.row(ctx, `SELECT count(*), count(*) FILTER (WHERE received_at < ?) FROM orphan`, args(ledger.Millis(now.Add(-ledger.OrphanAge))), &left, &old)
	}); err != nil {
		return done, err
	}
	step := func(rows int, f func(*tx, *campaign.Swept) error) error {
		var did campaign.Swept
		if err := l.submit(ctx, &op{urgency: results, rows: rows, run: func(t *tx) error {
			did = campaign.Swept{}
			return f(t, &did)
		}}); err != nil {
			return err
		}
		done.Matched, done.Adopted, done.Ambiguous, done.Expired = done.Matched+did.Matched, done.Adopted+did.Adopted, done.Ambiguous+did.Ambiguous, done.Expired+did.Expired
		return nil
	}
	if len(known) > 0 {
		if err := step(len(known), func(t *tx, did *campaign.Swept) error {
			for _, o := range known {
				n, err := t.absorbMessage(o)
				if err != nil {
					return err
				}
				did.Matched += n
			}
			return nil
		}); err != nil {
			return done, err
		}
	}
	until := time.Now().Add(ledger.AdoptTime)
	for some := range slices.Chunk(fitting, adoptOnce) {
		if err := step(len(some), func(t *tx, did *campaign.Swept) error {
			for _, o := range some {
				if err := t.adopt(o, then[o.Key], did); err != nil {
					return err
				}
			}
			return nil
		}); err != nil {
			return done, err
		}
		if time.Now().After(until) {
			break // the next sweep goes on
		}
	}
	// First what is too old, then what is too much, as long as either was true of the snapshot.
	excess := min(max(0, left-old-ledger.OrphanCap), 10*ledger.SweepStep)
	for _, drop := range []struct{ n, before int64 }{{min(old, ledger.SweepStep), ledger.Millis(now.Add(-ledger.OrphanAge))}, {excess, 1 << 62}} {
		for n := drop.n; n > 0; n -= ledger.SweepStep {
			if err := step(int(min(n, ledger.SweepStep)), func(t *tx, did *campaign.Swept) error {
				m, err := t.exec(`DELETE FROM orphan WHERE (mh, message_id, rank) IN
					(SELECT mh, message_id, rank FROM orphan WHERE received_at < ? ORDER BY received_at LIMIT ?)`, drop.before, min(n, ledger.SweepStep))
				did.Expired = int(m)
				return err
			}); err != nil {
				return done, err
			}
		}
	}
	done.Left = int(left)
	if done.Matched+done.Adopted+done.Expired > 0 {
		return done, l.read().row(ctx, `SELECT count(*) FROM orphan`, nil, &done.Left)
	}
	return done, nil
}

// knownOrphans finds, among the next sweepStep orphans, those whose message is known.
// The transactions that record receipts absorb their own orphans; this is for what came
// in by another process.
func (l *Ledger) knownOrphans(ctx context.Context) (known []ledger.Orphan, err error) {
	p := &l.sweepAt
	p.Lock()
	defer p.Unlock()
	if !p.begun {
		p.mh, p.messageID, p.begun = -1<<63, "", true
	}
	n := 0
	err = l.read().each(ctx, `SELECT o.mh, o.message_id, EXISTS (SELECT 1 FROM outcome x WHERE x.mh = o.mh AND x.mh <> 0 AND x.message_id = o.message_id)
		FROM orphan o WHERE (o.mh, o.message_id) > (?, ?) ORDER BY o.mh, o.message_id LIMIT ?`, args(p.mh, p.messageID, ledger.SweepStep),
		func(scan func(...any) error) error {
			var o ledger.Orphan
			var yes bool
			err := scan(&o.Hash, &o.MessageID, &yes)
			if yes && (len(known) == 0 || known[len(known)-1].MessageID != o.MessageID) {
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

// absorbMessage applies all orphans of one message, if it is known.
func (t *tx) absorbMessage(o ledger.Orphan) (int, error) {
	var found []waitingStatus
	if err := t.each(`SELECT mh, message_id, rank, at, code FROM orphan WHERE mh = ? AND message_id = ?`, args(o.Hash, o.MessageID), func(scan func(...any) error) error {
		var s waitingStatus
		err := scan(&s.mh, &s.messageID, &s.rank, &s.at, &s.code)
		found = append(found, s)
		return err
	}); err != nil {
		return 0, err
	}
	return t.absorb(found)
}
