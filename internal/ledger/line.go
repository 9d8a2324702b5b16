package ledger

import (
	"encoding/json"

	"campaignd/campaign"
)

// LinePage is how many lines one query reads: some milliseconds.
const LinePage = 1000

// ScanDelivery reads rid, key, row, dest, cells and what follows them.
func ScanDelivery(scan func(...any) error, more ...any) (d campaign.Delivery, err error) {
	var r int64
	var cells string
	if err := scan(append([]any{&r, &d.Key, &d.Row, &d.To, &cells}, more...)...); err != nil {
		return d, err
	}
	d.Run, d.Seq = RunOf(r), SeqOf(r)
	return d, json.Unmarshal([]byte(cells), &d.Cells)
}

// Known is an outcome's row as lines show it; both backends fill it.
type Known struct {
	State                                                 Outcome // 0: no row
	Rank                                                  Rank
	Flags, Attempt                                        int
	At, SentAt, DeliveredAt, ReadAt, FailedAt             int64
	Code, FailCode, Detail, MessageID, RequestID, TraceID string
}

// Line makes the line of a delivery. mark and alive are its segment's.
func (k Known) Line(d campaign.Delivery, connection string, mark int64, alive bool) campaign.Line {
	l := campaign.Line{Delivery: d, Connection: connection}
	if k.State == 0 {
		l.Status = campaign.Queued
		if d.Seq < mark {
			l.Status = Dispatched(alive)
			l.Attempts = 1
		} else {
			l.Connection = "" // its segment may be bound; it has not been sent by it
		}
		return l
	}
	l.Status = Shown(k.State, k.Rank, alive)
	l.Attempts, l.Note, l.RequestID, l.TraceID = k.Attempt, k.Detail, k.RequestID, k.TraceID
	switch k.State {
	case Skipped:
		l.Skip, l.Reason = campaign.SkipReason(k.Code), k.Code
		if k.Attempt == 0 {
			l.Connection = ""
		}
	case Refused:
		l.Code = k.Code
	case Accepted:
		l.MessageID, l.AcceptedAt, l.Adopted = k.MessageID, TimeOf(k.At), k.Flags&FlagAdopted != 0
		l.SentAt, l.DeliveredAt, l.ReadAt, l.FailedAt = TimeOf(k.SentAt), TimeOf(k.DeliveredAt), TimeOf(k.ReadAt), TimeOf(k.FailedAt)
		if l.Status == campaign.Failed {
			l.Code = k.FailCode
		}
	default:
		l.Reason = k.Code
	}
	return l
}
