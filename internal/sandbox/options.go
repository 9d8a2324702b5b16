package sandbox

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"campaignd/internal/sandbox/area"
	"campaignd/internal/sandbox/shop/scenario"
)

// Options says what exists at the service and how it behaves. The zero value works: the key
// "sandbox-key", the four numbers and the templates of Demo, no endpoint for webhooks until one is
// registered, no faults. A scenario file can set every field that has a YAML name. New returns an
// error that names the field of a wrong value.
type Options struct {
	// Seed decides every draw. 0 is a seed too.
	Seed uint64 `yaml:"seed"`
	API  string `yaml:"api"` // the wire: service, which is the default, or APICloud
	// Keys are the API keys. Default: DemoKey, partner-wide.
	Keys []Key `yaml:"keys"`
	// Companies are the clients that differ from the default. The others follow from Connections.
	Companies []Company `yaml:"companies"`
	// Connections are the numbers, at most 16,384. Default: those of Demo.
	Connections []Connection `yaml:"connections"`
	// Templates are the templates of the account. Default: those of Demo.
	Templates []Template `yaml:"templates"`
	// Assets are the files that are stored already.
	Assets []Asset `yaml:"assets"`
	// Flows are the flows of the clients.
	Flows []Flow `yaml:"flows"`
	// Review says how the operator reviews new and edited templates.
	Review area.Review `yaml:"review"`
	// History is the past of every account, for analytics.
	History History `yaml:"history"`
	// Storage is the number of bytes that the stored files of a plan may have. Default 1 GiB.
	Storage int64 `yaml:"storage"`
	// OptedOut are the phone numbers of recipients who are opted out of the marketing of every
	// company.
	OptedOut []string `yaml:"opted_out"`
	// WindowOpen are the phone numbers of recipients who have just written to every connection.
	WindowOpen []string `yaml:"window_open"`

	// WebhookURL is the first endpoint. Default: none.
	WebhookURL string `yaml:"webhook_url"`
	// WebhookSecret signs the webhooks for WebhookURL. Default: DemoSecret.
	WebhookSecret string `yaml:"webhook_secret"`
	// RetrySchedule are the waits before the first, the second and each later retry of a webhook that
	// was not answered 2xx. Each wait begins with the answer. Default: 1 minute, 5 minutes, 30
	// minutes, 2 hours, 6 hours (docs/service.md#delivery-of-events).
	RetrySchedule []time.Duration `yaml:"retry_schedule"`
	// WebhookTimeout is the longest time of one delivery of a webhook. Default 10 s.
	WebhookTimeout time.Duration `yaml:"webhook_timeout"`
	// WebhookWorkers is the number of deliveries at a time, 1 to 4,096. Default 64, or 8 with batches.
	WebhookWorkers int `yaml:"webhook_workers"`
	// Events is the form of the webhooks.
	Events EventForm `yaml:"events"`

	// Allowance is the number of messages in a calendar month (UTC) that the plan of the account
	// allows. 0 means unlimited.
	Allowance int64 `yaml:"allowance"`

	// EnforceThroughput refuses messages of a number beyond its throughput in any sliding second.
	EnforceThroughput bool `yaml:"enforce_throughput"`
	// Throttle is the answer to a message above the throughput. Default: ThrottlePlatform.
	Throttle ThrottleAnswer `yaml:"throttle"`
	// ThrottleWait is the Retry-After of ThrottleRetryAfter. Default 1 s.
	ThrottleWait time.Duration `yaml:"throttle_wait"`
	// PairRate is the shortest time between two messages to one recipient; the platform's is 6 s. 0
	// means no limit.
	PairRate time.Duration `yaml:"pair_rate"`
	// PairBurst is the number of messages to one recipient that are accepted at once. Default 1.
	PairBurst int `yaml:"pair_burst"`
	// EnforceTier lets each accepted message beyond the tier of its portfolio (unique recipients in 24
	// hours) fail later.
	EnforceTier bool `yaml:"enforce_tier"`
	// TierCode is the platform code of these failures. Default 131048; the platform does not document
	// the real one (docs/limits.md#tier).
	TierCode int `yaml:"tier_code"`

	// AllowBots accepts the default agents of scripting libraries instead of refusing them with 1010.
	AllowBots bool `yaml:"allow_bots"`
	// RequireAppSecret refuses calls of the Cloud API without appsecret_proof, as an app does whose
	// dashboard says so. A wrong proof is always refused.
	RequireAppSecret bool `yaml:"require_app_secret"`
	// RequireHTTPS answers plain http with 301. A request with X-Forwarded-Proto: http always gets
	// 301.
	RequireHTTPS bool `yaml:"require_https"`
	// PageSize cuts the listings of connections, numbers and templates into pages of so many. Each
	// page but the last has a nextCursor, for ?cursor=. 0 means one page.
	PageSize int `yaml:"page_size"`
	// HideNumbers answers GET /api/v1/numbers with 404.
	HideNumbers bool `yaml:"hide_numbers"`

	// Faults are the faults at the start.
	Faults Faults `yaml:"faults"`
	// Statuses says what becomes of accepted messages.
	Statuses StatusProfile `yaml:"statuses"`
	// Timeline changes the sandbox while it runs.
	Timeline []Step `yaml:"timeline"`

	// Commerce is the commerce platform, served at /2023-11/, /oauth/ and /pay/. Default:
	// scenario.Demo.
	Commerce *scenario.Commerce `yaml:"commerce"`

	// Transport posts the webhooks. Default: one that keeps WebhookWorkers connections.
	Transport http.RoundTripper `yaml:"-"`
	// Log gets the faults of the sandbox itself. Default: discarded.
	Log *slog.Logger `yaml:"-"`
	// OnEvent is called after each POST, each acceptance and each delivery of a webhook, by the
	// goroutine of that POST or delivery. It may be nil.
	OnEvent func(Event) `yaml:"-"`
}

// withDefaults sets the zero fields that have a default and checks the options.
func (o Options) withDefaults() (Options, error) {
	if len(o.Keys) == 0 {
		o.Keys = []Key{{Token: DemoKey}}
	}
	demo := Demo()
	if len(o.Connections) == 0 {
		o.Connections = demo.Connections
	}
	if len(o.Templates) == 0 {
		o.Templates = demo.Templates
	}
	if o.API == APICloud && o.WebhookSecret == DemoSecret {
		o.WebhookSecret = "" // that of Demo
	}
	if o.WebhookSecret == "" {
		if o.WebhookSecret = DemoSecret; o.API == APICloud {
			o.WebhookSecret = CloudAppSecret
		}
	}
	if o.RetrySchedule == nil {
		o.RetrySchedule = []time.Duration{time.Minute, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 6 * time.Hour}
	}
	o.WebhookTimeout = cmp.Or(o.WebhookTimeout, 10*time.Second)
	o.Events.Batch = cmp.Or(o.Events.Batch, 1)
	if o.WebhookWorkers == 0 {
		o.WebhookWorkers = 64
		if o.Events.Batch > 1 {
			o.WebhookWorkers = 8 // with fewer workers the batches fill
		}
	}
	o.Events.Linger = cmp.Or(o.Events.Linger, 100*time.Millisecond)
	o.Events.header = signature
	if o.API == APICloud {
		o.Events.Envelope, o.Events.SignaturePrefix, o.Events.header = "platform", "sha256=", "X-Hub-Signature-256"
	}
	o.Events.Envelope = cmp.Or(o.Events.Envelope, "service")
	if o.Events.Timestamps == "" {
		o.Events.Timestamps = "rfc3339"
		if o.Events.Envelope == "platform" {
			o.Events.Timestamps = "unix_string"
		}
	}
	o.Throttle = cmp.Or(o.Throttle, ThrottlePlatform)
	o.ThrottleWait = cmp.Or(o.ThrottleWait, time.Second)
	o.PairBurst = cmp.Or(o.PairBurst, 1)
	o.TierCode = cmp.Or(o.TierCode, 131048)
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o, o.validate()
}

func (o Options) validate() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf("sandbox: "+format, args...)) }
	oneOf := func(name, value string, known ...string) {
		if value != "" && !slices.Contains(known, value) {
			last := len(known) - 1
			bad("%s: %q is not %s or %s", name, value, strings.Join(known[:last], ", "), known[last])
		}
	}
	for i, k := range o.Keys {
		if k.Token == "" {
			bad("keys[%d]: token is empty", i)
		}
	}
	if len(o.Connections) > maxConnections {
		bad("connections: %d, at most %d", len(o.Connections), maxConnections)
	}
	for i, c := range o.Connections {
		if c.ID == "" {
			bad("connections[%d]: id is empty", i)
		}
		if n, plus := parsePhone(c.Phone); n == 0 || !plus {
			bad("connections[%d]: phone %q is not E.164 with +", i, c.Phone)
		}
		switch c.Throughput {
		case "", "STANDARD", "HIGH":
		default:
			bad("connections[%d]: throughput %q is not STANDARD or HIGH", i, c.Throughput)
		}
		if c.Tier != "" && tierLimits[c.Tier] == 0 {
			bad("connections[%d]: tier %q is not one of TIER_50, TIER_250, TIER_1K, TIER_2K, TIER_10K, TIER_100K, TIER_UNLIMITED, "+
				"TIER_NOT_SET", i, c.Tier)
		}
	}
	for i, t := range o.Templates {
		if t.Name == "" || t.Language == "" {
			bad("templates[%d]: name and language are required", i)
		}
		if !slices.Contains([]string{"", "APPROVED", "PAUSED", "DISABLED", "REJECTED", "PENDING"}, strings.ToUpper(t.Status)) {
			bad("templates[%d]: status %q is not approved, paused, disabled, rejected or pending", i, t.Status)
		}
		switch strings.ToUpper(t.Category) {
		case "", "MARKETING", "UTILITY", "AUTHENTICATION":
		default:
			bad("templates[%d]: category %q is not MARKETING, UTILITY or AUTHENTICATION", i, t.Category)
		}
	}
	oneOf("api", o.API, "service", APICloud)
	oneOf("events.envelope", o.Events.Envelope, "service", "platform")
	oneOf("events.timestamps", o.Events.Timestamps, "rfc3339", "unix", "unix_string")
	oneOf("events.signature_encoding", o.Events.SignatureEncoding, "hex", "base64")
	oneOf("throttle", string(o.Throttle), string(ThrottlePlatform), string(ThrottleHTTP), string(ThrottleRetryAfter))
	if o.Review.After < 0 || o.Storage < 0 {
		bad("review.after, storage: negative")
	}
	if o.History.Days < 0 || o.History.Days > 3650 {
		bad("history.days: %d is not between 0 and 3650", o.History.Days)
	}
	if o.PageSize < 0 {
		bad("page_size: %d is negative", o.PageSize)
	}
	if o.WebhookWorkers < 0 || o.WebhookWorkers > 4096 {
		bad("webhook_workers: %d is not between 1 and 4096", o.WebhookWorkers)
	}
	if o.Events.Batch < 0 || o.Events.Batch > 1000 {
		bad("events.batch: %d is not between 1 and 1000", o.Events.Batch)
	}
	for i, n := range append(append([]string(nil), o.OptedOut...), o.WindowOpen...) {
		if v, _ := parsePhone(n); v == 0 {
			bad("opted_out, window_open: entry %d (%q) is not a phone number", i, n)
		}
	}
	for i, st := range o.Timeline {
		if st.After > 0 == (st.AfterMessages > 0) {
			bad("timeline[%d]: give either after or after_messages", i)
		}
		changes := st.Template != "" || st.Company != "" || st.Account != "" || st.Connection != ""
		if !changes && st.Allowance == nil && st.Event == nil && st.Faults == nil {
			bad("timeline[%d]: changes nothing: give template, company, account, connection, allowance, event or faults", i)
		}
		if st.Faults != nil {
			errs = append(errs, st.Faults.validate())
		}
	}
	if o.Commerce != nil {
		errs = append(errs, o.Commerce.Validate())
	}
	errs = append(errs, o.Faults.validate(), o.Statuses.validate())
	return errors.Join(errs...)
}
