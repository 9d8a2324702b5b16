package sandbox

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"
)

// Options says what exists at the service and how it behaves. The zero value works:
// no Keys means the key "sandbox-key", no Connections the four HIGH numbers of Demo, no
// Templates those of Demo, no webhook endpoint until one is registered, no faults.
// Every field with a YAML name can stand in a scenario file.
type Options struct {
	Seed        uint64       `yaml:"seed"` // of every draw; 0 is a seed like any other
	Keys        []Key        `yaml:"keys"`
	Companies   []Company    `yaml:"companies"` // only those that differ from the default; the others follow from Connections
	Connections []Connection `yaml:"connections"`
	Templates   []Template   `yaml:"templates"`
	Assets      []Asset      `yaml:"assets"`
	OptedOut    []string     `yaml:"opted_out"`   // recipients opted out of marketing at every company
	WindowOpen  []string     `yaml:"window_open"` // recipients who have just written to every connection

	WebhookURL     string          `yaml:"webhook_url"`     // first endpoint; empty: none
	WebhookSecret  string          `yaml:"webhook_secret"`  // its secret; empty: "sandbox-secret"
	RetrySchedule  []time.Duration `yaml:"retry_schedule"`  // waits after each non-2xx answer; nil: 1m, 5m, 30m, 2h, 6h
	WebhookTimeout time.Duration   `yaml:"webhook_timeout"` // of one delivery; 0: 10s
	WebhookWorkers int             `yaml:"webhook_workers"` // deliveries in flight; 0: 64, with batches 8
	Events         EventForm       `yaml:"events"`

	Allowance int64 `yaml:"allowance"` // messages per calendar month (UTC) of the account's plan; 0: unlimited

	EnforceThroughput bool           `yaml:"enforce_throughput"` // refuse what exceeds a number's messages per sliding second
	Throttle          ThrottleAnswer `yaml:"throttle"`           // how; empty: platform
	ThrottleWait      time.Duration  `yaml:"throttle_wait"`      // Retry-After of http_retry_after; 0: 1s
	PairRate          time.Duration  `yaml:"pair_rate"`          // least time between messages to one recipient (6s at the platform); 0: not enforced
	PairBurst         int            `yaml:"pair_burst"`         // messages that may come at once; 0: 1
	EnforceTier       bool           `yaml:"enforce_tier"`       // accept, then fail what exceeds a portfolio's unique recipients in 24 hours
	TierCode          int            `yaml:"tier_code"`          // with which platform code; 0: 131048. The real one is not documented (platform.md 2)

	AllowBots    bool `yaml:"allow_bots"`    // do not refuse default scripting agents with 1010
	RequireHTTPS bool `yaml:"require_https"` // answer 301 to plain http; X-Forwarded-Proto: http gets it always
	HideNumbers  bool `yaml:"hide_numbers"`  // GET /api/v1/numbers answers 404

	Faults   Faults        `yaml:"faults"`
	Statuses StatusProfile `yaml:"statuses"`
	Timeline []Step        `yaml:"timeline"`

	Transport http.RoundTripper `yaml:"-"` // for webhooks; nil: one with keep-alive for WebhookWorkers connections
	Log       *slog.Logger      `yaml:"-"` // nil: discard
	OnEvent   func(Event)       `yaml:"-"` // called after each POST, acceptance and webhook delivery, from their goroutines; nil: not
}

// Key is an API key.
type Key struct {
	Token   string `yaml:"token"`
	Company string `yaml:"company"` // empty: partner-wide
}

// Company is a client of the account.
type Company struct {
	ID        string `yaml:"id"`
	Name      string `yaml:"name"`
	Suspended bool   `yaml:"suspended"` // 403 account_deactivated
	Allowance int64  `yaml:"allowance"` // a plan of its own; 0: the account's
	Used      int64  `yaml:"used"`      // messages of that plan already used this month
}

// Connection is one business account plus one phone number.
type Connection struct {
	ID          string `yaml:"id"`
	Phone       string `yaml:"phone"` // E.164 with +
	DisplayName string `yaml:"display_name"`
	Company     string `yaml:"company"`     // empty: co_1
	Portfolio   string `yaml:"portfolio"`   // shares one tier; empty: the company
	Throughput  string `yaml:"throughput"`  // STANDARD (80/s), HIGH (1,000/s); empty: STANDARD
	Coexistence bool   `yaml:"coexistence"` // 20/s whatever the throughput says
	Rate        int    `yaml:"rate"`        // messages per second in place of the level's; 0: the level's
	Tier        string `yaml:"tier"`        // TIER_250 ... TIER_UNLIMITED; empty: the number's health is not listed
	Quality     string `yaml:"quality"`     // GREEN, YELLOW, RED; empty: GREEN
	Status      string `yaml:"status"`      // empty: connected
}

// Asset is a file stored before the sandbox began.
type Asset struct {
	ID      string        `yaml:"id"`
	Company string        `yaml:"company"` // empty: co_1
	Age     time.Duration `yaml:"age"`     // since its upload; from 30 days on it is gone
}

// EventForm is the form of webhooks that the document leaves open.
type EventForm struct {
	Envelope       string        `yaml:"envelope"`        // service (design section 9) or platform; empty: service
	Batch          int           `yaml:"batch"`           // most events in one POST; 0: 1, and then no array
	BatchObject    bool          `yaml:"batch_object"`    // {"events": [...]} in place of a JSON array
	Linger         time.Duration `yaml:"linger"`          // how long a batch waits to fill; 0: 100ms
	Timestamps     string        `yaml:"timestamps"`      // rfc3339, unix (integer), unix_string; empty: rfc3339, in the platform's envelope unix_string
	OmitRecipient  bool          `yaml:"omit_recipient"`  // statuses without `to`
	OmitConnection bool          `yaml:"omit_connection"` // events without `connectionId`

	SignaturePrefix    string `yaml:"signature_prefix"`    // for example "sha256="
	SignatureEncoding  string `yaml:"signature_encoding"`  // hex or base64; empty: hex
	SignatureTimestamp string `yaml:"signature_timestamp"` // header of the Unix seconds of the posting, and TIMESTAMP.BODY is signed; X-Service-Signature: in it, as t=SECONDS; empty: none
}

// ThrottleAnswer is what exceeds the throughput is answered with.
type ThrottleAnswer string

// The three answers that platform.md 1 reports for the same condition.
const (
	ThrottlePlatform   ThrottleAnswer = "platform"         // 400 send_retryable, meta.code 130429
	ThrottleHTTP       ThrottleAnswer = "http"             // bare 429
	ThrottleRetryAfter ThrottleAnswer = "http_retry_after" // 429 with Retry-After
)

// Step changes something while the sandbox runs. It happens once, After the start of
// Run or when AfterMessages have been accepted, whichever is given.
type Step struct {
	After         time.Duration `yaml:"after"`
	AfterMessages int64         `yaml:"after_messages"`
	Template      string        `yaml:"template"` // with Status: as SetTemplate
	Language      string        `yaml:"language"`
	Company       string        `yaml:"company"`    // with Status suspended or active
	Connection    string        `yaml:"connection"` // with Quality: a number.updated event
	Quality       string        `yaml:"quality"`
	Status        string        `yaml:"status"`
	Faults        *Faults       `yaml:"faults"` // replaces all faults
}

// Event is one thing that happened, for traces.
type Event struct {
	At         time.Time
	Kind       string // post, accepted, refused, lost, webhook
	Connection string
	To         string // E.164
	MessageID  string
	Detail     string // refusal's error, fault's name, status and HTTP answer of a webhook
}

// DefaultRetrySchedule is the document's (seed 000, Events): each wait counts from the
// answer before it.
func DefaultRetrySchedule() []time.Duration {
	return []time.Duration{time.Minute, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 6 * time.Hour}
}

// withDefaults fills what is left open and refuses what cannot be meant.
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
	if o.WebhookSecret == "" {
		o.WebhookSecret = DemoSecret
	}
	if o.RetrySchedule == nil {
		o.RetrySchedule = DefaultRetrySchedule()
	}
	if o.WebhookTimeout == 0 {
		o.WebhookTimeout = 10 * time.Second
	}
	if o.Events.Batch == 0 {
		o.Events.Batch = 1
	}
	if o.WebhookWorkers == 0 {
		o.WebhookWorkers = 64
		if o.Events.Batch > 1 {
			o.WebhookWorkers = 8 // fewer, so that batches fill
		}
	}
	if o.Events.Linger == 0 {
		o.Events.Linger = 100 * time.Millisecond
	}
	if o.Events.Envelope == "" {
		o.Events.Envelope = "service"
	}
	if o.Events.Timestamps == "" {
		o.Events.Timestamps = "rfc3339"
		if o.Events.Envelope == "platform" {
			o.Events.Timestamps = "unix_string"
		}
	}
	if o.Throttle == "" {
		o.Throttle = ThrottlePlatform
	}
	if o.ThrottleWait == 0 {
		o.ThrottleWait = time.Second
	}
	if o.PairBurst == 0 {
		o.PairBurst = 1
	}
	if o.TierCode == 0 {
		o.TierCode = 131048
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o, o.validate()
}

func (o Options) validate() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf("sandbox: "+format, args...)) }
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
		if c.Tier != "" && tierLimit(c.Tier) == 0 {
			bad("connections[%d]: tier %q is not one of TIER_250, TIER_1K, TIER_2K, TIER_10K, TIER_100K, TIER_UNLIMITED", i, c.Tier)
		}
	}
	for i, t := range o.Templates {
		if t.Name == "" || t.Language == "" {
			bad("templates[%d]: name and language are required", i)
		}
		if !templateStatuses[t.Status] {
			bad("templates[%d]: status %q is not approved, paused, disabled, rejected or pending", i, t.Status)
		}
	}
	switch o.Events.Envelope {
	case "service", "platform":
	default:
		bad("events.envelope: %q is not service or platform", o.Events.Envelope)
	}
	switch o.Events.Timestamps {
	case "rfc3339", "unix", "unix_string":
	default:
		bad("events.timestamps: %q is not rfc3339, unix or unix_string", o.Events.Timestamps)
	}
	switch o.Events.SignatureEncoding {
	case "", "hex", "base64":
	default:
		bad("events.signature_encoding: %q is not hex or base64", o.Events.SignatureEncoding)
	}
	switch o.Throttle {
	case ThrottlePlatform, ThrottleHTTP, ThrottleRetryAfter:
	default:
		bad("throttle: %q is not platform, http or http_retry_after", o.Throttle)
	}
	if o.WebhookWorkers < 0 || o.WebhookWorkers > 4096 {
		bad("webhook_workers: %d is not between 1 and 4096", o.WebhookWorkers)
	}
	if o.Events.Batch < 0 || o.Events.Batch > 1000 {
		bad("events.batch: %d is not between 1 and 1000 (platform.md 4.2)", o.Events.Batch)
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
		if st.Template == "" && st.Company == "" && st.Connection == "" && st.Faults == nil {
			bad("timeline[%d]: changes nothing: give template, company, connection or faults", i)
		}
		if st.Faults != nil {
			errs = append(errs, st.Faults.validate())
		}
	}
	errs = append(errs, o.Faults.validate(), o.Statuses.validate())
	return errors.Join(errs...)
}
