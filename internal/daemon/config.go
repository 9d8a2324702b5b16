package daemon

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"campaignd/campaign"
	"campaignd/internal/messaging"
	"campaignd/internal/sandbox"
)

// DefaultConfigFile is read from the working directory when no --config is given. It may be missing.
const DefaultConfigFile = "campaignd.yaml"

// defaultService is where `campaignd sandbox` listens: with no configuration everything runs against it.
const defaultService = "http://127.0.0.1:8090"

// Config is the whole configuration (design section 10). LoadConfig fills it; the zero value is
// not valid. Paths are relative to the working directory. Every key can also be given as
// CAMPAIGND_SECTION_KEY; those marked secret also as a file named by CAMPAIGND_SECTION_KEY_FILE.
type Config struct {
	Listen      Listen            `yaml:"listen" json:"listen" jsonschema_description:"the two listeners"`
	Ledger      string            `yaml:"ledger" json:"ledger" secret:"url" jsonschema_description:"the durable record: sqlite:FILE, or postgres://USER@HOST/DATABASE" jsonschema:"example=sqlite:campaignd.db"`
	Redis       string            `yaml:"redis" json:"redis" secret:"url" jsonschema_description:"redis://...; empty: limits are kept in this process, which then must be the only one"`
	Role        Role              `yaml:"role" json:"role" jsonschema_description:"what serve does: all; intake: take webhooks, send nothing; sender: send and fire schedules, take no webhooks" jsonschema:"enum=all,enum=intake,enum=sender"`
	Replicas    int               `yaml:"replicas" json:"replicas" jsonschema_description:"how many processes send from this ledger; 0: any number. With 1, a PostgreSQL ledger does without redis" jsonschema:"minimum=0,maximum=1000"`
	Service     Service           `yaml:"service" json:"service" jsonschema_description:"the messaging service"`
	Webhooks    Webhooks          `yaml:"webhooks" json:"webhooks" jsonschema_description:"how the service's events arrive"`
	Correlation string            `yaml:"correlation" json:"correlation" jsonschema_description:"off, or tag: send a tag with each message that statuses echo" jsonschema:"enum=off,enum=tag"`
	Numbers     map[string]Number `yaml:"numbers" json:"numbers" jsonschema_description:"what each connection may do, by its id at the service"`
	Plan        Plan              `yaml:"plan" json:"plan" jsonschema_description:"the messages that the account's plan allows"`
	Campaigns   string            `yaml:"campaigns" json:"campaigns" jsonschema_description:"folder of campaign files that serve runs; reloaded when they change"`
	Drops       []Drop            `yaml:"drops" json:"drops" jsonschema_description:"watched buckets: a list put there starts a run"`
	Log         Log               `yaml:"log" json:"log" jsonschema_description:"what is written to standard error"`
	Sending     Sending           `yaml:"sending" json:"sending" jsonschema_description:"timing of the send protocol; the defaults are measured, change them in tests only"`
}

// Listen are the addresses, host:port. Port 0 takes a free one.
type Listen struct {
	Public string `yaml:"public" json:"public" jsonschema_description:"webhooks and GET /healthz only; may face the internet"`
	Admin  string `yaml:"admin" json:"admin" jsonschema_description:"metrics, health, readiness; keep it inside"`
}

// Service is how to reach the messaging service.
type Service struct {
	BaseURL   string            `yaml:"base_url" json:"base_url" jsonschema_description:"https, without a trailing slash; http only for a service on this machine" jsonschema:"format=uri"`
	APIKey    messaging.Secret  `yaml:"api_key" json:"api_key" secret:"value" jsonschema_description:"bearer key; better given as CAMPAIGND_SERVICE_API_KEY or CAMPAIGND_SERVICE_API_KEY_FILE"`
	Timeout   campaign.Duration `yaml:"timeout" json:"timeout" jsonschema_description:"of one request; what takes longer may or may not have been accepted"`
	AllowHTTP bool              `yaml:"allow_http" json:"allow_http" jsonschema_description:"permit http to another machine; the key then travels in clear"`
	UserAgent string            `yaml:"user_agent" json:"user_agent" jsonschema_description:"how requests name themselves; empty: campaignd/VERSION. The service's CDN refuses the default names of scripting libraries"`
	Refusals  []Refusal         `yaml:"refusals" json:"refusals" jsonschema_description:"answers with a 5xx status that this service proves to mean: not sent"`
}

// Refusal is one answer that proves that nothing was sent although its status alone leaves it
// open (reliability.md 1.4, the row of 5xx).
type Refusal struct {
	Status int    `yaml:"status" json:"status" jsonschema:"minimum=408,maximum=599"`
	Error  string `yaml:"error" json:"error" jsonschema_description:"the body's error code"`
}

// Webhooks is the intake of the service's events.
type Webhooks struct {
	Path      string             `yaml:"path" json:"path" jsonschema_description:"on the public listener"`
	Secrets   []messaging.Secret `yaml:"secrets" json:"secrets" secret:"value" jsonschema_description:"signing secrets; several while one is rotated; in the environment one per line or comma"`
	Signature Signature          `yaml:"signature" json:"signature" jsonschema_description:"the form of the signature, which the service's document does not show"`
	Sweep     campaign.Duration  `yaml:"sweep" json:"sweep" jsonschema_description:"how often events that came before their receipt are matched again"`
}

// Signature is the form in which deliveries are signed with HMAC-SHA256 (design section 9).
type Signature struct {
	Header          string            `yaml:"header" json:"header"`
	Encoding        string            `yaml:"encoding" json:"encoding" jsonschema:"enum=hex,enum=base64"`
	Prefix          string            `yaml:"prefix" json:"prefix" jsonschema_description:"stands before the signature and may be missing"`
	TimestampHeader string            `yaml:"timestamp_header" json:"timestamp_header" jsonschema_description:"when set, TIMESTAMP.BODY is signed in place of the body alone"`
	Tolerance       campaign.Duration `yaml:"tolerance" json:"tolerance" jsonschema_description:"how far a signed timestamp may be from now"`
	SecretBase64    bool              `yaml:"secret_base64" json:"secret_base64" jsonschema_description:"the secrets are base64, perhaps after whsec_"`
}

// Number is what one connection may do.
type Number struct {
	Rate      float64 `yaml:"rate" json:"rate" jsonschema_description:"messages per second that the platform grants this number; campaignd paces a little below; 0: what the service tells, else 80" jsonschema:"minimum=0,maximum=10000"`
	Tier      int64   `yaml:"tier,omitempty" json:"tier,omitempty" jsonschema_description:"unique recipients in a rolling 24 hours"`
	Portfolio string  `yaml:"portfolio,omitempty" json:"portfolio,omitempty" jsonschema_description:"numbers of one portfolio share its tier"`
}

// Plan is the account's monthly allowance.
type Plan struct {
	MonthlyMessages int64   `yaml:"monthly_messages" json:"monthly_messages" jsonschema_description:"0: unknown, the service's 402 decides" jsonschema:"minimum=0"`
	Resets          Resets  `yaml:"resets" json:"resets"`
	Reserve         float64 `yaml:"reserve" json:"reserve" jsonschema_description:"share kept back for messages that other programs send" jsonschema:"minimum=0,maximum=1"`
}

// Resets is when the allowance begins anew.
type Resets struct {
	Day      int    `yaml:"day" json:"day" jsonschema:"minimum=1,maximum=28"`
	Timezone string `yaml:"timezone" json:"timezone" jsonschema_description:"IANA name"`
}

// Drop maps a folder of a bucket to a campaign.
type Drop struct {
	Bucket   string `yaml:"bucket" json:"bucket" jsonschema:"example=file:///var/lib/campaignd/inbox"`
	Prefix   string `yaml:"prefix" json:"prefix"`
	Campaign string `yaml:"campaign" json:"campaign"`
}

// Log is what is written to standard error while serving.
type Log struct {
	Level  string `yaml:"level" json:"level" jsonschema:"enum=debug,enum=info,enum=warn,enum=error"`
	Format string `yaml:"format" json:"format" jsonschema:"enum=text,enum=json"`
}

// Sending is the timing of the send protocol (reliability.md 0.5 and 2.1).
type Sending struct {
	Lease   campaign.Duration `yaml:"lease" json:"lease" jsonschema_description:"how long a segment stays with a process that does not renew; longer than service.timeout"`
	Group   campaign.Duration `yaml:"group" json:"group" jsonschema_description:"how much sending a group covers; up to two groups of each number are granted ahead"`
	Flush   campaign.Duration `yaml:"flush" json:"flush" jsonschema_description:"how long a result waits for company before it is written; while they are few, up to four times that"`
	Tick    campaign.Duration `yaml:"tick" json:"tick" jsonschema_description:"how often waiting segments are looked at; runs every fourth time"`
	Backoff campaign.Duration `yaml:"backoff" json:"backoff" jsonschema_description:"first wait after a refusal that may be tried again"`
	// InFlight bounds memory and sockets: at 1,000/s and the slowest answers of 500 ms, 500 are open at once.
	InFlight int `yaml:"in_flight" json:"in_flight" jsonschema_description:"requests that may be open at once for each connection" jsonschema:"minimum=1,maximum=10000"`
}

// DefaultConfig is what holds where nothing is said: everything on this machine. The key and
// the secret of the sandbox are LoadConfig's to add.
func DefaultConfig() *Config {
	return &Config{
		Listen:   Listen{Public: ":8080", Admin: "127.0.0.1:8081"},
		Ledger:   "sqlite:campaignd.db",
		Role:     RoleAll,
		Service:  Service{BaseURL: defaultService, Timeout: campaign.Duration(10 * time.Second)},
		Webhooks: Webhooks{Path: "/webhooks/messaging", Signature: Signature{Header: "X-Service-Signature", Encoding: "hex", Prefix: "sha256=", Tolerance: campaign.Duration(5 * time.Minute)}, Sweep: campaign.Duration(time.Second)},
		// Off: the service's document shows no field that statuses would echo (reliability.md 1.2).
		Correlation: "off",
		Plan:        Plan{Resets: Resets{Day: 1, Timezone: "UTC"}, Reserve: 0.05},
		Campaigns:   "./campaigns",
		Log:         Log{Level: "info", Format: "text"},
		Sending: Sending{
			Lease:   campaign.Duration(15 * time.Second), // request 10 s + results 2 s + margin
			Group:   campaign.Duration(50 * time.Millisecond),
			Flush:   campaign.Duration(20 * time.Millisecond),
			Tick:    campaign.Duration(250 * time.Millisecond),
			Backoff: campaign.Duration(5 * time.Second),

			InFlight: 512,
		},
	}
}

// LoadConfig reads the defaults, then the YAML file path, then the environment (its variables by
// name; an empty one counts as not set), and validates the result. A missing file is an error
// only when explicit. What is wrong with the file is a *campaign.FileError with line and column.
func LoadConfig(path string, explicit bool, environment map[string]string) (*Config, error) {
	c := DefaultConfig()
	src, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && !explicit:
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("configuration file %s does not exist: create it, or leave --config away to run with the defaults", path)
	case err != nil:
		return nil, fmt.Errorf("configuration file cannot be read: %w", err)
	default:
		if err := c.readYAML(path, src); err != nil {
			return nil, err
		}
	}
	if err := c.readEnvironment(environment); err != nil {
		return nil, err
	}
	if c.Service.BaseURL == defaultService {
		// Nothing was said about the service: the sandbox of this binary, with its key and secret.
		if c.Service.APIKey.IsZero() {
			c.Service.APIKey = messaging.NewSecret(sandbox.DemoKey)
		}
		if len(c.Webhooks.Secrets) == 0 {
			c.Webhooks.Secrets = []messaging.Secret{messaging.NewSecret(sandbox.DemoSecret)}
		}
	}
	if err := c.Validate(); err != nil {
		if src == nil {
			path = "configuration"
		}
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return c, nil
}
