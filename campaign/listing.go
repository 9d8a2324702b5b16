package campaign

import (
	"context"
	"time"
)

// ListingLedger keeps the last answers of listings of the platform, so that one replica asks for
// all. They can be lost without harm.
type ListingLedger interface {
	// Listing returns the text that was kept last under a name, and its age on the database's clock;
	// "" if there is none. A listing is kept for a day.
	Listing(ctx context.Context, name string) (text string, age time.Duration, err error)
	// KeepListing replaces the text under a name.
	KeepListing(ctx context.Context, name, text string) error
	// DropListings removes the texts whose names begin with prefix, because a template changed.
	DropListings(ctx context.Context, prefix string) error
}
