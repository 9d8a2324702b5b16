package service

import (
	"context"
	"time"

	"campaignd/internal/rawjson"
)

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

// Flow is a form of several screens inside a session message.
type Flow struct {
	ID         string   `wire:"id"`
	Name       string   `wire:"name"`
	Status     string   `wire:"status"` // DRAFT, PUBLISHED
	Categories []string `wire:"categories"`
	// ValidationErrors is the list as the service writes it.
	ValidationErrors rawjson.Value `wire:"validationErrors"`
}

// FlowPreview is an address where a person can try a flow.
type FlowPreview struct {
	URL       string    `wire:"url"`
	ExpiresAt time.Time `wire:"expiresAt"`
}

// Flows lists the flows of a connection, or all of the key with "".
func (c *Client) Flows(ctx context.Context, connectionID string) ([]Flow, error) {
	return all[Flow](ctx, c, "flows", "", fields{"connectionId": connectionID})
}

// Flow returns one flow.
func (c *Client) Flow(ctx context.Context, id string) (Flow, error) {
	return one[Flow](ctx, c, "flow", id, nil)
}

// CreateFlow makes a draft. definition is the JSON of the screens, or "".
func (c *Client) CreateFlow(ctx context.Context, connectionID, name string, categories []string, definition string) (Flow, error) {
	f := flowFields(name, categories, definition)
	f["connectionId"] = connectionID
	return one[Flow](ctx, c, "flow_create", "", f)
}

// UpdateFlow replaces what is not empty.
func (c *Client) UpdateFlow(ctx context.Context, id, name string, categories []string, definition string) (Flow, error) {
	return one[Flow](ctx, c, "flow_update", id, flowFields(name, categories, definition))
}

// PreviewFlow returns an address where a person can try a flow.
func (c *Client) PreviewFlow(ctx context.Context, id string) (FlowPreview, error) {
	return one[FlowPreview](ctx, c, "flow_preview", id, nil)
}

// PublishFlow makes a draft usable for ever: a published flow cannot be changed.
func (c *Client) PublishFlow(ctx context.Context, id string) (Flow, error) {
	return one[Flow](ctx, c, "flow_publish", id, nil)
}

func flowFields(name string, categories []string, definition string) fields {
	f := fields{}
	f.set("name", name)
	f.set("json", definition)
	if len(categories) > 0 {
		f["categories"] = categories
	}
	return f
}

// QRCode opens a conversation with a prepared text.
type QRCode struct {
	Code             string `wire:"code"`
	PrefilledMessage string `wire:"prefilledMessage"`
	URL              string `wire:"url"`
}

// QRCodes lists the codes of a connection.
func (c *Client) QRCodes(ctx context.Context, connectionID string) ([]QRCode, error) {
	return all[QRCode](ctx, c, "qr_codes", "", fields{"connectionId": connectionID})
}

// CreateQRCode makes a code for a connection.
func (c *Client) CreateQRCode(ctx context.Context, connectionID, message string) (QRCode, error) {
	return one[QRCode](ctx, c, "qr_codes_create", "", fields{"connectionId": connectionID, "prefilledMessage": message})
}

// UpdateQRCode replaces the text of a code. Its link stays.
func (c *Client) UpdateQRCode(ctx context.Context, connectionID, code, message string) (QRCode, error) {
	return one[QRCode](ctx, c, "qr_codes_update", code, fields{"connectionId": connectionID, "prefilledMessage": message})
}

// DeleteQRCode removes a code.
func (c *Client) DeleteQRCode(ctx context.Context, connectionID, code string) error {
	return c.done(ctx, "qr_codes_delete", code, fields{"connectionId": connectionID})
}
