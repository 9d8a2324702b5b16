package service

import (
	"context"
	"time"
)

// The operations of billing want a partner-wide key; another one gets 403 partner_key_required.

// Usage is what was used of the plan in its current period.
type Usage struct {
	MessagesUsed     int64     `wire:"messagesUsed"`
	MessagesLimit    int64     `wire:"messagesLimit"` // 0: none
	StorageUsedBytes int64     `wire:"storageUsedBytes"`
	PeriodStart      time.Time `wire:"periodStart"`
	PeriodEnd        time.Time `wire:"periodEnd"`
}

// Usage returns the usage of one company, or of all with "".
func (c *Client) Usage(ctx context.Context, companyID string) (Usage, error) {
	return one[Usage](ctx, c, "billing_usage", "", fields{"companyId": companyID})
}
