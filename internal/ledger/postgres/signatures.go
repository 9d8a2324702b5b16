package postgres

import (
	"context"
	"time"

	"campaignd/campaign"
	"campaignd/internal/ledger"
)

const (
	sqlSignatures       = `SELECT state FROM webhook_signatures WHERE id = 1`
	sqlLockedSignatures = sqlSignatures + ` FOR UPDATE`
	sqlSetSignatures    = `UPDATE webhook_signatures SET state = $1 WHERE id = 1`
)

// NoteSignatures implements campaign.SignatureLedger.
func (l *Ledger) NoteSignatures(
	ctx context.Context, n campaign.SignatureNote, now time.Time,
) (s campaign.Signatures, replay time.Time, err error) {
	err = l.change(ctx, l.hooks, "", func(t *tx) error {
		var text string
		if err := t.do(row(&text, sqlLockedSignatures)); err != nil {
			return err
		}
		if text, s, replay, err = ledger.NoteSignatures(text, n, now); err != nil {
			return err
		}
		t.last(stmt(nil, sqlSetSignatures, text))
		return nil
	})
	return s, replay, err
}

// Signatures implements campaign.SignatureLedger.
func (l *Ledger) Signatures(ctx context.Context) (campaign.Signatures, error) {
	var text string
	if err := l.read(ctx, l.hooks, row(&text, sqlSignatures)); err != nil {
		return campaign.Signatures{}, err
	}
	return ledger.SignaturesOf(text)
}
