package service

import (
	"context"
	"time"
)

// The operations of billing want a partner-wide key; another one gets 403 partner_key_required.

// Subscription is what the partner pays for.
type Subscription struct {
	ID                 string    `wire:"id"`
	Status             string    `wire:"status"`
	Connections        int64     `wire:"connections"`
	PricePerConnection float64   `wire:"pricePerConnection"`
	Currency           string    `wire:"currency"`
	PeriodStart        time.Time `wire:"periodStart"`
	PeriodEnd          time.Time `wire:"periodEnd"`
}

// Plan is what the subscription includes.
type Plan struct {
	ID               string `wire:"id"`
	Name             string `wire:"name"`
	MessagesPerMonth int64  `wire:"messagesPerMonth"`
	StorageBytes     int64  `wire:"storageBytes"`
}

// PlanLimits are the limits of the plan.
type PlanLimits struct {
	Messages     int64 `wire:"messages"`
	StorageBytes int64 `wire:"storageBytes"`
	Connections  int64 `wire:"connections"`
}

// Usage is what was used of the plan in its current period.
type Usage struct {
	MessagesUsed     int64     `wire:"messagesUsed"`
	MessagesLimit    int64     `wire:"messagesLimit"` // 0: none
	StorageUsedBytes int64     `wire:"storageUsedBytes"`
	PeriodStart      time.Time `wire:"periodStart"`
	PeriodEnd        time.Time `wire:"periodEnd"`
}

// Invoice is one bill of the subscription.
type Invoice struct {
	ID          string    `wire:"id"`
	Number      string    `wire:"number"`
	Status      string    `wire:"status"`
	Amount      float64   `wire:"amount"`
	Currency    string    `wire:"currency"`
	PeriodStart time.Time `wire:"periodStart"`
	PeriodEnd   time.Time `wire:"periodEnd"`
}

// Subscription returns the subscription of the partner.
func (c *Client) Subscription(ctx context.Context) (Subscription, error) {
	return one[Subscription](ctx, c, "billing_subscription", "", nil)
}

// Plan returns the plan of the partner.
func (c *Client) Plan(ctx context.Context) (Plan, error) {
	return one[Plan](ctx, c, "billing_plan", "", nil)
}

// PlanLimits returns the limits of the plan.
func (c *Client) PlanLimits(ctx context.Context) (PlanLimits, error) {
	return one[PlanLimits](ctx, c, "billing_limits", "", nil)
}

// Usage returns the usage of one company, or of all with "".
func (c *Client) Usage(ctx context.Context, companyID string) (Usage, error) {
	return one[Usage](ctx, c, "billing_usage", "", fields{"companyId": companyID})
}

// Invoices lists the bills, newest first.
func (c *Client) Invoices(ctx context.Context) ([]Invoice, error) {
	return all[Invoice](ctx, c, "billing_invoices", "", nil)
}
