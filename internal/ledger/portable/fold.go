package portable

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"slices"
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
	busyFor = 4 * time.Second
	// unsentQuiet is how many times as old as in another segment the first change must be in one with
	// rows to send: while it is sent, each summary is old at once, and that of a list that was just
	// imported is old when its sending begins.
	unsentQuiet = 5
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
				GROUP BY x.segment
				HAVING min(x.at) <= min(CASE WHEN NOT s.done THEN CAST($2 AS bigint) ELSE $1 END)) y) z
		ORDER BY CASE news WHEN 1 THEN place ELSE 4 * place END, news DESC LIMIT $3`
	sqlForgetChanged = `DELETE FROM changed WHERE segment = $1`
	// The summary of a segment whose deliveries retention deleted stays.
	sqlClaimSummary = `INSERT INTO summary (segment, token) SELECT $1, $2
		WHERE NOT EXISTS (SELECT 1 FROM retired r WHERE r.segment = $1)
		ON CONFLICT (segment) DO UPDATE SET token = excluded.token`
	sqlCountedSegment  = `SELECT id, lo, hi, mark, connection, done, lease_until > ledger_now() FROM segment WHERE id = $1`
	sqlClaimedSegments = `SELECT id, lo, s.hi, s.mark, s.connection, done, lease_until > ledger_now()
		FROM summary k JOIN segment s ON s.id = k.segment WHERE token = $1 AND token <> 0 /* the index has no others */ ORDER BY id`
	sqlClaimedSummaries = `SELECT segment, EXISTS (SELECT 1 FROM changed c WHERE c.segment = k.segment)
		FROM summary k WHERE token = $1 AND token <> 0 ORDER BY segment`
	sqlKeepSummary = `UPDATE summary SET token = 0, mark = $3, hi = $4, connection = $5, counts = $6, course = $7
		WHERE segment = $1 AND token = $2 AND NOT EXISTS (SELECT 1 FROM retired r WHERE r.segment = $1)`
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
	segments, err := l.uncounted(ctx, quiet, most)
	if err != nil || len(segments) == 0 {
		return 0, err
	}
	where := recipients.NewCountries()
	for some := range slices.Chunk(segments, ledger.SummaryPage) {
		n, err := l.keepSummaries(ctx, some, where)
		if kept += n; err != nil {
			return kept, err
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

// uncounted returns up to most segments whose first change is quiet old, or unsentQuiet times as
// old if they have rows to send, in the order of sqlUncounted.
func (l *Ledger) uncounted(ctx context.Context, quiet time.Duration, most int) (segments []int64, err error) {
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
	}, sqlUncounted, ledger.Millis(now.Add(-quiet)), ledger.Millis(now.Add(-unsentQuiet*quiet)), int64(most+len(l.folds.busy)))
	for _, id := range all {
		if _, busy := l.folds.busy[id]; !busy && len(segments) < most {
			segments = append(segments, id)
		}
	}
	return segments, err
}

// keepSummaries counts segments and keeps their summaries, unless another process has begun to
// count them. It returns how many it kept that have not changed meanwhile.
func (l *Ledger) keepSummaries(ctx context.Context, segments []int64, where *recipients.Countries) (kept int, err error) {
	slices.Sort(segments)     // so that two processes lock summaries in the same order
	token := rand.Int64() | 1 // never 0 and never -1
	if err := l.db.Change(ctx, Reports, func(t Tx) error {
		for _, id := range segments {
			if err := t.Last(sqlForgetChanged, id); err != nil {
				return err
			}
			if err := t.Last(sqlClaimSummary, id, token); err != nil {
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
	var counted []ledger.CountedSegment
	var sums []ledger.SegmentSummary
	if err := l.db.Snapshot(ctx, func(each Each) error {
		counted, sums = nil, nil
		if err := each(add(&counted, ledger.ScanCountedSegment), sqlClaimedSegments, token); err != nil {
			return err
		}
		for i := range counted {
			sum, err := l.countSegment(each, &counted[i], where, true)
			if err != nil {
				return err
			}
			sums = append(sums, sum)
		}
		return nil
	}); err != nil {
		return 0, err
	}
	var changed map[int64]bool // whether a segment whose token is still ours has changed
	if err := l.db.Change(ctx, Reports, func(t Tx) error {
		changed = map[int64]bool{}
		if err := t.Lock(func(scan Scan) error {
			var id int64
			var is bool
			err := scan(&id, &is)
			changed[id] = is
			return err
		}, sqlClaimedSummaries, token); err != nil {
			return err
		}
		for i := range counted {
			if _, ours := changed[counted[i].Key]; !ours {
				continue
			}
			if err := storeSummary(t, sqlKeepSummary, token, &counted[i], &sums[i]); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		return 0, err
	}
	l.folds.Lock()
	defer l.folds.Unlock()
	for id, is := range changed {
		if is {
			l.folds.busy[id] = time.Now().Add(busyFor)
		} else {
			kept++
		}
	}
	return kept, nil
}

// storeSummary writes a summary with a statement that has the arguments of sqlKeepSummary.
func storeSummary(t Tx, statement string, token int64, s *ledger.CountedSegment, sum *ledger.SegmentSummary) error {
	counts, err := json.Marshal(ledger.NonNil(sum.Groups))
	if err != nil {
		return err
	}
	course, err := json.Marshal(sum.Course)
	if err != nil {
		return err
	}
	return t.Last(statement, s.Key, token, s.Mark, s.Hi, s.Connection, string(counts), string(course))
}
