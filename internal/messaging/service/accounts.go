package service

import "context"

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
