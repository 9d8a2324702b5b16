package numbers

import (
	"context"
	"slices"
	"time"

	"campaignd/campaign"
	"campaignd/internal/config"
)

// Origins returns what holds can name of each connection, for a command that sends nothing. The
// service is asked only if a hold is about a company, an account or a portfolio: the configuration
// may not have it. Without an answer the configuration alone counts.
func Origins(ctx context.Context, cfg *config.Config, holds []campaign.Hold) func(connection string) campaign.Origin {
	d := NewDirectory(cfg)
	if slices.ContainsFunc(holds, func(h campaign.Hold) bool { return slices.Contains(toldScopes, h.Scope) }) {
		_ = d.Ask(ctx, askOrigins, d.RefreshConnections) // without an answer the configuration alone counts
	}
	return d.Origin
}

// toldScopes are the scopes whose ids the configuration may lack, so that the service is asked.
var toldScopes = []campaign.HoldScope{campaign.HoldCompany, campaign.HoldAccount, campaign.HoldPortfolio, campaign.HoldTemplate}

// KnownOrigins asks the service for its connections, for a command that sends nothing.
func KnownOrigins(ctx context.Context, cfg *config.Config) (all []campaign.Origin, whole bool) {
	d := NewDirectory(cfg)
	_ = d.Ask(ctx, askOrigins, d.RefreshConnections) // without an answer the configuration alone counts
	return d.KnownOrigins()
}

// KnownOrigins returns the origin of each connection that is configured or that the service listed.
// Whole reports whether it listed any: without its list there may be others.
func (d *Directory) KnownOrigins() (all []campaign.Origin, whole bool) {
	for _, id := range d.IDs() {
		all = append(all, d.Origin(id))
	}
	d.mu.RLock()
	defer d.mu.RUnlock()
	return all, d.listed
}

const (
	// askOrigins is the longest time that a command waits for the list of connections.
	askOrigins = 2 * time.Second
	// AskNumbers is the longest time that a forecast waits for connections, numbers and billing.
	AskNumbers = 5 * time.Second
)
