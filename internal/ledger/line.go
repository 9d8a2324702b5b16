package ledger

import (
	"database/sql"
	"encoding/json"
	"strings"

	"campaignd/campaign"
	"campaignd/campaign/reception"
)

// ScanDelivery reads rid, key, row, dest and cells.
func ScanDelivery(scan func(...any) error) (campaign.Delivery, error) { return scanDelivery(scan) }

// ScanRetry reads what ScanDelivery reads, then attempt and tries of its outcome.
func ScanRetry(scan func(...any) error) (r campaign.Retry, err error) {
	r.Delivery, err = scanDelivery(scan, &r.Attempt, &r.Tries)
	r.Attempt++
	return r, err
}

// scanDelivery reads what ScanDelivery reads, then more.
func scanDelivery(scan func(...any) error, more ...any) (d campaign.Delivery, err error) {
	var r int64
	var cells string
	if err := scan(append([]any{&r, &d.Key, &d.Row, &d.To, &cells}, more...)...); err != nil {
		return d, err
	}
	d.Run, d.Seq = RunOf(r), seqOf(r)
	d.Cells, err = readCells(cells)
	return d, err
}

// readCells reads the JSON array of a delivery's cells. Without a backslash each quote in it ends
// or begins a cell, so the cells are parts of the text. json.Unmarshal takes four times as long for
// them, which was 3 % of the CPU of a send.
func readCells(text string) (cells []string, err error) {
	if inner, ok := strings.CutPrefix(text, `["`); ok && strings.HasSuffix(inner, `"]`) && strings.IndexByte(inner, '\\') < 0 {
		cells = strings.Split(inner[:len(inner)-2], `","`)
		if strings.Count(text, `"`) == 2*len(cells) { // otherwise somebody else has written it, with spaces
			return cells, nil
		}
		cells = nil
	}
	return cells, json.Unmarshal([]byte(text), &cells)
}

// lineOutcome is an outcome's row as lines show it.
type lineOutcome struct {
	state                                                 Outcome // 0: no row
	rank                                                  Rank
	flags, attempt                                        int
	at, sentAt, deliveredAt, readAt, failedAt             int64
	code, failCode, detail, messageID, requestID, traceID string
	price                                                 campaign.Price
}

// ScanLine reads what ScanDelivery reads, then connection and mark of the segment, whether its
// lease is live, and of the outcome, each NULL where there is none: state, rank, flags, attempt,
// the times of the result and of sent, delivered, read and failed, code, failure's code, detail,
// message id, request id, trace id and price.
func ScanLine(scan func(...any) error) (campaign.Line, error) {
	var connection string
	var mark int64
	var alive bool
	var state, rank, flags, attempt, at, sent, delivered, read, failed sql.NullInt64
	var code, failCode, detail, messageID, request, trace, price sql.NullString
	d, err := scanDelivery(scan, &connection, &mark, &alive, &state, &rank, &flags, &attempt, &at, &sent, &delivered, &read, &failed,
		&code, &failCode, &detail, &messageID, &request, &trace, &price)
	if err != nil {
		return campaign.Line{}, err
	}
	k := lineOutcome{
		state: Outcome(state.Int64), rank: Rank(rank.Int64), flags: int(flags.Int64), attempt: int(attempt.Int64),
		at: at.Int64, sentAt: sent.Int64, deliveredAt: delivered.Int64, readAt: read.Int64, failedAt: failed.Int64,
		code: code.String, failCode: failCode.String, detail: detail.String,
		messageID: messageID.String, requestID: request.String, traceID: trace.String, price: campaign.Price(price.String),
	}
	return k.line(d, connection, mark, alive), nil
}

// line makes the line of a delivery. mark and alive are its segment's.
func (k *lineOutcome) line(d campaign.Delivery, connection string, mark int64, alive bool) campaign.Line {
	l := campaign.Line{Delivery: d, Connection: connection}
	if k.state == 0 {
		l.Status = campaign.Queued
		if d.Seq < mark {
			l.Status = Dispatched(alive)
			l.Attempts = 1
		} else {
			l.Connection = "" // its segment may be bound; it has not been sent by it
		}
		return l
	}
	l.Status = shown(k.state, k.rank, alive)
	l.Attempts, l.Note, l.RequestID, l.TraceID = k.attempt, k.detail, k.requestID, k.traceID
	switch k.state {
	case Skipped:
		l.Skip, l.Reason = campaign.SkipReason(k.code), k.code
		if k.attempt == 0 {
			l.Connection = ""
		}
	case Refused:
		l.Code = k.code
	case Accepted:
		l.MessageID, l.AcceptedAt, l.Adopted = k.messageID, TimeOf(k.at), k.flags&FlagAdopted != 0
		l.Price = k.price
		l.SentAt, l.DeliveredAt, l.ReadAt, l.FailedAt = TimeOf(k.sentAt), TimeOf(k.deliveredAt), TimeOf(k.readAt), TimeOf(k.failedAt)
		if l.Status == campaign.Failed {
			l.Code = k.failCode
		}
	default:
		l.Reason = k.code
		if k.state == Doubt || k.state == Unknown {
			l.DoubtSince = TimeOf(k.at)
		}
	}
	return l
}

// ScanLane reads run, connection, owner, what limits the lane, detail, rate and time of a report.
func ScanLane(scan func(...any) error) (r campaign.LaneReport, err error) {
	var at, until int64
	err = scan(&r.Run, &r.Connection, &r.Owner, &r.LimitedBy, &r.Detail, &r.Rate, &r.Wants, &at, &until)
	r.At, r.Until = TimeOf(at), TimeOf(until)
	return r, err
}

// ScanSpan reads since and until.
func ScanSpan(scan func(...any) error) (reception.Span, error) {
	var since, until int64
	err := scan(&since, &until)
	return reception.Span{Since: TimeOf(since), Until: TimeOf(until)}, err
}

// ScanLostTime reads at, since and asked.
func ScanLostTime(scan func(...any) error) (reception.LostTime, error) {
	var at, since, asked int64
	var t reception.LostTime
	err := scan(&at, &since, &asked, &t.Deliveries, &t.Came)
	t.At, t.Since, t.Asked = TimeOf(at), TimeOf(since), TimeOf(asked)
	return t, err
}
