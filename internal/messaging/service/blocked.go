package service

import (
	"context"
	"time"
)

// MaxBlocked is the largest number of people that one call blocks or unblocks.
const MaxBlocked = 1000

// Blocked is a person whose messages the service does not take.
type Blocked struct {
	PhoneNumber string    `wire:"phoneNumber"`
	BlockedAt   time.Time `wire:"blockedAt"`
}

// BlockResult is what became of one person.
type BlockResult struct {
	User   string `wire:"user"`
	Status string `wire:"status"`        // blocked, unblocked, failed
	Code   int64  `wire:"code,optional"` // of the platform, with failed
}

// BlockedUsers lists the people that are blocked at a connection.
func (c *Client) BlockedUsers(ctx context.Context, connectionID string) ([]Blocked, error) {
	return all[Blocked](ctx, c, "blocked_users", "", fields{"connectionId": connectionID})
}

// BlockUsers blocks at most MaxBlocked people at a connection. The platform blocks only those who
// wrote in the last 24 hours; each of the others has a result with the status failed.
func (c *Client) BlockUsers(ctx context.Context, connectionID string, users []string) ([]BlockResult, error) {
	return one[[]BlockResult](ctx, c, "block_users", "", fields{"connectionId": connectionID, "users": users})
}

// UnblockUsers unblocks at most MaxBlocked people at a connection.
func (c *Client) UnblockUsers(ctx context.Context, connectionID string, users []string) ([]BlockResult, error) {
	return one[[]BlockResult](ctx, c, "unblock_users", "", fields{"connectionId": connectionID, "users": users})
}
