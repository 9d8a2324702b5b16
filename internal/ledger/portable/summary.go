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
	// One reading of the outcomes: $3 is the row id of the mark, $4 asks for the courses. The first
	// column is that of ledger.ScanOutcomes; -1 is no minute and no bucket.
	sqlSummaryOutcomes = `SELECT CASE WHEN rid >= $3 THEN 1 ELSE 0 END + CASE WHEN state = 7 /* skipped */ AND attempt = 0 THEN 2 ELSE 0 END
			+ CASE WHEN coalesce(sent_at, 0) > 0 THEN 4 ELSE 0 END + CASE WHEN coalesce(failed_at, 0) > 0 THEN 8 ELSE 0 END
			+ rank * 16 + state * 128 + flags * 2048,
			coalesce(connection, ''), coalesce(CASE WHEN state >= 6 /* refused */ OR state = 1 /* deferred */ THEN code
				WHEN rank = 2 /* failed */ THEN fail_code END, ''),
			CASE WHEN $4 = 1 AND state = 5 /* accepted */ THEN coalesce(result_at, 0) / 60000 ELSE -1 END,
			CASE WHEN $4 = 1 AND delivered_at > 0 THEN delivered_at / 60000 ELSE -1 END,
			CASE WHEN $4 = 1 AND read_at > 0 THEN read_at / 60000 ELSE -1 END,
			CASE WHEN $4 = 1 AND failed_at > 0 THEN failed_at / 60000 ELSE -1 END,
			CASE WHEN $4 = 1 AND state = 5 /* accepted */ AND delivered_at > 0
				THEN CAST(floor(ln(greatest(delivered_at - result_at, 1)) * 10.5) AS bigint) ELSE -1 END,
			count(*)
		FROM outcome WHERE rid >= $1 AND rid < $2 GROUP BY 1, 2, 3, 4, 5, 6, 7, 8`
	// Segments that retention deleted before summaries were kept.
	sqlRetiredGroups = `SELECT 0, '', state, rank, code, n, sent, failed, adopted, duplicate, ambiguous FROM retired_total WHERE segment = $1`
)

// sqlSummaryCountries groups numbers by what recipients.Countries tells countries apart by: the
// calling code, which 3 digits contain, and three digits more where several countries share a code.
// p is the first 7 digits of a number. Texts of the number would take twice the time.
var sqlSummaryCountries = `SELECT CASE` + sharedCodes() + ` ELSE p / 10000 END, min(dest), kind, count(*) FROM (
	SELECT CASE WHEN d.key <= 0 THEN 0 ELSE d.key / CASE WHEN d.key < 10000000 THEN 1 WHEN d.key < 100000000 THEN 10
			WHEN d.key < 1000000000 THEN 100 WHEN d.key < 10000000000 THEN 1000 WHEN d.key < 100000000000 THEN 10000
			WHEN d.key < 1000000000000 THEN 100000 WHEN d.key < 10000000000000 THEN 1000000
			WHEN d.key < 100000000000000 THEN 10000000 ELSE 100000000 END END AS p, d.dest,
		CASE WHEN o.rid IS NULL THEN 0 ELSE CASE WHEN o.failed_at > 0 THEN 8 ELSE 0 END + o.rank * 16 + o.state * 128 END AS kind
	FROM delivery d LEFT JOIN (SELECT rid, state, rank, failed_at FROM outcome WHERE rid >= $1 AND rid < $2) o ON o.rid = d.rid
	WHERE d.rid >= $1 AND d.rid < $2) x GROUP BY 1, 3`

// sharedCodes are the cases of numbers whose calling code several countries share.
func sharedCodes() string {
	var byLength [4][]string
	for _, code := range recipients.SharedCodes() {
		byLength[len(code)] = append(byLength[len(code)], code)
	}
	var b strings.Builder
	for length, of, more := 1, 1_000_000, 1_000; length < len(byLength); length, of, more = length+1, of/10, more/10 {
		if len(byLength[length]) > 0 {
			fmt.Fprintf(&b, ` WHEN p / %d IN (%s) THEN p / %d`, of, strings.Join(byLength[length], ", "), more)
		}
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
	counting := ledger.NewCounting()
	if err := each(counting.Outcomes, sqlSummaryOutcomes, s.First(), s.End(), s.Marked(), bit(course)); err != nil {
		return sum, err
	}
	sum.Groups = counting.Groups
	if len(sum.Groups) == 0 {
		if err := each(add(&sum.Groups, ledger.ScanGroup), sqlRetiredGroups, s.Key); err != nil {
			return sum, err
		}
	}
	if !course {
		return sum, nil
	}
	var areas []ledger.CountryGroup
	if err := each(add(&areas, ledger.ScanCountryGroup), sqlSummaryCountries, s.First(), s.End()); err != nil {
		return sum, err
	}
	sum.Course = counting.Course(ledger.CountCountries(areas, where))
	return sum, nil
}
