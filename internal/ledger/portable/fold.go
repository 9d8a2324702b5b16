package portable

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"sync"
	"time"

	"campaignd/internal/ledger"
	"campaignd/recipients"
)

// folding is what a process remembers of the summaries that it keeps.
type folding struct {
	sync.Mutex
	rebuilt time.Time           // when it last began anew because an older program wrote
	busy    map[int64]time.Time // segments that changed while they were counted, and when to try again
}

const (
	// rebuildEvery is the least time between two beginnings anew: an older program that stays beside
	// this one would otherwise cause one after each of its commits.
	rebuildEvery = 5 * time.Minute
	// busyFor is how long a segment is left alone that changed while it was counted.
	busyFor = time.Second
)

const (
	sqlTellChanged = `INSERT INTO changed (segment, at) VALUES ($1, $2) ON CONFLICT DO NOTHING`
	sqlTrusted     = `SELECT trusted FROM summary_state`
	sqlForgetAll   = `UPDATE summary SET token = -1 WHERE token <> -1`
	sqlAllChanged  = `INSERT INTO changed (segment, at) SELECT id, 0 FROM segment WHERE id > 0 ON CONFLICT DO NOTHING`
	sqlTrustAgain  = `UPDATE summary_state SET trusted = true`

	// A summary with a token is that of a process that is counting, or has ended while it did. A
	// segment has news if sending or a status changed it. A list that was just imported has none, nor
	// has an ended run all of whose segments are counted anew (at 0). Four segments with news go
	// before each one without, the oldest first of both, so that neither waits for all of the other.
	sqlUncounted = `SELECT segment FROM (
			SELECT segment, news, row_number() OVER (PARTITION BY news ORDER BY at, segment) AS place FROM (
				SELECT x.segment, min(x.at) AS at,
					max(CASE WHEN s.mark > s.lo AND (x.at > 0 OR NOT s.done) THEN 1 ELSE 0 END) AS news
				FROM (SELECT segment, at FROM changed
					UNION ALL SELECT segment, 0 FROM summary k WHERE token <> 0
						AND NOT EXISTS (SELECT 1 FROM retired r WHERE r.segment = k.segment)) x
				LEFT JOIN segment s ON s.id = x.segment
				GROUP BY x.segment HAVING min(x.at) <= $1) y) z
		ORDER BY CASE news WHEN 1 THEN place ELSE 4 * place END, news DESC LIMIT $2`
	sqlForgetChanged = `DELETE FROM changed WHERE segment = $1`
	// The summary of a segment whose deliveries retention deleted stays.
	sqlClaimSummary = `INSERT INTO summary (segment, token) SELECT $1, $2
		WHERE NOT EXISTS (SELECT 1 FROM retired r WHERE r.segment = $1)
		ON CONFLICT (segment) DO UPDATE SET token = excluded.token`
	sqlCountedSegment = `SELECT id, lo, hi, mark, connection, done, lease_until > ledger_now() FROM segment WHERE id = $1`
	sqlKeepSummary    = `UPDATE summary SET token = 0, mark = $3, hi = $4, connection = $5, counts = $6, course = $7
		WHERE segment = $1 AND token = $2 AND NOT EXISTS (SELECT 1 FROM retired r WHERE r.segment = $1)`
	sqlHasChanged = `SELECT segment FROM changed WHERE segment = $1 LIMIT 1`
)

// tellChanged adds a segment to those whose rows have changed since they were counted.
func tellChanged(t Tx, segment int64) error {
	_, err := t.Exec(sqlTellChanged, segment, ledger.Millis(time.Now()))
	return err
}

// FoldSummaries implements campaign.ReportLedger (docs/protocol.md#summaries).
func (l *Ledger) FoldSummaries(ctx context.Context, quiet time.Duration, most int) (kept int, err error) {
	if l.options.ReadOnly {
		return 0, nil
	}
	if err := l.trustAgain(ctx); err != nil {
		return 0, err
	}
	segments, err := l.uncounted(ctx, time.Now().Add(-quiet), most)
	if err != nil || len(segments) == 0 {
		return 0, err
	}
	token := rand.Int64() | 1 // never 0 and never -1
	if err := l.db.Change(ctx, Reports, func(t Tx) error {
		for _, id := range segments {
			if _, err := t.Exec(sqlForgetChanged, id); err != nil {
				return err
			}
			if _, err := t.Exec(sqlClaimSummary, id, token); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		return 0, err
	}
	if err := l.db.Passed(ctx); err != nil {
		return 0, err
	}
	where := recipients.NewCountries()
	for _, id := range segments {
		ours, err := l.keepSummary(ctx, id, token, where)
		if err != nil {
			return kept, err
		}
		if ours {
			kept++
		}
	}
	return kept, nil
}

// trustAgain begins anew after a program wrote outcomes that does not add to the table changed.
func (l *Ledger) trustAgain(ctx context.Context) error {
	trusted := true
	if _, err := l.row(ctx, Reports, []any{&trusted}, sqlTrusted); err != nil || trusted {
		return err
	}
	l.folds.Lock()
	defer l.folds.Unlock()
	if now := time.Now(); now.Sub(l.folds.rebuilt) >= rebuildEvery {
		l.folds.rebuilt = now
		return l.db.Change(ctx, Reports, func(t Tx) error {
			if _, err := t.Exec(sqlForgetAll); err != nil {
				return err
			}
			if _, err := t.Exec(sqlAllChanged); err != nil {
				return err
			}
			_, err := t.Exec(sqlTrustAgain)
			return err
		})
	}
	return nil
}

// uncounted returns up to most segments that first changed before an instant, in the order of
// sqlUncounted.
func (l *Ledger) uncounted(ctx context.Context, before time.Time, most int) (segments []int64, err error) {
	l.folds.Lock()
	defer l.folds.Unlock()
	now := time.Now()
	for id, until := range l.folds.busy {
		if now.After(until) {
			delete(l.folds.busy, id)
		}
	}
	all, err := list(ctx, l.db, Reports, func(scan Scan) (id int64, err error) {
		err = scan(&id)
		return id, err
	}, sqlUncounted, ledger.Millis(before), int64(most+len(l.folds.busy)))
	for _, id := range all {
		if _, busy := l.folds.busy[id]; !busy && len(segments) < most {
			segments = append(segments, id)
		}
	}
	return segments, err
}

// keepSummary counts a segment and keeps its summary, unless another process has begun to count it.
func (l *Ledger) keepSummary(ctx context.Context, id, token int64, where *recipients.Countries) (ours bool, err error) {
	var found []ledger.CountedSegment
	var sum ledger.SegmentSummary
	if err := l.db.Snapshot(ctx, func(each Each) (err error) {
		found = nil
		if err := each(add(&found, ledger.ScanCountedSegment), sqlCountedSegment, id); err != nil || len(found) == 0 {
			return err
		}
		sum, err = l.countSegment(each, &found[0], where, true)
		return err
	}); err != nil || len(found) == 0 {
		return false, err
	}
	changed := false
	if err := l.db.Change(ctx, Reports, func(t Tx) (err error) {
		if ours, err = storeSummary(t, sqlKeepSummary, token, &found[0], &sum); err != nil {
			return err
		}
		var segment int64
		changed, err = one(t.Each, []any{&segment}, sqlHasChanged, id)
		return err
	}); err != nil {
		return false, err
	}
	if changed {
		l.folds.Lock()
		l.folds.busy[id] = time.Now().Add(busyFor)
		l.folds.Unlock()
	}
	return ours && !changed, nil
}

// storeSummary writes a summary with a statement that has the arguments of sqlKeepSummary.
func storeSummary(t Tx, statement string, token int64, s *ledger.CountedSegment, sum *ledger.SegmentSummary) (bool, error) {
	counts, err := json.Marshal(ledger.NonNil(sum.Groups))
	if err != nil {
		return false, err
	}
	course, err := json.Marshal(sum.Course)
	if err != nil {
		return false, err
	}
	n, err := t.Exec(statement, s.Key, token, s.Mark, s.Hi, s.Connection, string(counts), string(course))
	return n > 0, err
}
