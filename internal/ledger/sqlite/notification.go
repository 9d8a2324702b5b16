package sqlite

import (
	"time"

	"campaignd/campaign"
	"campaignd/internal/ledger/portable"
)

// notify adds notifications to the outbox.
func (t *tx) notify(all []campaign.Notification) error { return portable.Notify(portableTx{t}, all) }

const sqlStartedAt = `SELECT started_at = 0 FROM run WHERE no = ?`

// notifyState adds the notifications of a run that changes to a state. It is called before the
// change.
func (t *tx) notifyState(no campaign.RunNo, to campaign.State, reason campaign.PauseReason, detail string, now time.Time) error {
	if t.options.Notify == nil {
		return nil
	}
	first := false
	if err := t.row(sqlStartedAt, args(int64(no)), &first); err != nil {
		return err
	}
	return t.notify(t.options.NotifyState(no, to, reason, detail, first, now))
}
