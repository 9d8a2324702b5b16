package postgres

import (
	"campaignd/campaign"
	"campaignd/internal/ledger"
	"campaignd/internal/ledger/portable"
)

// notify adds notifications to the outbox.
func notify(all []campaign.Notification) (qs []*query) {
	for i := range all {
		sql, args := portable.Notification(&all[i])
		qs = append(qs, stmt(nil, sql, storable(args)...))
	}
	return qs
}

// startDestinations are those that are told when a run starts.
func (t *tx) startDestinations() []string {
	if t.options.Notify == nil {
		return []string{}
	}
	return ledger.NonNil(t.options.Notify(campaign.NotifyRunStarted))
}
