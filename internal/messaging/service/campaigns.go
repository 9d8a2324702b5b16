package service

import "context"

// Campaign is a campaign that the service itself sends. campaignd sends its own runs without them:
// they have no proof and no holds.
type Campaign struct {
	ID           string         `wire:"id"`
	ConnectionID string         `wire:"connectionId"`
	Name         string         `wire:"name"`
	Template     CampaignSends  `wire:"template"`
	Status       string         `wire:"status"` // draft, running, completed, cancelled
	Recipients   int64          `wire:"recipients"`
	Counts       CampaignCounts `wire:"counts"`
}

// CampaignSends is the template of a campaign.
type CampaignSends struct {
	Name     string `wire:"name" json:"name"`
	Language string `wire:"language" json:"language"`
	// Header has the media of the header, as in sends; nil: none.
	Header map[string]any `wire:"-" json:"header,omitempty"`
}

// CampaignCounts has each recipient once, by its latest state.
type CampaignCounts struct {
	Pending   int64 `wire:"pending"`
	Accepted  int64 `wire:"accepted"`
	Sent      int64 `wire:"sent"`
	Delivered int64 `wire:"delivered"`
	Read      int64 `wire:"read"`
	Failed    int64 `wire:"failed"`
	Refused   int64 `wire:"refused"`
}

// CampaignRecipient is one recipient of a new campaign, with its variables.
type CampaignRecipient struct {
	To      string           `json:"to"`
	Body    []string         `json:"body,omitempty"`
	Buttons []map[string]any `json:"buttons,omitempty"`
	OTP     string           `json:"otp,omitempty"`
}

// CampaignRow is what became of one recipient.
type CampaignRow struct {
	To        string `wire:"to"`
	Status    string `wire:"status"`
	MessageID string `wire:"messageId,optional"`
	Error     string `wire:"error,optional"`
	Code      int64  `wire:"code,optional"`
}

// CampaignAdded is what an addition did. Invalid names no phone number.
type CampaignAdded struct {
	Added      int64 `wire:"added"`
	Duplicates int64 `wire:"duplicates"`
	Invalid    []struct {
		Index int64  `wire:"index"`
		Error string `wire:"error"`
	} `wire:"invalid"`
}

// Campaigns lists the campaigns of the key.
func (c *Client) Campaigns(ctx context.Context) ([]Campaign, error) {
	return all[Campaign](ctx, c, "campaigns", "", nil)
}

// Campaign returns one campaign.
func (c *Client) Campaign(ctx context.Context, id string) (Campaign, error) {
	return one[Campaign](ctx, c, "campaign", id, nil)
}

// CreateCampaign makes a draft.
func (c *Client) CreateCampaign(ctx context.Context, connectionID, name string, template CampaignSends,
	recipients []CampaignRecipient) (Campaign, error) {
	f := fields{"connectionId": connectionID, "name": name, "template": template}
	if len(recipients) > 0 {
		f["recipients"] = recipients
	}
	return one[Campaign](ctx, c, "campaign_create", "", f)
}

// AddRecipients adds at most 1,000 recipients to a draft.
func (c *Client) AddRecipients(ctx context.Context, id string, recipients []CampaignRecipient) (CampaignAdded, error) {
	return one[CampaignAdded](ctx, c, "campaign_add", id, fields{"recipients": recipients})
}

// LaunchCampaign starts a draft.
func (c *Client) LaunchCampaign(ctx context.Context, id string) (Campaign, error) {
	return one[Campaign](ctx, c, "campaign_launch", id, nil)
}

// CancelCampaign ends a campaign.
func (c *Client) CancelCampaign(ctx context.Context, id string) (Campaign, error) {
	return one[Campaign](ctx, c, "campaign_cancel", id, nil)
}

// CampaignRows lists the recipients of a campaign, of one status or of all with "".
func (c *Client) CampaignRows(ctx context.Context, id, status string) ([]CampaignRow, error) {
	return all[CampaignRow](ctx, c, "campaign_recipients", id, fields{"status": status})
}
