package area

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"
)

// profile is the business profile of a number. Every member is optional.
type profile struct {
	About       *string  `json:"about,omitempty"`
	Address     *string  `json:"address,omitempty"`
	Description *string  `json:"description,omitempty"`
	Email       *string  `json:"email,omitempty"`
	Websites    []string `json:"websites,omitempty"`
	Category    *string  `json:"category,omitempty"`
}

// verticals are the platform's categories of businesses (docs/service.md#assumed-operations).
var verticals = []string{
	"ALCOHOL", "APPAREL", "AUTO", "BEAUTY", "EDU", "ENTERTAIN", "EVENT_PLAN", "FINANCE", "GOVT", "GROCERY", "HEALTH", "HOTEL",
	"MATRIMONY_SERVICE", "NONPROFIT", "ONLINE_GAMBLING", "OTC_DRUGS", "OTHER", "PHYSICAL_GAMBLING", "PROF_SERVICES", "RESTAURANT",
	"RETAIL", "TRAVEL",
}

// settings are the conversation settings of a number.
type settings struct {
	WelcomeMessage bool      `json:"welcomeMessage"`
	IceBreakers    []string  `json:"iceBreakers"`
	Commands       []command `json:"commands"`
}

type command struct {
	Name        string `json:"name"`
	Description string `json:"description"`
}

// The bounds of settings (docs/service.md#assumed-operations).
const (
	maxIceBreakers = 4
	maxCommands    = 30
)

func (a *Areas) profileHandlers() map[string]Handler {
	return map[string]Handler{
		"profile":         func(c *Call) (any, *Refusal) { return *a.profileOf(c.Connection), nil },
		"profile_update":  take(a.updateProfile),
		"settings":        func(c *Call) (any, *Refusal) { return *a.settingsOf(c.Connection), nil },
		"settings_update": take(a.updateSettings),
	}
}

func (a *Areas) profileOf(c *Connection) *profile {
	p := a.profiles[c.ID]
	if p == nil {
		p = &profile{}
		a.profiles[c.ID] = p
	}
	return p
}

// updateProfile changes the members that the request has.
func (a *Areas) updateProfile(c *Call, in profile) (any, *Refusal) {
	for _, f := range []struct {
		name string
		text *string
		most int
	}{{"about", in.About, 139}, {"address", in.Address, 256}, {"description", in.Description, 512}, {"email", in.Email, 128}} {
		if f.text != nil && utf8.RuneCountInString(*f.text) > f.most {
			return nil, invalid(fmt.Sprintf("%s has more than %d characters.", f.name, f.most))
		}
	}
	if in.Email != nil && *in.Email != "" && (strings.Count(*in.Email, "@") != 1 || strings.Trim(*in.Email, "@") != *in.Email) {
		return nil, invalid("email has not exactly one @ between two parts.")
	}
	if len(in.Websites) > 2 {
		return nil, invalid("websites has more than 2 addresses.")
	}
	for _, w := range in.Websites {
		if u, err := url.Parse(w); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || len(w) > 256 {
			return nil, invalid("websites has an entry that is no address with http or https.")
		}
	}
	if in.Category != nil && !slices.Contains(verticals, *in.Category) {
		return nil, invalid(fmt.Sprintf("category %q is not one of the platform's, such as RETAIL.", *in.Category))
	}
	p := a.profileOf(c.Connection)
	for _, f := range []struct{ from, into **string }{{&in.About, &p.About}, {&in.Address, &p.Address},
		{&in.Description, &p.Description}, {&in.Email, &p.Email}, {&in.Category, &p.Category}} {
		if *f.from != nil {
			*f.into = *f.from
		}
	}
	if in.Websites != nil {
		p.Websites = in.Websites
	}
	return *p, nil
}

func (a *Areas) settingsOf(c *Connection) *settings {
	s := a.settings[c.ID]
	if s == nil {
		s = &settings{IceBreakers: []string{}, Commands: []command{}}
		a.settings[c.ID] = s
	}
	return s
}

// updateSettings changes the members that the request has.
func (a *Areas) updateSettings(c *Call, in struct {
	WelcomeMessage *bool     `json:"welcomeMessage"`
	IceBreakers    []string  `json:"iceBreakers"`
	Commands       []command `json:"commands"`
}) (any, *Refusal) {
	if len(in.IceBreakers) > maxIceBreakers || len(in.Commands) > maxCommands {
		return nil, invalid(fmt.Sprintf("iceBreakers has at most %d entries, commands at most %d.", maxIceBreakers, maxCommands))
	}
	for _, text := range in.IceBreakers {
		if n := utf8.RuneCountInString(text); n == 0 || n > 80 {
			return nil, invalid("an entry of iceBreakers has 1 to 80 characters.")
		}
	}
	seen := map[string]bool{}
	for _, x := range in.Commands {
		name, text := utf8.RuneCountInString(x.Name), utf8.RuneCountInString(x.Description)
		if name == 0 || name > 32 || text == 0 || text > 256 || seen[x.Name] {
			return nil, invalid("an entry of commands has a name of 1 to 32 characters, once each, and a description of 1 to 256.")
		}
		seen[x.Name] = true
	}
	s := a.settingsOf(c.Connection)
	if in.WelcomeMessage != nil {
		s.WelcomeMessage = *in.WelcomeMessage
	}
	if in.IceBreakers != nil {
		s.IceBreakers = in.IceBreakers
	}
	if in.Commands != nil {
		s.Commands = in.Commands
	}
	return *s, nil
}
