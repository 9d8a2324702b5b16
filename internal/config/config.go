// Package config is the configuration of a process: its keys, where they come from, and what they
// may be.
//
// cmd/campaignd reads it, and passes it to what needs it. Load takes the defaults, a YAML file and
// the environment, in this order, and promises a configuration without a fault, or one line with
// the place and the remedy. The package also shows the configuration without its secrets, prints
// its schema, and opens what it names: the ledger to be read, the client, and the buckets.
package config

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/reception"
	"campaignd/internal/messaging"
	"campaignd/internal/messaging/cloud"
	"campaignd/internal/sandbox"
)

// DefaultFile is read from the working directory when no --config is given. It may be
// missing.
const DefaultFile = "campaignd.yaml"

// defaultService is the address of `campaignd sandbox`: with no configuration everything runs
// against it.
const defaultService = "http://127.0.0.1:8090"

// Config is the whole configuration (docs/operations.md#configuration). Load fills it; the
// zero value is not valid. Paths are relative to the working directory. Every key can also be given
// as CAMPAIGND_SECTION_KEY, and a secret also as a file that CAMPAIGND_SECTION_KEY_FILE names.
// Schema prints the comment above a field as the description of its key.
type Config struct {
	// The two listeners.
	Listen Listen `yaml:"listen" json:"listen"`
	// The pages for operators on the admin listener, under /console/.
	Console Console `yaml:"console" json:"console"`
	// The durable record: sqlite:FILE, or postgres://USER@HOST/DATABASE.
	Ledger string `yaml:"ledger" json:"ledger" secret:"url" jsonschema:"example=sqlite:campaignd.db"`
	// Most connections to PostgreSQL of this process, a third for each of sending, webhooks and
	// reports.
	LedgerConnections int `yaml:"ledger_connections" json:"ledger_connections" jsonschema:"minimum=6,maximum=300"`
	// Folder of the wire log, on a local disk, of this process alone: after a kill it tells which
	// messages had not been posted. Empty: beside an SQLite ledger; with PostgreSQL there is none.
	DataDir string `yaml:"data_dir" json:"data_dir"`
	// The shared limits: redis://HOST:PORT. Empty: the limits are kept in this process, which must
	// then be the only sender.
	Redis string `yaml:"redis" json:"redis" secret:"url"`
	// The work of serve. all: everything; intake: take webhooks and send nothing; sender: send and
	// fire schedules and take no webhooks.
	Role Role `yaml:"role" json:"role" jsonschema:"enum=all,enum=intake,enum=sender"`
	// Number of processes that send from this ledger, 0 for any number. With 1, a PostgreSQL ledger
	// needs no redis.
	Replicas int `yaml:"replicas" json:"replicas" jsonschema:"minimum=0,maximum=1000"`
	// The messaging service.
	Service Service `yaml:"service" json:"service"`
	// The platform's own Cloud API, beside the service or in place of it.
	Cloud Cloud `yaml:"cloud" json:"cloud"`
	// The intake of the service's events.
	Webhooks Webhooks `yaml:"webhooks" json:"webhooks"`
	// The commerce platform, which has customers and orders.
	Commerce Commerce `yaml:"commerce" json:"commerce"`
	// off, or tag: send a tag with each message that statuses echo. This version accepts only off.
	Correlation string `yaml:"correlation" json:"correlation" jsonschema:"enum=off,enum=tag"`
	// The limits of each connection, by its id at the service.
	Numbers map[string]Number `yaml:"numbers" json:"numbers"`
	// The messages that the plan of a company allows.
	Plan Plan `yaml:"plan" json:"plan"`
	// CSV file of your own prices of messages, with the columns market, category, currency, rate and
	// from (docs/forecast.md#cost). Empty: nothing shows a cost.
	Prices string `yaml:"prices,omitempty" json:"prices,omitempty"`
	// The rules of opt-outs: recipients who are not sent to any more.
	Suppressions Suppressions `yaml:"suppressions" json:"suppressions"`
	// The people who got a template from an earlier run
	// (docs/lists.md#people-who-got-the-template-before).
	SentBefore SentBefore `yaml:"sent_before" json:"sent_before"`
	// How long the deliveries of ended runs are kept.
	Retention Retention `yaml:"retention" json:"retention"`
	// Folder of the campaign files that serve runs. It is read again every few seconds.
	Campaigns string `yaml:"campaigns" json:"campaigns"`
	// Folders in which a list that appears starts a run of a campaign
	// (docs/operations.md#dropped-files).
	Drops []Drop `yaml:"drops" json:"drops"`
	// Addresses that are told of runs, holds, drops and schedules (docs/operations.md#notifications),
	// by a name of your own.
	Notifications map[string]Notification `yaml:"notifications" json:"notifications"`
	// The log on standard error.
	Log Log `yaml:"log" json:"log"`
	// Timing of the send protocol. The defaults are measured; change them in tests only.
	Sending Sending `yaml:"sending" json:"sending"`

	// again reads the configuration again, and files are those that it read; nil if no file was read.
	again func() (*Config, error)
	files []string
}

// Listen has the addresses of the listeners, HOST:PORT. Port 0 takes a free port.
type Listen struct {
	// Webhooks and GET /healthz only; it may face the internet.
	Public string `yaml:"public" json:"public"`
	// Metrics, health and readiness; keep it inside.
	Admin string `yaml:"admin" json:"admin"`
	// Names by which the admin listener is reached, for example through a proxy. Without admin_tls it
	// answers for these, addresses, names without a dot and services of Kubernetes only.
	AdminHosts []string `yaml:"admin_hosts,omitempty" json:"admin_hosts,omitempty"`
	// The certificate of the public listener. Without it the listener speaks plain HTTP, for a proxy
	// that has a certificate.
	PublicTLS TLS `yaml:"public_tls,omitempty" json:"public_tls,omitzero"`
	// The certificate of the admin listener.
	AdminTLS TLS `yaml:"admin_tls,omitempty" json:"admin_tls,omitzero"`
}

// Service has the address and the key of the messaging service.
type Service struct {
	// https, without a slash at the end; http only for a service on this machine.
	BaseURL string `yaml:"base_url" json:"base_url" jsonschema:"format=uri"`
	// Bearer key; better given as CAMPAIGND_SERVICE_API_KEY or CAMPAIGND_SERVICE_API_KEY_FILE.
	APIKey messaging.Secret `yaml:"api_key" json:"api_key" secret:"value"`
	// Time of one request, from 10ms to 25s. A request that takes longer may or may not have been
	// accepted.
	Timeout campaign.Duration `yaml:"timeout" json:"timeout"`
	// Permit http to another machine; the key then travels unencrypted.
	AllowHTTP bool `yaml:"allow_http" json:"allow_http"`
	// User-Agent of the requests; empty: campaignd/VERSION. The service's CDN refuses the default
	// names of scripting libraries.
	UserAgent string `yaml:"user_agent" json:"user_agent"`
	// Answers with a 5xx status that, at this service, prove that nothing was sent.
	Refusals []Refusal `yaml:"refusals" json:"refusals"`
	// The assumptions where the service's document shows nothing.
	Assumed Assumed `yaml:"assumed" json:"assumed"`
}

// Refusal is one answer that proves that nothing was sent, although its status alone does not prove
// it (docs/protocol.md#what-an-answer-proves).
type Refusal struct {
	// HTTP status, from 408 to 599.
	Status int `yaml:"status" json:"status" jsonschema:"minimum=408,maximum=599"`
	// The error code in the body.
	Error string `yaml:"error" json:"error"`
}

// Webhooks is the intake of the service's events.
type Webhooks struct {
	// Path on the public listener.
	Path string `yaml:"path" json:"path"`
	// Signing secrets; several while one is rotated. In the environment one per line or comma.
	Secrets []messaging.Secret `yaml:"secrets" json:"secrets" secret:"value"`
	// The form of the signature, which the service's document does not show.
	Signature Signature `yaml:"signature" json:"signature"`
	// How often events that came before their receipt are matched again, from 10ms to 1m.
	Sweep campaign.Duration `yaml:"sweep" json:"sweep"`
}

// Signature is the form in which deliveries are signed with HMAC-SHA256
// (docs/service.md#signature).
type Signature struct {
	// Name of the header that holds the signature.
	Header string `yaml:"header" json:"header"`
	// Encoding of the signature.
	Encoding string `yaml:"encoding" json:"encoding" jsonschema:"enum=hex,enum=base64"`
	// Text before the signature, which the header may lack.
	Prefix string `yaml:"prefix" json:"prefix"`
	// Name of the header with the time. When set, TIMESTAMP.BODY is signed instead of the body.
	TimestampHeader string `yaml:"timestamp_header" json:"timestamp_header"`
	// How far a signed time may be from now, from 1s to 24h.
	Tolerance campaign.Duration `yaml:"tolerance" json:"tolerance"`
	// The secrets are base64, with or without whsec_ before it.
	SecretBase64 bool `yaml:"secret_base64" json:"secret_base64"`
}

// Suppressions says what an opt-out covers.
type Suppressions struct {
	// everywhere: an opt-out from one company's marketing is one from the marketing of all companies.
	// company: it is one from that company's marketing alone.
	Scope string `yaml:"scope" json:"scope" jsonschema:"enum=everywhere,enum=company"`
	// Whole messages and payloads of buttons that mean stop, beside the built-in words of many
	// languages. Case, accents and punctuation do not matter.
	Words []string `yaml:"words" json:"words"`
}

// Values of Suppressions.Scope.
const (
	everywhere = "everywhere"
	PerCompany = "company"
)

// Retention says how long the deliveries of ended runs are kept.
type Retention struct {
	// How long the deliveries of a run that has ended are kept after its last status, at least 32d.
	// Then serve deletes them; the totals of reports stay. 0s: for ever.
	Deliveries campaign.Duration `yaml:"deliveries" json:"deliveries"`
}

// SentBefore is about the people of a list who got its template from an earlier run.
type SentBefore struct {
	// The time before a launch in which a message counts, from 1h to 366d.
	Within campaign.Duration `yaml:"within" json:"within"`
}

// Drop is one watched folder: a list that appears there starts a run of the campaign.
type Drop struct {
	// file:///FOLDER, file:FOLDER relative to the working directory,
	// s3://BUCKET?endpoint=URL&region=NAME, or gs://BUCKET.
	Bucket string `yaml:"bucket" json:"bucket" jsonschema:"example=file:///var/lib/campaignd/inbox"`
	// First part of the names that are taken, such as spring/. Files in folders below it are not
	// taken.
	Prefix string `yaml:"prefix" json:"prefix"`
	// Patterns of the last part of the name, in upper or lower case. Empty: *.csv, *.csv.gz,
	// *.csv.zst and *.tsv.
	Patterns []string `yaml:"patterns" json:"patterns"`
	// Name of a campaign of the folder campaigns.
	Campaign string `yaml:"campaign" json:"campaign"`
	// True, for recurring exports: a list is launched also if an earlier run of the campaign had
	// numbers of it, and those people get another message. Lists with the bytes of an earlier one are
	// rejected all the same.
	Again bool `yaml:"again" json:"again"`
}

// Notification is one address that is told of events.
type Notification struct {
	// The address: https, or http on this machine. It is treated as a secret.
	URL messaging.Secret `yaml:"url" json:"url" secret:"value"`
	// standard: signed, in the form of Standard Webhooks; slack: a text, for an incoming webhook of
	// Slack.
	Format string `yaml:"format,omitempty" json:"format,omitempty" jsonschema:"enum=standard,enum=slack"`
	// Signing secrets, each whsec_ and base64; several while one is rotated. Format slack has none.
	Secrets []messaging.Secret `yaml:"secrets,omitempty" json:"secrets,omitempty" secret:"value"`
	// Kinds of events: run.started, run.paused, run.finished, run.settled, run.repeats,
	// approval.needed, hold.raised, hold.ended, breaker.tripped, drop.rejected, schedule.missed.
	// Empty: all.
	Events []string `yaml:"events,omitempty" json:"events,omitempty"`
}

// Log has the level and the format of the log.
type Log struct {
	// Least level that is written.
	Level string `yaml:"level" json:"level" jsonschema:"enum=debug,enum=info,enum=warn,enum=error"`
	// Format of a line.
	Format string `yaml:"format" json:"format" jsonschema:"enum=text,enum=json"`
}

// Sending is the timing of the send protocol (docs/protocol.md#segments-and-marks).
type Sending struct {
	// How long a segment stays with a process that does not renew its lease, from 500ms to 5m. It
	// must be longer than 1.2 x service.timeout.
	Lease campaign.Duration `yaml:"lease" json:"lease"`
	// How much sending one group of intents covers, from 1ms to 1s. Up to two groups of each number
	// are granted ahead.
	Group campaign.Duration `yaml:"group" json:"group"`
	// How long a result waits for others before it is written, from 1ms to 1s; up to four times that
	// while results are few.
	Flush campaign.Duration `yaml:"flush" json:"flush"`
	// How often waiting segments are read, from 1ms to 10s; runs are read every fourth time.
	Tick campaign.Duration `yaml:"tick" json:"tick"`
	// First wait after a refusal that may be tried again, from 1ms to 10m.
	Backoff campaign.Duration `yaml:"backoff" json:"backoff"`
	// Waits of the service between its tries to deliver a webhook
	// (docs/service.md#delivery-of-events).
	Repeats []campaign.Duration `yaml:"repeats" json:"repeats"`
	// Requests that may be open at once for each connection. It bounds memory and sockets: at
	// 1,000 a second and answers of 500 ms, 500 are open at once.
	InFlight int `yaml:"in_flight" json:"in_flight" jsonschema:"minimum=1,maximum=10000"`
}

// Default returns the defaults, with which everything runs on this machine. Load adds
// the key and the secret of the sandbox.
func Default() *Config {
	return &Config{
		Listen:  Listen{Public: "127.0.0.1:8080", Admin: "127.0.0.1:8081"},
		Console: Console{Enabled: true},
		Ledger:  "sqlite:campaignd.db",
		// 4 for each kind of work (docs/protocol.md#postgresql).
		LedgerConnections: 12,
		Role:              RoleAll,
		Service:           Service{BaseURL: defaultService, Timeout: campaign.Duration(10 * time.Second), Assumed: defaultAssumed()},
		Cloud:             Cloud{BaseURL: cloud.Host, Version: cloud.DefaultVersion},
		Commerce:          defaultCommerce(),
		Webhooks: Webhooks{
			Path: "/webhooks/messaging",
			Signature: Signature{
				Header: "X-Service-Signature", Encoding: "hex", Prefix: "sha256=", Tolerance: campaign.Duration(5 * time.Minute),
			},
			Sweep: campaign.Duration(time.Second),
		},
		// The service's document shows no field that statuses would echo (docs/protocol.md#adoption).
		Correlation:  "off",
		Plan:         Plan{Resets: Resets{Day: 1, Timezone: "UTC"}, Reserve: 0.05},
		Suppressions: Suppressions{Scope: everywhere},
		SentBefore:   SentBefore{Within: campaign.Duration(30 * 24 * time.Hour)},
		Campaigns:    "./campaigns",
		Log:          Log{Level: "info", Format: "text"},
		Sending: Sending{
			Lease:    campaign.Duration(15 * time.Second), // request 10 s + results 2 s + margin 3 s
			Group:    campaign.Duration(50 * time.Millisecond),
			Flush:    campaign.Duration(20 * time.Millisecond),
			Tick:     campaign.Duration(250 * time.Millisecond),
			Backoff:  campaign.Duration(5 * time.Second),
			Repeats:  defaultRepeats(),
			InFlight: 512,
		},
	}
}

// defaultRepeats are the waits of the service.
func defaultRepeats() (all []campaign.Duration) {
	for _, d := range reception.ServiceRepeats() {
		all = append(all, campaign.Duration(d))
	}
	return all
}

// Waits returns Repeats as campaign takes them.
func (s Sending) Waits() (all reception.Repeats) {
	for _, d := range s.Repeats {
		all = append(all, d.Std())
	}
	return all
}

// Load reads the defaults, then the YAML file path, then the environment, and validates the
// result. environment has the variables by name; an empty one counts as not set. A missing file
// is an error only when explicit is set. A fault of the file is a *file.Error with line and
// column.
func Load(path string, explicit bool, environment map[string]string) (*Config, error) {
	c := Default()
	src, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && !explicit:
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("configuration file %s does not exist: create it, or leave --config out to run with the defaults", path)
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
	if c.Service.BaseURL == defaultService && !c.Cloud.Configured() {
		// The service is not configured: use the sandbox of this binary, with its key and secret.
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
		return nil, fmt.Errorf("%s: %w", cmp.Or(variableOf(err, environment), path), err)
	}
	c.again = func() (*Config, error) { return Load(path, explicit, environment) }
	c.files = append(secretFiles(path, environment), c.Cloud.files()...)
	return c, nil
}
