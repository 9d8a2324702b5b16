package campaign

import "time"

// Definition is a campaign file (design section 10): what to send, to whom, when and
// how carefully. ParseDefinition reads it; its JSON Schema is printed by `config schema`.
type Definition struct {
	Name        string              `yaml:"name" json:"name"`
	Connections []string            `yaml:"connections" json:"connections"` // ids of the service's connections; segments spread over them
	Template    TemplateUse         `yaml:"template" json:"template"`
	Recipients  Audience            `yaml:"recipients" json:"recipients"`
	Variables   map[string]Variable `yaml:"variables,omitempty" json:"variables,omitempty"`
	Schedule    *Schedule           `yaml:"schedule,omitempty" json:"schedule,omitempty"`
	Window      *Window             `yaml:"window,omitempty" json:"window,omitempty"`
	Limits      Limits              `yaml:"limits,omitempty" json:"limits"`
	Policies    Policies            `yaml:"policies,omitempty" json:"policies"`
}

// TemplateUse is the template and how its variables are filled. Strings of Body, Buttons and
// Header links may hold {{ .column }}; the values of a row are data, substituted once.
type TemplateUse struct {
	Name     string     `yaml:"name" json:"name"`
	Language string     `yaml:"language" json:"language"`
	Category string     `yaml:"category,omitempty" json:"category,omitempty"` // MARKETING, UTILITY, AUTHENTICATION; "": what the service says, else unknown
	Body     []string   `yaml:"body,omitempty" json:"body,omitempty"`
	Header   *HeaderUse `yaml:"header,omitempty" json:"header,omitempty"`
	Buttons  []Button   `yaml:"buttons,omitempty" json:"buttons,omitempty"`
	OTP      string     `yaml:"otp,omitempty" json:"otp,omitempty"`
}

// HeaderUse is one media member.
type HeaderUse struct {
	Image    *MediaUse `yaml:"image,omitempty" json:"image,omitempty"`
	Video    *MediaUse `yaml:"video,omitempty" json:"video,omitempty"`
	Document *MediaUse `yaml:"document,omitempty" json:"document,omitempty"`
}

// MediaUse is a media reference, or a local file that is uploaded once per run. Exactly one of
// AssetID, ID, Link, File.
type MediaUse struct {
	AssetID  string `yaml:"assetId,omitempty" json:"assetId,omitempty"`
	ID       string `yaml:"id,omitempty" json:"id,omitempty"`
	Link     string `yaml:"link,omitempty" json:"link,omitempty"`
	File     string `yaml:"file,omitempty" json:"file,omitempty"` // relative to the campaign file
	Filename string `yaml:"filename,omitempty" json:"filename,omitempty"`
}

// Button fills one dynamic button of the template.
type Button struct {
	Type string `yaml:"type" json:"type"` // url, quick_reply, copy_code, otp
	Text string `yaml:"text" json:"text"`
}

// Audience says where the list is and how to read it.
type Audience struct {
	File          string            `yaml:"file,omitempty" json:"file,omitempty"`                     // relative to the campaign file; --recipients overrules
	Columns       map[string]string `yaml:"columns,omitempty" json:"columns,omitempty"`               // field or variable -> column header; fields: to, timezone
	DefaultRegion string            `yaml:"default_region,omitempty" json:"default_region,omitempty"` // ISO 3166 alpha-2; without it national numbers are invalid
	Delimiter     string            `yaml:"delimiter,omitempty" json:"delimiter,omitempty"`           // comma, semicolon, tab, pipe or the character; "": sniffed
	Encoding      string            `yaml:"encoding,omitempty" json:"encoding,omitempty"`             // utf-8, utf-16le, utf-16be, windows-1252; "": sniffed
	Validate      string            `yaml:"validate,omitempty" json:"validate,omitempty"`             // none, possible, valid (default)
}

// Variable is what to do for one variable.
type Variable struct {
	Default string `yaml:"default,omitempty" json:"default,omitempty"` // used when the row has no value; without it the row is skipped(missing_variable)
}

// Schedule launches the campaign by the clock (daemon only).
type Schedule struct {
	Cron     string   `yaml:"cron" json:"cron"`
	Timezone string   `yaml:"timezone,omitempty" json:"timezone,omitempty"` // IANA; default UTC
	Misfire  string   `yaml:"misfire,omitempty" json:"misfire,omitempty"`   // run or skip (default)
	Grace    Duration `yaml:"grace,omitempty" json:"grace,omitempty"`       // how late a firing may start; default 30m
}

// Window is when sending is allowed.
type Window struct {
	Hours    string   `yaml:"hours,omitempty" json:"hours,omitempty"`       // "09:00-18:00"; may cross midnight
	Days     []string `yaml:"days,omitempty" json:"days,omitempty"`         // mon ... sun; default all
	Timezone string   `yaml:"timezone,omitempty" json:"timezone,omitempty"` // IANA, or "recipient"; default UTC
}

// Limits bound a run.
type Limits struct {
	Rate        float64  `yaml:"rate,omitempty" json:"rate,omitempty"`           // messages per second over all connections of the run; 0: none of its own
	NotAfter    Duration `yaml:"not_after,omitempty" json:"not_after,omitempty"` // since launch; what is queued then is skipped(expired)
	MaxMessages int64    `yaml:"max_messages,omitempty" json:"max_messages,omitempty"`
	Weight      int      `yaml:"weight,omitempty" json:"weight,omitempty"`
	Deadline    Duration `yaml:"deadline,omitempty" json:"deadline,omitempty"`
}

// Policies are the choices about doubt and care.
type Policies struct {
	OnUncertain  OnUncertain     `yaml:"on_uncertain,omitempty" json:"on_uncertain,omitempty"` // hold (default), evidence, resend
	DoubtWindow  Duration        `yaml:"doubt_window,omitempty" json:"doubt_window,omitempty"` // default 15m
	FollowUp     *FollowUp       `yaml:"follow_up,omitempty" json:"follow_up,omitempty"`
	Canary       *Canary         `yaml:"canary,omitempty" json:"canary,omitempty"`
	FrequencyCap *FrequencyLimit `yaml:"frequency_cap,omitempty" json:"frequency_cap,omitempty"`
	Approval     bool            `yaml:"approval,omitempty" json:"approval,omitempty"`
}

// FollowUp starts a follow-up run by itself.
type FollowUp struct {
	Codes []int    `yaml:"codes" json:"codes"`
	After Duration `yaml:"after,omitempty" json:"after,omitempty"`
	Max   int      `yaml:"max,omitempty" json:"max,omitempty"`
}

// Canary sends to a few first.
type Canary struct {
	Count     int64    `yaml:"count" json:"count"`
	MaxFailed float64  `yaml:"max_failed,omitempty" json:"max_failed,omitempty"`
	Wait      Duration `yaml:"wait,omitempty" json:"wait,omitempty"`
}

// FrequencyLimit bounds what one recipient gets over all campaigns.
type FrequencyLimit struct {
	Messages int      `yaml:"messages" json:"messages"`
	Per      Duration `yaml:"per" json:"per"`
}

// Duration is a time.Duration written as 15m or 24h in files, and a string in the schema.
type Duration time.Duration
