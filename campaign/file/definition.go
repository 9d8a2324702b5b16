package file

import (
	"campaignd/campaign"
	"campaignd/recipients"
)

// Definition is a campaign file: the template, the recipients, when to send, limits and policies.
// Parse reads it; `config schema` prints its JSON Schema.
type Definition struct {
	Name string `yaml:"name" json:"name"`
	// Connections are ids of the service's connections; segments are spread over them.
	Connections []string `yaml:"connections" json:"connections"`
	// Numbers says which connection sends to whom: NumbersSpread (the default) or NumbersSticky.
	Numbers    string              `yaml:"numbers,omitempty" json:"numbers,omitempty"`
	Template   TemplateUse         `yaml:"template" json:"template"`
	Recipients Audience            `yaml:"recipients" json:"recipients"`
	Variables  map[string]Variable `yaml:"variables,omitempty" json:"variables,omitempty"`
	Schedule   *Schedule           `yaml:"schedule,omitempty" json:"schedule,omitempty"`
	Window     *Window             `yaml:"window,omitempty" json:"window,omitempty"`
	Limits     Limits              `yaml:"limits,omitempty" json:"limits"`
	Policies   Policies            `yaml:"policies,omitempty" json:"policies"`
	// Audience makes the list from the commerce platform; nil: Recipients.File is the list.
	Audience *Selection `yaml:"audience,omitempty" json:"audience,omitempty"`
	// Holdout keeps people from the campaign by chance; nil keeps none.
	Holdout *Holdout `yaml:"holdout,omitempty" json:"holdout,omitempty"`
	// Conversions counts the orders that the campaign brought; nil counts none.
	Conversions *Conversions `yaml:"conversions,omitempty" json:"conversions,omitempty"`

	folder     string // of the file that it was read from; "": it was not read from a file
	unattended bool   // launch.Request.Unattended
}

// The values of Definition.Numbers.
const (
	NumbersSpread = "spread" // each recipient by a connection that has capacity
	NumbersSticky = "sticky" // each recipient by the connection that reached them last
)

// TemplateUse is the template and how its variables are filled. The strings of Body, Buttons, OTP
// and header links may contain {{ .column }}. The values of a row are data: they are inserted once
// and never read as variables.
type TemplateUse struct {
	Name     string `yaml:"name" json:"name"`
	Language string `yaml:"language" json:"language"`
	// Category is MARKETING, UTILITY or AUTHENTICATION. It is used only if the service names no
	// category. If neither is known, opt-outs of marketing apply.
	Category string     `yaml:"category,omitempty" json:"category,omitempty"`
	Body     []string   `yaml:"body,omitempty" json:"body,omitempty"`
	Header   *HeaderUse `yaml:"header,omitempty" json:"header,omitempty"`
	Buttons  []Button   `yaml:"buttons,omitempty" json:"buttons,omitempty"`
	OTP      string     `yaml:"otp,omitempty" json:"otp,omitempty"`
}

// HeaderUse is the medium of a media header; exactly one member is set.
type HeaderUse struct {
	Image    *MediaUse `yaml:"image,omitempty" json:"image,omitempty"`
	Video    *MediaUse `yaml:"video,omitempty" json:"video,omitempty"`
	Document *MediaUse `yaml:"document,omitempty" json:"document,omitempty"`
}

// MediaUse is a media reference, or a local file that is uploaded once per run and company. Exactly
// one of AssetID, ID, Link and File is set.
type MediaUse struct {
	AssetID string `yaml:"assetId,omitempty" json:"assetId,omitempty"`
	ID      string `yaml:"id,omitempty" json:"id,omitempty"`
	Link    string `yaml:"link,omitempty" json:"link,omitempty"`
	// File is a path relative to the campaign file.
	File     string `yaml:"file,omitempty" json:"file,omitempty"`
	Filename string `yaml:"filename,omitempty" json:"filename,omitempty"`
}

// Button fills one dynamic button of the template.
type Button struct {
	// Type is url, quick_reply, copy_code or otp.
	Type string `yaml:"type" json:"type"`
	Text string `yaml:"text" json:"text"`
}

// Audience is where the list is and how to read it.
type Audience struct {
	// File is the list, relative to the campaign file; --recipients overrides it.
	File string `yaml:"file,omitempty" json:"file,omitempty"`
	// Columns maps a field (to, country, timezone) or a variable to the name of a column; to may have
	// several, of which the first that is filled is read.
	Columns map[string]recipients.Names `yaml:"columns,omitempty" json:"columns,omitempty"`
	// Where chooses rows: in each of these columns a row must have one of the values. They are
	// compared without white space around them and without case; "" is an empty cell. Other rows are
	// skipped(filtered).
	Where map[string]recipients.Names `yaml:"where,omitempty" json:"where,omitempty"`
	// Ignore are columns that look like consent and are not: no check warns of them.
	Ignore []string `yaml:"ignore,omitempty" json:"ignore,omitempty"`
	// DefaultRegion is an ISO 3166 alpha-2 code, for rows that name no country. Without it, national
	// numbers are invalid.
	DefaultRegion string `yaml:"default_region,omitempty" json:"default_region,omitempty"`
	// International says that numbers without + begin with their country code.
	International bool `yaml:"international,omitempty" json:"international,omitempty"`
	// Skip is how many lines of the file stand above the header, SkipBelow how many records right
	// below it are no recipients (a second header), and SkipLast how many at the end (totals).
	Skip      int `yaml:"skip,omitempty" json:"skip,omitempty"`
	SkipBelow int `yaml:"skip_below,omitempty" json:"skip_below,omitempty"`
	SkipLast  int `yaml:"skip_last,omitempty" json:"skip_last,omitempty"`
	// Delimiter is comma, semicolon, tab, pipe, or the character itself; "" detects it.
	Delimiter string `yaml:"delimiter,omitempty" json:"delimiter,omitempty"`
	// Encoding is utf-8, utf-16le, utf-16be or windows-1252; "" detects it.
	Encoding string `yaml:"encoding,omitempty" json:"encoding,omitempty"`
	// Validate is none, possible or valid (the default).
	Validate string `yaml:"validate,omitempty" json:"validate,omitempty"`
}

// Variable is how one variable is filled.
type Variable struct {
	// Default is used when the row has no value. Without it the row is skipped(missing_variable).
	Default string `yaml:"default,omitempty" json:"default,omitempty"`
	// Forbid are values that are not sent: exact texts, and the kinds error_values, formulas,
	// placeholders and double_encoded. A row with such a value is skipped(invalid_variable).
	Forbid []string `yaml:"forbid,omitempty" json:"forbid,omitempty"`
}

// Schedule launches the campaign at set times (`campaignd serve` only). Either Cron or At is set.
type Schedule struct {
	Cron string `yaml:"cron,omitempty" json:"cron,omitempty"`
	// At is the only time: "2026-12-24T09:00" in Timezone, or RFC 3339.
	At string `yaml:"at,omitempty" json:"at,omitempty"`
	// Timezone is an IANA name; default UTC.
	Timezone string `yaml:"timezone,omitempty" json:"timezone,omitempty"`
	// Misfire decides about a firing that no process launched in time: skip (the default) never
	// launches it, run launches it up to Grace late.
	Misfire string `yaml:"misfire,omitempty" json:"misfire,omitempty"`
	// Grace is how late a firing may be launched; default 30m. It also limits how long a failed launch
	// is tried again.
	Grace campaign.Duration `yaml:"grace,omitempty" json:"grace,omitempty"`
	// Overlap says what is done with a firing while an earlier run of the campaign is unfinished:
	// OverlapSkip (the default), OverlapQueue or OverlapCancel.
	Overlap string `yaml:"overlap,omitempty" json:"overlap,omitempty"`
}

// The values of Schedule.Overlap.
const (
	OverlapSkip   = "skip"   // the firing is skipped
	OverlapQueue  = "queue"  // one firing waits until the earlier run has ended; further ones are skipped
	OverlapCancel = "cancel" // the earlier run is cancelled, and the firing is launched when it has ended
)

// Window is when sending is allowed.
type Window struct {
	// Hours are "09:00-18:00"; they may cross midnight. Default: the whole day.
	Hours string `yaml:"hours,omitempty" json:"hours,omitempty"`
	// Days are mon to sun; default all.
	Days []string `yaml:"days,omitempty" json:"days,omitempty"`
	// Timezone is an IANA name, or "recipient" for the zone of each recipient; default UTC.
	Timezone string `yaml:"timezone,omitempty" json:"timezone,omitempty"`
	// Countries is the zone of the numbers of a country (ISO 3166 -> IANA name) for rows that name no
	// zone. It requires the Timezone "recipient".
	Countries map[string]string `yaml:"countries,omitempty" json:"countries,omitempty"`
	// Holidays are dates (2026-12-25) by the clock of Timezone on which nothing is sent.
	Holidays []string `yaml:"holidays,omitempty" json:"holidays,omitempty"`
}

// Limits are the limits of a run itself.
type Limits struct {
	// Rate is in messages per second over all connections of the run; 0: no limit of its own.
	Rate float64 `yaml:"rate,omitempty" json:"rate,omitempty"`
	// NotAfter is how long after the launch rows may be sent; rows that are queued then are
	// skipped(expired). 0: no limit.
	NotAfter campaign.Duration `yaml:"not_after,omitempty" json:"not_after,omitempty"`
	// MaxMessages is the most messages of a run; further rows are skipped(over_limit). 0: no limit.
	MaxMessages int64 `yaml:"max_messages,omitempty" json:"max_messages,omitempty"`
	// Weight is the run's part of a number that several runs share, from 1 to 100; 0 means 1.
	Weight int `yaml:"weight,omitempty" json:"weight,omitempty"`
	// Deadline is how long after the launch the run is to be done; 0: it has none.
	Deadline campaign.Duration `yaml:"deadline,omitempty" json:"deadline,omitempty"`
	// Move lets other connections of the run send the queued rows of a connection that is held, waits
	// for a limit, or is far slower (docs/limits.md#several-numbers).
	Move bool `yaml:"move,omitempty" json:"move,omitempty"`
}

// Policies say what happens to doubts, and when a run waits, is paused or is followed up.
type Policies struct {
	// OnUncertain is hold (the default), evidence or resend.
	OnUncertain campaign.OnUncertain `yaml:"on_uncertain,omitempty" json:"on_uncertain,omitempty"`
	// DoubtWindow is how long a webhook may still prove a doubt, counted while webhooks are taken;
	// default 40m.
	DoubtWindow  campaign.Duration        `yaml:"doubt_window,omitempty" json:"doubt_window,omitempty"`
	FollowUp     *FollowUp                `yaml:"follow_up,omitempty" json:"follow_up,omitempty"`
	Canary       *Canary                  `yaml:"canary,omitempty" json:"canary,omitempty"`
	FrequencyCap *campaign.FrequencyLimit `yaml:"frequency_cap,omitempty" json:"frequency_cap,omitempty"`
	// SentBefore is what a launch without a person does about people who got the template from a run
	// of another campaign: it sends to them and warns, or SentBeforeLeaveOut or SentBeforeRefuse.
	SentBefore string `yaml:"sent_before,omitempty" json:"sent_before,omitempty"`
	// Approval makes the run wait for `campaignd approve` after its import.
	Approval campaign.Approval `yaml:"approval,omitempty" json:"approval,omitempty"`
	// MaxOptOuts is the share of opt-outs among the delivered messages above which the run is paused;
	// default 0.10, 0: never.
	MaxOptOuts float64 `yaml:"max_opt_outs,omitempty" json:"max_opt_outs,omitempty"`
}

// A launch does one of these about people who got its template before. Policies.SentBefore has one
// of the first two; only a person may choose SentBeforeSend.
const (
	SentBeforeLeaveOut = "leave_out" // they are skipped
	SentBeforeRefuse   = "refuse"    // nothing is launched
	SentBeforeSend     = "send"      // they are sent to again
)

// FollowUp is the policy of automatic follow-up runs (`campaignd serve` only).
type FollowUp struct {
	// Codes are the codes of failures and refusals; rows with one of them are sent again.
	Codes []int `yaml:"codes" json:"codes"`
	// After is how long after the end of the run the follow-up is launched; default 24h.
	After campaign.Duration `yaml:"after,omitempty" json:"after,omitempty"`
	// Max is the most follow-ups in a row; default 1.
	Max int `yaml:"max,omitempty" json:"max,omitempty"`
}

// Canary is the policy that sends to a few recipients first, and to the others when few of those
// messages failed and enough were delivered.
type Canary struct {
	// Count is how many recipients get the first messages.
	Count int64 `yaml:"count" json:"count"`
	// MaxFailed is the share of these messages that may fail; default 0.05.
	MaxFailed float64 `yaml:"max_failed,omitempty" json:"max_failed,omitempty"`
	// MinDelivered is the share of the accepted messages that must be reported delivered before the
	// others are sent; default 0.5, 0: none.
	MinDelivered float64 `yaml:"min_delivered,omitempty" json:"min_delivered,omitempty"`
	// Wait is how long statuses are awaited after the last answer; default 15m.
	Wait campaign.Duration `yaml:"wait,omitempty" json:"wait,omitempty"`
}
