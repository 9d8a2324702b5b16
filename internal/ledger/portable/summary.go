package portable

import (
	"context"
	"fmt"
	"strings"
	"time"

	"campaignd/campaign"
	"campaignd/internal/ledger"
	"campaignd/recipients"
)

const (
	// A summary is kept if nothing has changed since the rows were counted. That of a segment whose
	// deliveries retention deleted always is. $4 asks for the courses.
	sqlSummaryPage = `SELECT s.id, s.lo, s.hi, s.mark, s.connection, s.done, s.lease_until > ledger_now(),
			coalesce(k.counts, ''), CASE WHEN $4 = 1 THEN coalesce(k.course, '') ELSE '' END,
			EXISTS (SELECT 1 FROM retired r WHERE r.segment = s.id)
		FROM segment s LEFT JOIN summary k ON k.segment = s.id AND k.counts <> '' AND (
			EXISTS (SELECT 1 FROM retired r WHERE r.segment = s.id)
			OR k.token = 0 AND k.mark = s.mark AND k.hi = s.hi AND k.connection = s.connection
				AND NOT EXISTS (SELECT 1 FROM changed c WHERE c.segment = s.id) AND (SELECT trusted FROM summary_state))
		WHERE s.id > $1 AND s.id < $2 ORDER BY s.id LIMIT $3`
	// $3 is the row id of the mark.
	sqlSummaryGroups = `SELECT CASE WHEN rid >= $3 THEN 1 ELSE 0 END + CASE WHEN state = 7 /* skipped */ AND attempt = 0 THEN 2 ELSE 0 END,
			coalesce(connection, ''), state, rank,
			coalesce(CASE WHEN state >= 6 /* refused */ OR state = 1 /* deferred */ THEN code
				WHEN rank = 2 /* failed */ THEN fail_code END, ''), count(*),
			count(*) FILTER (WHERE coalesce(sent_at, 0) > 0), count(*) FILTER (WHERE coalesce(failed_at, 0) > 0),
			count(*) FILTER (WHERE flags & 1 /* adopted */ <> 0), count(*) FILTER (WHERE flags & 2 /* may be a duplicate */ <> 0),
			count(*) FILTER (WHERE flags & 8 /* ambiguous */ <> 0)
		FROM outcome WHERE rid >= $1 AND rid < $2 GROUP BY 1, 2, 3, 4, 5`
	// The lines are those of ledger.Course.
	sqlSummarySeries = `SELECT 0, result_at / 60000, count(*) FROM outcome
			WHERE rid >= $1 AND rid < $2 AND state = 5 /* accepted */ GROUP BY 2
		UNION ALL SELECT 1, delivered_at / 60000, count(*) FROM outcome WHERE rid >= $1 AND rid < $2 AND delivered_at > 0 GROUP BY 2
		UNION ALL SELECT 2, read_at / 60000, count(*) FROM outcome WHERE rid >= $1 AND rid < $2 AND read_at > 0 GROUP BY 2
		UNION ALL SELECT 3, failed_at / 60000, count(*) FROM outcome WHERE rid >= $1 AND rid < $2 AND failed_at > 0 GROUP BY 2`
	sqlSummaryLatency = `SELECT CAST(floor(ln(greatest(delivered_at - result_at, 1)) * 10.5) AS bigint), count(*) FROM outcome
		WHERE rid >= $1 AND rid < $2 AND state = 5 /* accepted */ AND delivered_at > 0 GROUP BY 1`
	// Segments that retention deleted before summaries were kept.
	sqlRetiredGroups = `SELECT 0, '', state, rank, code, n, sent, failed, adopted, duplicate, ambiguous FROM retired_total WHERE segment = $1`
)

// sqlSummaryCountries groups numbers by what recipients.Countries tells countries apart by: the
// calling code, which 3 digits contain, and three digits more where several countries share a code.
var sqlSummaryCountries = `SELECT CASE WHEN d.key = 0 THEN '' ELSE substr(d.dest, 1, CASE` + sharedCodes() + ` ELSE 4 END) END,
		min(d.dest), count(*),
		count(*) FILTER (WHERE o.state = 7 /* skipped */), count(*) FILTER (WHERE o.state = 6 /* refused */),
		count(*) FILTER (WHERE o.state = 5 /* accepted */), count(*) FILTER (WHERE o.rank >= 3 /* delivered */),
		count(*) FILTER (WHERE o.rank = 4 /* read */), count(*) FILTER (WHERE o.failed_at > 0)
	FROM delivery d LEFT JOIN (SELECT rid, state, rank, failed_at FROM outcome WHERE rid >= $1 AND rid < $2) o ON o.rid = d.rid
	WHERE d.rid >= $1 AND d.rid < $2 GROUP BY 1`

// sharedCodes are the cases of numbers whose calling code several countries share, and how many
// characters tell the country.
func sharedCodes() string {
	var b strings.Builder
	for _, code := range recipients.SharedCodes() {
		fmt.Fprintf(&b, ` WHEN substr(d.dest, 2, %d) = '%s' THEN %d`, len(code), code, 1+len(code)+3)
	}
	return b.String()
}

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
// changes its segment.
func (l *Ledger) summing(ctx context.Context, no campaign.RunNo, course bool) (*ledger.Summing, error) {
	if _, err := l.Run(ctx, no); err != nil {
		return nil, err
	}
	sum, where := ledger.NewSumming(), recipients.NewCountries()
	var counted *ledger.Summing
	err := l.eachPage(ctx, no, course, func(each Each, page []ledger.KeptSegment) error {
		counted = ledger.NewSumming()
		for i := range page {
			s, kept, err := page[i].Kept()
			if err == nil && !kept {
				s, err = countSegment(each, &page[i].CountedSegment, where, course)
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

// eachPage calls f for each page of segments of a run, in a snapshot of its own. f may run again
// for the same page, and starts over then. read is called when the page has been read.
func (l *Ledger) eachPage(
	ctx context.Context, no campaign.RunNo, course bool, f func(each Each, page []ledger.KeptSegment) error, read func(),
) error {
	for after, end := ledger.SegmentKey(no, -1), ledger.SegmentKey(no+1, 0); ; {
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

// countSegment counts the rows of a segment.
func countSegment(each Each, s *ledger.CountedSegment, where *recipients.Countries, course bool) (sum ledger.SegmentSummary, err error) {
	if err := each(add(&sum.Groups, ledger.ScanGroup), sqlSummaryGroups, s.First(), s.End(), s.Marked()); err != nil {
		return sum, err
	}
	if len(sum.Groups) == 0 {
		if err := each(add(&sum.Groups, ledger.ScanGroup), sqlRetiredGroups, s.Key); err != nil {
			return sum, err
		}
	}
	if !course {
		return sum, nil
	}
	var series [][3]int64
	if err := each(add(&series, func(scan Scan) (r [3]int64, err error) {
		err = scan(&r[0], &r[1], &r[2])
		return r, err
	}), sqlSummarySeries, s.First(), s.End()); err != nil {
		return sum, err
	}
	var latency [][2]int64
	if err := each(add(&latency, func(scan Scan) (r [2]int64, err error) {
		err = scan(&r[0], &r[1])
		return r, err
	}), sqlSummaryLatency, s.First(), s.End()); err != nil {
		return sum, err
	}
	var areas []ledger.CountryGroup
	if err := each(add(&areas, ledger.ScanCountryGroup), sqlSummaryCountries, s.First(), s.End()); err != nil {
		return sum, err
	}
	sum.Course = ledger.SegmentCourse(series, latency, ledger.CountCountries(areas, where))
	return sum, nil
}
