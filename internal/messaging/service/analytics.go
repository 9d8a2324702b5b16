package service

import (
	"context"
	"time"
)

// MessagingDay is what a connection sent on one day. The days are YYYY-MM-DD in UTC.
type MessagingDay struct {
	Date      string `wire:"date" json:"date"`
	Sent      int64  `wire:"sent" json:"sent"`
	Delivered int64  `wire:"delivered" json:"delivered"`
}

// ConversationsDay has the conversations of one category on one day.
type ConversationsDay struct {
	Date          string `wire:"date"`
	Category      string `wire:"category"`
	Conversations int64  `wire:"conversations"`
}

// PricingDay is what one category and type of messages cost on one day.
type PricingDay struct {
	Date     string  `wire:"date"`
	Category string  `wire:"category"`
	Type     string  `wire:"type"`
	Volume   int64   `wire:"volume"`
	Cost     float64 `wire:"cost"`
}

// ArchiveDay is a finished day of a connection.
type ArchiveDay struct {
	Date      string `wire:"date"`
	Sent      int64  `wire:"sent"`
	Delivered int64  `wire:"delivered"`
	Read      int64  `wire:"read"`
	Failed    int64  `wire:"failed"`
}

// Messaging returns the days from start to end, both included. The service has the last 365 days.
func (c *Client) Messaging(ctx context.Context, connectionID string, start, end time.Time) ([]MessagingDay, error) {
	return all[MessagingDay](ctx, c, "analytics_messaging", "", between(connectionID, start, end))
}

// Conversations returns the days from start to end, both included, of the last 365.
func (c *Client) Conversations(ctx context.Context, connectionID string, start, end time.Time) ([]ConversationsDay, error) {
	return all[ConversationsDay](ctx, c, "analytics_conversations", "", between(connectionID, start, end))
}

// Pricing returns the days from start to end, both included, of the last 365.
func (c *Client) Pricing(ctx context.Context, connectionID string, start, end time.Time) ([]PricingDay, error) {
	return all[PricingDay](ctx, c, "analytics_pricing", "", between(connectionID, start, end))
}

// Archive returns the finished days from start to end, both included, of any age.
func (c *Client) Archive(ctx context.Context, connectionID string, start, end time.Time) ([]ArchiveDay, error) {
	return all[ArchiveDay](ctx, c, "analytics_archive", "", between(connectionID, start, end))
}

func between(connectionID string, start, end time.Time) fields {
	return fields{"connectionId": connectionID, "start": day(start), "end": day(end)}
}
