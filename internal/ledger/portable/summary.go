package portable

import (
	"context"
	"time"

	"campaignd/campaign"
	"campaignd/internal/ledger"
	"campaignd/recipients"

	"golang.org/x/sync/errgroup"
)

const (
	// A summary is kept if nothing has changed since the rows were counted. That of a segment whose
	// deliveries retention deleted always is. A segment without an outcome, such as each of a run that
	// has just begun, has no groups: counting it would be a statement more. $4 asks for the courses.
	sqlSummaryPage = `SELECT s.id, s.lo, s.hi, s.mark, s.connection, s.done, s.lease_until > ledger_now(),
			coalesce(k.counts, CASE WHEN $4 = 1 OR EXISTS (SELECT 1 FROM retired r WHERE r.segment = s.id)
				OR EXISTS (SELECT 1 FROM outcome o WHERE o.rid >= ((s.id >> 32) << 32) + s.lo AND o.rid < ((s.id >> 32) << 32) + s.hi)
				THEN '' ELSE '[]' END),
			CASE WHEN $4 = 1 THEN coalesce(k.course, '') ELSE '' END,
			EXISTS (SELECT 1 FROM retired r WHERE r.segment = s.id)
		FROM segment s LEFT JOIN summary k ON k.segment = s.id AND k.counts <> '' AND (
			EXISTS (SELECT 1 FROM retired r WHERE r.segment = s.id)
			OR k.token = 0 AND k.mark = s.mark AND k.hi = s.hi AND k.connection = s.connection
				AND NOT EXISTS (SELECT 1 FROM changed c WHERE c.segment = s.id) AND (SELECT trusted FROM summary_state))
		WHERE s.id > $1 AND s.id < $2 ORDER BY s.id LIMIT $3`
	sqlLastOfRun = `SELECT coalesce(max(id), 0) FROM segment WHERE id > $1 AND id < $2`
	// Segments that retention deleted before summaries were kept.
	sqlRetiredGroups = `SELECT 0, '', state, rank, code, n, sent, failed, adopted, duplicate, ambiguous FROM retired_total WHERE segment = $1`
)

// CountedColumns are those of a delivery d and its outcome o that ledger.CountedRow has, in its
// order. $3 is the row id of the mark.
var CountedColumns = [...]string{
	`(greatest(coalesce(d.key, 1125899906842623), 0) & 1125899906842623) * 4096 + ` + countedKind, countedResult,
	`o.delivered_at`, `o.read_at`, countedFailed, countedConnection, countedCode,
}

// CountedOutcome are CountedColumns of an outcome o whose delivery and times are not counted.
var CountedOutcome = [len(CountedColumns)]string{
	`1125899906842623 * 4096 + ` + countedKind, countedResult, `NULL`, `NULL`, countedFailed, countedConnection, countedCode,
}

const (
	countedKind   = `coalesce(o.flags + (o.state * 8 + o.rank) * 32, 0)`
	countedResult = `coalesce(o.result_at, 0) * 8 + CASE WHEN o.sent_at > 0 THEN 4 ELSE 0 END
		+ CASE WHEN o.attempt = 0 THEN 2 ELSE 0 END + CASE WHEN o.rid >= $3 THEN 1 ELSE 0 END`
	countedFailed     = `o.failed_at`
	countedConnection = `o.connection`
	countedCode       = `CASE WHEN o.state <> 5 /* accepted */ THEN o.code WHEN o.rank = 2 /* failed */ THEN o.fail_code END`
)

// Tallies implements campaign.ReportLedger.
func (l *Ledger) Tallies(ctx context.Context, no campaign.RunNo) ([]campaign.Tally, campaign.Funnel, error) {
	sum, err := l.summing(ctx, no, false)
	if err != nil {
		return nil, campaign.Funnel{}, err
	}
	s := sum.Summary(time.Time{})
	tallies, funnel := s.Tallies()
	return tallies, funnel, nil
}

// Summary implements campaign.ReportLedger.
func (l *Ledger) Summary(ctx context.Context, no campaign.RunNo) (campaign.Summary, error) {
	at := time.Now().UTC()
	sum, err := l.summing(ctx, no, true)
	if err != nil {
		return campaign.Summary{}, err
	}
	return sum.Summary(at), nil
}

// summing adds up the segments of a run, with their courses if course says so. It counts each page
// of segments in a snapshot of its own, so that a long run keeps neither a write-ahead log growing
// nor dead rows from being cleaned up. The sum is still the number of rows, because no delivery
// changes its segment. Both halves of the run are read at the same time.
func (l *Ledger) summing(ctx context.Context, no campaign.RunNo, course bool) (*ledger.Summing, error) {
	if _, err := l.Run(ctx, no); err != nil {
		return nil, err
	}
	first, end := ledger.SegmentKey(no, -1), ledger.SegmentKey(no+1, 0)
	var last int64
	if _, err := l.row(ctx, Reports, []any{&last}, sqlLastOfRun, first, end); err != nil {
		return nil, err
	}
	middle := first + (max(last, first)-first)/2
	var halves [2]*ledger.Summing
	both, ctx := errgroup.WithContext(ctx)
	for i, span := range [...][2]int64{{first, middle + 1}, {middle, end}} {
		both.Go(func() (err error) {
			halves[i], err = l.summingSpan(ctx, span[0], span[1], course)
			return err
		})
	}
	if err := both.Wait(); err != nil {
		return nil, err
	}
	halves[0].Merge(halves[1])
	return halves[0], nil
}

// summingSpan adds up the segments whose keys are above after and below end.
func (l *Ledger) summingSpan(ctx context.Context, after, end int64, course bool) (*ledger.Summing, error) {
	sum, where := ledger.NewSumming(), recipients.NewCountries()
	var counted *ledger.Summing
	err := l.eachPage(ctx, after, end, course, func(each Each, page []ledger.KeptSegment) error {
		counted = ledger.NewSumming()
		for i := range page {
			s, kept, err := page[i].Kept()
			if err == nil && !kept {
				s, err = l.countSegment(each, &page[i].CountedSegment, where, course)
			}
			if err != nil {
				return err
			}
			counted.Add(&page[i].CountedSegment, &s)
		}
		return nil
	}, func() { sum.Merge(counted) })
	return sum, err
}

// eachPage calls f for each page of the segments whose keys are above after and below end, in a
// snapshot of its own. f may run again for the same page, and starts over then. read is called when
// the page has been read.
func (l *Ledger) eachPage(
	ctx context.Context, after, end int64, course bool, f func(each Each, page []ledger.KeptSegment) error, read func(),
) error {
	for {
		var page []ledger.KeptSegment
		if err := l.db.Snapshot(ctx, func(each Each) error {
			page = nil
			if err := each(add(&page, ledger.ScanKeptSegment), sqlSummaryPage, after, end, ledger.SummaryPage, bit(course)); err != nil ||
				len(page) == 0 {
				return err
			}
			return f(each, page)
		}); err != nil {
			return err
		}
		if len(page) > 0 && read != nil {
			read()
		}
		if len(page) < ledger.SummaryPage {
			return nil
		}
		after = page[len(page)-1].Key
	}
}

// countSegment counts the rows of a segment, with all of their course if course says so.
func (l *Ledger) countSegment(
	each Each, s *ledger.CountedSegment, where *recipients.Countries, course bool,
) (ledger.SegmentSummary, error) {
	counting := ledger.NewCounting()
	if err := l.own.Counted(each, counting.Row, course, s.First(), s.End(), s.Marked()); err != nil {
		return ledger.SegmentSummary{}, err
	}
	sum := counting.Summary(where)
	if len(sum.Groups) > 0 {
		return sum, nil
	}
	return sum, each(add(&sum.Groups, ledger.ScanGroup), sqlRetiredGroups, s.Key)
}
