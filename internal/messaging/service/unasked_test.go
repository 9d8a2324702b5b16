package service

import (
	"context"
	"time"

	"campaignd/internal/messaging"
)

// The methods here and in unasked_campaign_test.go are for the operations that campaignd does not
// use. With them the tests ask every row of the table, and read each literal answer.

// Connection is one item of Connections.
func (c *Client) Connection(ctx context.Context, id string) (messaging.Connection, error) {
	v, err := c.do(ctx, "connection", id, nil)
	if err != nil {
		return messaging.Connection{}, err
	}
	one := connectionOf(v)
	return one, c.wants("connection", id, map[string]string{"id": one.ID, "phoneNumber": one.Phone})
}

// Number is the item of Numbers for one connection.
func (c *Client) Number(ctx context.Context, connectionID string) (messaging.Number, error) {
	v, err := c.do(ctx, "number", connectionID, nil)
	if err != nil {
		return messaging.Number{}, err
	}
	n := numberOf(v)
	return n, c.wants("number", connectionID, map[string]string{"connectionId": n.ConnectionID, "phoneNumber": n.Phone})
}

// Template returns one template.
func (c *Client) Template(ctx context.Context, id string) (messaging.TemplateRecord, error) {
	return c.template(ctx, "template", id, nil)
}

// DeleteTemplate removes a template.
func (c *Client) DeleteTemplate(ctx context.Context, id string) error {
	return c.done(ctx, "template_delete", id, nil)
}

// Storage is what the files of a plan take.
type Storage struct {
	UsedBytes  int64 `wire:"usedBytes" json:"usedBytes"`
	LimitBytes int64 `wire:"limitBytes" json:"limitBytes"`
	Files      int64 `wire:"files" json:"files"`
}

// Storage returns the storage of the plan.
func (c *Client) Storage(ctx context.Context, connectionID string) (Storage, error) {
	return one[Storage](ctx, c, "media_storage", "", fields{"connectionId": connectionID})
}

// Endpoint is one registered endpoint with its state.
type Endpoint struct {
	ID     string   `wire:"id" json:"id"`
	URL    string   `wire:"url" json:"url"`
	Events []string `wire:"events" json:"events"`
	Active bool     `wire:"active" json:"active"`
}

// EndpointChange has what UpdateWebhook changes; nil and "" stay as they are.
type EndpointChange struct {
	URL    string
	Events []string
	Active *bool
}

// Webhook returns one endpoint.
func (c *Client) Webhook(ctx context.Context, id string) (Endpoint, error) {
	return one[Endpoint](ctx, c, "webhook", id, nil)
}

// UpdateWebhook changes one endpoint. Its secret stays.
func (c *Client) UpdateWebhook(ctx context.Context, id string, change EndpointChange) (Endpoint, error) {
	f := fields{}
	f.set("url", change.URL)
	if change.Events != nil {
		f["events"] = change.Events
	}
	if change.Active != nil {
		f["active"] = *change.Active
	}
	return one[Endpoint](ctx, c, "webhook_update", id, f)
}

// Company is a company whose messages the key sends; the service also calls it a client.
type Company struct {
	ID     string `wire:"id"`
	Name   string `wire:"name"`
	Status string `wire:"status"`
}

// CompanyRecord is a company with what its list does not tell.
type CompanyRecord struct {
	ID            string   `wire:"id"`
	Name          string   `wire:"name"`
	Status        string   `wire:"status"`
	Verified      bool     `wire:"verified"`
	ConnectionIDs []string `wire:"connectionIds"`
}

// Companies lists the companies of the key.
func (c *Client) Companies(ctx context.Context) ([]Company, error) {
	return all[Company](ctx, c, "companies", "", nil)
}

// Company returns one company.
func (c *Client) Company(ctx context.Context, id string) (CompanyRecord, error) {
	return one[CompanyRecord](ctx, c, "company", id, nil)
}

// Profile is what people see of a number. Every field is optional.
type Profile struct {
	About       string   `wire:"about,optional" json:"about,omitempty"`
	Address     string   `wire:"address,optional" json:"address,omitempty"`
	Description string   `wire:"description,optional" json:"description,omitempty"`
	Email       string   `wire:"email,optional" json:"email,omitempty"`
	Websites    []string `wire:"websites,optional" json:"websites,omitempty"`
	Category    string   `wire:"category,optional" json:"category,omitempty"`
}

// Profile returns the profile of a connection.
func (c *Client) Profile(ctx context.Context, connectionID string) (Profile, error) {
	return one[Profile](ctx, c, "profile", "", fields{"connectionId": connectionID})
}

// UpdateProfile replaces the fields that are not empty, and returns the whole profile.
func (c *Client) UpdateProfile(ctx context.Context, connectionID string, p Profile) (Profile, error) {
	f := fields{"connectionId": connectionID}
	f.set("about", p.About)
	f.set("address", p.Address)
	f.set("description", p.Description)
	f.set("email", p.Email)
	f.set("category", p.Category)
	if p.Websites != nil {
		f["websites"] = p.Websites
	}
	return one[Profile](ctx, c, "profile_update", "", f)
}

// Settings is how a conversation with a number begins.
type Settings struct {
	WelcomeMessage bool      `wire:"welcomeMessage"`
	IceBreakers    []string  `wire:"iceBreakers"`
	Commands       []Command `wire:"commands"`
}

// Command is a command of a conversation.
type Command struct {
	Name        string `wire:"name" json:"name"`
	Description string `wire:"description" json:"description"`
}

// Settings returns the conversation settings of a connection.
func (c *Client) Settings(ctx context.Context, connectionID string) (Settings, error) {
	return one[Settings](ctx, c, "settings", "", fields{"connectionId": connectionID})
}

// UpdateSettings replaces the conversation settings of a connection.
func (c *Client) UpdateSettings(ctx context.Context, connectionID string, s Settings) (Settings, error) {
	return one[Settings](ctx, c, "settings_update", "", fields{"connectionId": connectionID, "welcomeMessage": s.WelcomeMessage,
		"iceBreakers": append([]string{}, s.IceBreakers...), "commands": append([]Command{}, s.Commands...)})
}

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

// Invoices lists the bills, newest first.
func (c *Client) Invoices(ctx context.Context) ([]Invoice, error) {
	return all[Invoice](ctx, c, "billing_invoices", "", nil)
}
