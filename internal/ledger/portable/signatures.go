package portable

import (
	"context"
	"time"

	"campaignd/campaign/reception"
	"campaignd/internal/ledger"
)

const (
	sqlSignatures    = `SELECT state FROM webhook_signatures WHERE id = 1`
	sqlSetSignatures = `UPDATE webhook_signatures SET state = $1 WHERE id = 1`
)

// NoteSignatures implements reception.SignatureLedger.
func (l *Ledger) NoteSignatures(
	ctx context.Context, n reception.SignatureNote, now time.Time,
) (s reception.Signatures, replay time.Time, err error) {
	err = l.db.Change(ctx, Webhooks, func(t Tx) error {
		var text string
		if _, err := one(t.Lock, []any{&text}, sqlSignatures); err != nil {
			return err
		}
		if text, s, replay, err = ledger.NoteSignatures(text, n, now); err != nil {
			return err
		}
		_, err := t.Exec(sqlSetSignatures, text)
		return err
	})
	return s, replay, err
}

// Signatures implements reception.SignatureLedger.
func (l *Ledger) Signatures(ctx context.Context) (reception.Signatures, error) {
	var text string
	if _, err := l.row(ctx, Webhooks, []any{&text}, sqlSignatures); err != nil {
		return reception.Signatures{}, err
	}
	return ledger.SignaturesOf(text)
}
