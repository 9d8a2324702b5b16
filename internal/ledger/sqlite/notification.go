package sqlite

import (
	"campaignd/campaign"
	"campaignd/internal/ledger/portable"
)

// notify adds notifications to the outbox.
func (t *tx) notify(all []campaign.Notification) error { return portable.Notify(portableTx{t}, all) }
