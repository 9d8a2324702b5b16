package portable

import (
	"cmp"
	"context"
	"slices"

	"campaignd/campaign"
	"campaignd/internal/ledger"
)

const sqlKeepReply = `INSERT INTO reply (key, mh, at, opt_out) VALUES ($1, $2, $3, $4)`

// KeepReplies stores the replies and opt-outs of events until their message is found.
func KeepReplies(t Tx, e *campaign.Events, hash func(id string) int64) error {
	for _, r := range ledger.Replies(e, hash) {
		if err := t.Last(sqlKeepReply, r.Key, r.Answers, r.At, bit(r.OptOut)); err != nil {
			return err
		}
	}
	return nil
}

const (
	sqlReplies  = `SELECT id, key, mh, at, opt_out FROM reply ORDER BY id LIMIT $1`
	sqlAnswered = `SELECT coalesce(max(rid), 0) FROM outcome WHERE mh = $1 AND mh <> 0`
	// The runs that may have sent a message after $1.
	sqlOldestRun = `SELECT coalesce(min(no), 0) FROM run WHERE ended_at = 0 OR ended_at > $1`
	sqlReached   = `SELECT result_at FROM outcome WHERE rid = $1 AND state = 5 /* accepted */ AND result_at >= $2 AND result_at <= $3`

	sqlRespond = `INSERT INTO response (rid, replied_at, opted_out_at) VALUES ($1, $2, $3) ON CONFLICT (rid) DO UPDATE SET
		replied_at = CASE WHEN response.replied_at = 0 THEN excluded.replied_at WHEN excluded.replied_at = 0 THEN response.replied_at
			ELSE least(response.replied_at, excluded.replied_at) END,
		opted_out_at = CASE WHEN response.opted_out_at = 0 THEN excluded.opted_out_at WHEN excluded.opted_out_at = 0
			THEN response.opted_out_at ELSE least(response.opted_out_at, excluded.opted_out_at) END`
	sqlForgetReply   = `DELETE FROM reply WHERE id = $1`
	sqlForgetReplies = `DELETE FROM reply WHERE id <= (SELECT id FROM reply ORDER BY id DESC LIMIT 1 OFFSET $1)`
)

// AttributeResponses implements campaign.ReportLedger. A number is looked up in the pages of the
// recent runs (KeepNumbers): until these are made, it waits.
func (l *Ledger) AttributeResponses(ctx context.Context, most int) (judged, left int, err error) {
	if l.options.ReadOnly {
		return 0, 0, nil
	}
	waiting, err := list(ctx, l.db, Reports, ledger.ScanReply, sqlReplies, int64(most))
	if err != nil || len(waiting) == 0 {
		return 0, 0, err
	}
	var part, oldest int64
	unkept, err := l.row(ctx, Reports, []any{&part}, sqlUnkeptPart)
	if err != nil {
		return 0, 0, err
	}
	first := slices.MinFunc(waiting, func(a, b ledger.Reply) int { return cmp.Compare(a.At, b.At) })
	since, _ := first.Span()
	if _, err := l.row(ctx, Reports, []any{&oldest}, sqlOldestRun, since); err != nil {
		return 0, 0, err
	}
	var found []ledger.Reply
	for _, r := range waiting {
		if _, err := l.row(ctx, Reports, []any{&r.RID}, sqlAnswered, r.Answers); err != nil {
			return 0, 0, err
		}
		if r.RID == 0 && r.Key != 0 {
			if unkept {
				left++
				continue
			}
			if r.RID, err = l.lastMessage(ctx, &r, campaign.RunNo(oldest)); err != nil {
				return 0, 0, err
			}
		}
		found = append(found, r)
	}
	// In one order, so that two processes do not wait for each other.
	slices.SortFunc(found, func(a, b ledger.Reply) int { return cmp.Or(cmp.Compare(a.RID, b.RID), cmp.Compare(a.ID, b.ID)) })
	return len(found), left, l.db.Change(ctx, Reports, func(t Tx) error {
		for i := range found {
			r := &found[i]
			if replied, optedOut := r.Times(); r.RID != 0 {
				if _, err := t.Exec(sqlRespond, r.RID, replied, optedOut); err != nil {
					return err
				}
			}
			if _, err := t.Exec(sqlForgetReply, r.ID); err != nil {
				return err
			}
		}
		_, err := t.Exec(sqlForgetReplies, int64(ledger.ReplyCap))
		return err
	})
}

// lastMessage is the delivery of the last message to the person of a reply before it; 0: none. Runs
// before oldest sent too early.
func (l *Ledger) lastMessage(ctx context.Context, r *ledger.Reply, oldest campaign.RunNo) (rid int64, err error) {
	from, to := r.Span()
	var last int64
	for before := int64(0); ; {
		parts, err := l.PersonParts(ctx, r.Key, before)
		if err != nil {
			return 0, err
		}
		for _, p := range parts {
			if p.Run < oldest {
				return rid, nil
			}
			for _, seq := range p.Seqs {
				var at int64
				found, err := l.row(ctx, Reports, []any{&at}, sqlReached, ledger.RowID(p.Run, seq), from, to)
				if err != nil {
					return 0, err
				}
				if found && at > last {
					rid, last = ledger.RowID(p.Run, seq), at
				}
			}
			before = p.ID
		}
		if len(parts) == 0 {
			return rid, nil
		}
	}
}

const (
	sqlResponsesSince = `SELECT since FROM response_state`
	sqlResponses      = `SELECT coalesce(sum(CASE WHEN replied_at > 0 THEN 1 ELSE 0 END), 0),
			coalesce(sum(CASE WHEN opted_out_at > 0 THEN 1 ELSE 0 END), 0)
		FROM response WHERE rid >= $1 AND rid < $2`
)

// Responses implements campaign.ReportLedger.
func (l *Ledger) Responses(ctx context.Context, no campaign.RunNo) (*campaign.Responses, error) {
	run, err := l.Run(ctx, no)
	if err != nil {
		return nil, err
	}
	var since int64
	if _, err := l.row(ctx, Reports, []any{&since}, sqlResponsesSince); err != nil || ledger.Millis(run.CreatedAt) < since {
		return nil, err
	}
	var r campaign.Responses
	_, err = l.row(ctx, Reports, []any{&r.Replied, &r.OptedOut}, sqlResponses, ledger.RowID(no, 0), ledger.RowID(no+1, 0))
	return &r, err
}
