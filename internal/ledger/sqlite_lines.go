package ledger

import (
	"context"
	"database/sql"
	"encoding/json"
	"iter"
	"time"

	"campaignd/campaign"
)

// linePage is how many lines one query reads: some milliseconds.
const linePage = 1000

// scanDelivery reads rid, key, row, dest, cells and what follows them.
func scanDelivery(scan func(...any) error, more ...any) (d campaign.Delivery, err error) {
	var r int64
	var cells string
	if err := scan(append([]any{&r, &d.Key, &d.Row, &d.To, &cells}, more...)...); err != nil {
		return d, err
	}
	d.Run, d.Seq = runOf(r), seqOf(r)
	return d, json.Unmarshal([]byte(cells), &d.Cells)
}

// known is an outcome's row as lines show it; both backends fill it.
type known struct {
	state                                              outcome // 0: no row
	rank                                               rank
	flags, attempt                                     int
	at, sentAt, deliveredAt, readAt, failedAt          int64
	code, failCode, detail, messageID, request, traced string
}

// line makes the line of a delivery. mark and alive are its segment's.
func (k known) line(d campaign.Delivery, connection string, mark int64, alive bool) campaign.Line {
	l := campaign.Line{Delivery: d, Connection: connection}
	if k.state == 0 {
		l.Status = campaign.Queued
		if d.Seq < mark {
			l.Status = dispatched(alive)
			l.Attempts = 1
		} else {
			l.Connection = "" // its segment may be bound; it has not been sent by it
		}
		return l
	}
	l.Status = shown(k.state, k.rank, alive)
	l.Attempts, l.Note, l.RequestID, l.TraceID = k.attempt, k.detail, k.request, k.traced
	switch k.state {
	case skipped:
		l.Skip, l.Reason = campaign.SkipReason(k.code), k.code
		if k.attempt == 0 {
			l.Connection = ""
		}
	case refused:
		l.Code = k.code
	case accepted:
		l.MessageID, l.AcceptedAt, l.Adopted = k.messageID, timeOf(k.at), k.flags&flagAdopted != 0
		l.SentAt, l.DeliveredAt, l.ReadAt, l.FailedAt = timeOf(k.sentAt), timeOf(k.deliveredAt), timeOf(k.readAt), timeOf(k.failedAt)
		if l.Status == campaign.Failed {
			l.Code = k.failCode
		}
	default:
		l.Reason = k.code
	}
	return l
}

// Lines implements campaign.ReportLedger.
func (l *SQLite) Lines(ctx context.Context, no campaign.RunNo) iter.Seq2[campaign.Line, error] {
	return func(yield func(campaign.Line, error) bool) {
		if _, err := l.Run(ctx, no); err != nil {
			yield(campaign.Line{}, err)
			return
		}
		for after := int64(-1 << 62); ; {
			page, err := l.linesAfter(ctx, no, after)
			if err != nil {
				yield(campaign.Line{}, err)
				return
			}
			for _, line := range page {
				if !yield(line, nil) {
					return
				}
				after = line.Row
			}
			if len(page) < linePage {
				return
			}
		}
	}
}

func (l *SQLite) linesAfter(ctx context.Context, no campaign.RunNo, after int64) (page []campaign.Line, err error) {
	now := millis(time.Now())
	err = l.read().each(ctx, `SELECT d.rid, d.key, d.row, d.dest, d.cells, coalesce(s.connection, ''), coalesce(s.mark, 0), coalesce(s.lease_until, 0),
		o.state, o.rank, o.flags, o.attempt, o.result_at, o.sent_at, o.delivered_at, o.read_at, o.failed_at,
		o.code, o.fail_code, o.detail, o.message_id, o.request_id, o.trace_id
		FROM delivery d INDEXED BY delivery_row LEFT JOIN outcome o ON o.rid = d.rid
		LEFT JOIN segment s ON s.id = ((d.rid >> 32) << 32) | ((d.rid & 0xffffffff) / 4096)
		WHERE d.rid >> 32 = ? AND d.row > ? ORDER BY d.row LIMIT ?`, args(int64(no), after, linePage), func(scan func(...any) error) error {
		var k known
		var connection string
		var mark, until int64
		var state, rnk, flags, attempt, at, sent, delivered, read, failed sql.NullInt64
		var code, failCode, detail, messageID, request, traced sql.NullString
		d, err := scanDelivery(scan, &connection, &mark, &until, &state, &rnk, &flags, &attempt, &at, &sent, &delivered, &read, &failed,
			&code, &failCode, &detail, &messageID, &request, &traced)
		if err != nil {
			return err
		}
		k = known{outcome(state.Int64), rank(rnk.Int64), int(flags.Int64), int(attempt.Int64), at.Int64, sent.Int64, delivered.Int64,
			read.Int64, failed.Int64, code.String, failCode.String, detail.String, messageID.String, request.String, traced.String}
		page = append(page, k.line(d, connection, mark, until > now))
		return nil
	})
	return page, err
}
