package sandbox

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/goccy/go-yaml"

	"campaignd/internal/sandbox/draw"
)

// Faults are the shares, 0 to 1, of the things that go wrong. Each POST of a number to a recipient,
// or each status of a message, has its own draw of a fault. Truth.Fired counts it under its YAML
// name. The zero value is a service without faults.
type Faults struct {
	// Latency is added to every POST: half before the decision, half after.
	Latency Delay `yaml:"latency"`

	// The faults before the acceptance. The message is not accepted.

	// TooMany answers 429, half of them with Retry-After.
	TooMany float64 `yaml:"too_many_requests"`
	// RetryAfter is that Retry-After, in whole seconds. Default 1 s.
	RetryAfter time.Duration `yaml:"retry_after"`
	// ServerError answers one of Codes: 502 and 504 with HTML, 503 with a body like a refusal's.
	ServerError float64 `yaml:"server_error"`
	// Codes are 5xx, 408, 409 or 499. Default 500, 502, 503, 504.
	Codes []int `yaml:"server_error_codes"`
	// Redirect answers 307 to another host.
	Redirect float64 `yaml:"redirect"`
	// LostBefore closes the connection without an answer.
	LostBefore float64 `yaml:"lost_before"`
	// HangBefore gives no answer until HangFor has passed or the client leaves.
	HangBefore float64 `yaml:"hang_before"`
	// HangFor is the longest time of HangBefore and HangAfter. Default 30 s.
	HangFor time.Duration `yaml:"hang_for"`
	// Refusals are refusals of the platform. Each counts as refusal_CODE.
	Refusals []Refusal `yaml:"refusals"`
	// Pages are HTML pages instead of the answer. Each counts as page.
	Pages []Page `yaml:"pages"`
	// Away are management endpoints that answer 503 with a page. A name is the first segment of a
	// path, such as templates or blocked-users, and covers every operation below it.
	Away []string `yaml:"away"`
	// Unverified answers a free-form send with the warning unverified_service_window.
	Unverified float64 `yaml:"unverified_window"`

	// The faults after the acceptance. The message is accepted, and its statuses come.

	// LostAfter closes the connection without an answer.
	LostAfter float64 `yaml:"lost_after"`
	// HangAfter gives no answer until HangFor has passed or the client leaves.
	HangAfter float64 `yaml:"hang_after"`
	// ErrorAfter answers one of Codes, as ServerError does.
	ErrorAfter float64 `yaml:"error_after"`
	// NoID answers 200 with an empty data object.
	NoID float64 `yaml:"no_id"`
	// EmptyBody answers 200 without a body.
	EmptyBody float64 `yaml:"empty_body"`
	// CutBody answers 200 with a body that is cut in the middle of the id.
	CutBody float64 `yaml:"cut_body"`
	// LongID answers 200 with an id of 64 KiB.
	LongID float64 `yaml:"long_id"`
	// RepeatedID answers 200 with the id of the previous message of the same number.
	RepeatedID float64 `yaml:"repeated_id"`
	// SlowBody answers 200 and sends the second half of the body SlowFor later.
	SlowBody float64 `yaml:"slow_body"`
	// SlowFor is the delay of SlowBody. Default 2 s.
	SlowFor Delay `yaml:"slow_for"`

	// The faults of webhooks.

	// FailLater are failures by webhook of the messages that are accepted from now on. Each counts as
	// fail_later.
	FailLater []LaterFailure `yaml:"fail_later"`
	// Early posts the first status before the POST is answered.
	Early float64 `yaml:"webhook_early"`
	// Late is the share of statuses that are posted LateBy later.
	Late float64 `yaml:"webhook_late"`
	// LateBy is the delay of Late. Default: median 5 min, sigma 1.
	LateBy Delay `yaml:"webhook_late_by"`
	// Doubled posts a status twice.
	Doubled float64 `yaml:"webhook_doubled"`
	// Reordered posts the statuses of a message in reverse order.
	Reordered float64 `yaml:"webhook_reordered"`
	// Missing posts no webhook of a status.
	Missing float64 `yaml:"webhook_missing"`
	// ReadFirst posts read before delivered.
	ReadFirst float64 `yaml:"read_before_delivered"`
	// ReadOnly leaves out delivered.
	ReadOnly float64 `yaml:"read_without_delivered"`
	// FailedFirst adds a failed status before delivered.
	FailedFirst float64 `yaml:"failed_then_delivered"`
	// Forged gives the first posting a wrong signature.
	Forged float64 `yaml:"webhook_forged"`
	// Orphan posts, in addition, a status of a message that nobody sent.
	Orphan float64 `yaml:"webhook_orphan"`
	// WrongRecipient posts another recipient in `to`.
	WrongRecipient float64 `yaml:"webhook_wrong_recipient"`
	// Future sets the timestamp a day ahead.
	Future float64 `yaml:"webhook_future"`
	// MarkMissing leaves the mark out of a status, with the wire of the Cloud API.
	MarkMissing float64 `yaml:"mark_missing"`
}

// Refusal is a platform code with which a share of the recipients is refused.
type Refusal struct {
	Code int `yaml:"code"`
	// Subcode is the error_subcode of the Cloud API; 0: none.
	Subcode int `yaml:"subcode"`
	// Share is 0 to 1.
	Share float64 `yaml:"share"`
	// Connections limits the refusal to these. Default: all.
	Connections []string `yaml:"connections"`
	// Times limits the refusal to the first n POSTs of a pair; 0 means every POST.
	Times int `yaml:"times"`
}

// fault is the number of a fault: the purpose of its draw and the index of its counter.
type fault int

const (
	faultLatency fault = iota
	faultTooMany
	faultServerError
	faultRedirect
	faultLostBefore
	faultHangBefore
	faultUnverified
	faultLostAfter
	faultHangAfter
	faultErrorAfter
	faultNoID
	faultEmptyBody
	faultCutBody
	faultLongID
	faultRepeatedID
	faultSlowBody
	faultEarly
	faultLate
	faultDoubled
	faultReordered
	faultMissing
	faultReadFirst
	faultReadOnly
	faultFailedFirst
	faultForged
	faultOrphan
	faultWrongRecipient
	faultFuture
	faultMarkMissing
	faultThrottled // not drawn: a message above the throughput
	faultPaired    // not drawn: a message above the pair rate
	faultTier      // not drawn: a message above the tier
	faultAbandoned // not drawn: a webhook without retries left
	faultPage      // not drawn here: Faults.Pages
	faultFailLater // not drawn here: Faults.FailLater
	faultAway      // not drawn: Faults.Away
	faultCount
)

// faultNames are the YAML names, in the order of the constants.
var faultNames = [faultCount]string{
	"latency", "too_many_requests", "server_error", "redirect", "lost_before", "hang_before", "unverified_window",
	"lost_after", "hang_after", "error_after", "no_id", "empty_body", "cut_body", "long_id", "repeated_id", "slow_body",
	"webhook_early", "webhook_late", "webhook_doubled", "webhook_reordered", "webhook_missing", "read_before_delivered",
	"read_without_delivered", "failed_then_delivered", "webhook_forged", "webhook_orphan", "webhook_wrong_recipient",
	"webhook_future", "mark_missing", "throughput_exceeded", "pair_rate_exceeded", "tier_exceeded", "webhook_abandoned",
	"page", "fail_later", "away",
}

func (f fault) String() string { return faultNames[f] }

// share is the configured probability of a drawn fault, 0 for the others.
func (f *Faults) share(which fault) float64 {
	return [faultCount]float64{
		faultTooMany: f.TooMany, faultServerError: f.ServerError, faultRedirect: f.Redirect, faultLostBefore: f.LostBefore,
		faultHangBefore: f.HangBefore, faultUnverified: f.Unverified, faultLostAfter: f.LostAfter, faultHangAfter: f.HangAfter,
		faultErrorAfter: f.ErrorAfter, faultNoID: f.NoID, faultEmptyBody: f.EmptyBody, faultCutBody: f.CutBody,
		faultLongID: f.LongID, faultRepeatedID: f.RepeatedID, faultSlowBody: f.SlowBody, faultEarly: f.Early, faultLate: f.Late,
		faultDoubled: f.Doubled, faultReordered: f.Reordered, faultMissing: f.Missing, faultReadFirst: f.ReadFirst,
		faultReadOnly: f.ReadOnly, faultFailedFirst: f.FailedFirst, faultForged: f.Forged, faultOrphan: f.Orphan,
		faultWrongRecipient: f.WrongRecipient, faultFuture: f.Future, faultMarkMissing: f.MarkMissing,
	}[which]
}

// webhooks reports whether any fault of webhooks has a share. Most runs have none and need no
// draws.
func (f *Faults) webhooks() bool {
	for which := faultEarly; which <= faultFuture; which++ {
		if f.share(which) > 0 {
			return true
		}
	}
	return false
}

func (f *Faults) validate() error {
	var errs []error
	for which := range faultCount {
		if p := f.share(which); p < 0 || p > 1 {
			errs = append(errs, fmt.Errorf("sandbox: faults.%s: %g is not a share between 0 and 1", which, p))
		}
	}
	for i, r := range f.Refusals {
		if r.Share < 0 || r.Share > 1 || r.Code <= 0 || r.Times < 0 {
			errs = append(errs, fmt.Errorf("sandbox: faults.refusals[%d]: needs a code and a share between 0 and 1", i))
		}
	}
	for i, c := range f.Codes {
		if c < 500 && c != 408 && c != 409 && c != 499 || c > 599 {
			errs = append(errs, fmt.Errorf("sandbox: faults.server_error_codes[%d]: %d is not 5xx, 408, 409 or 499", i, c))
		}
	}
	return errors.Join(append(errs, f.validatePages())...)
}

// Set changes one fault, as the flag --fault does: "lost_after=0.01", "latency=80ms",
// "refusals=[{code: 131053, share: 0.1}]". Names and values are as in the YAML. With an error
// nothing changes.
func (f *Faults) Set(assignment string) error {
	name, value, ok := strings.Cut(assignment, "=")
	if !ok {
		return fmt.Errorf("sandbox: fault %q: write name=value, for example lost_after=0.01", assignment)
	}
	next := *f
	dec := yaml.NewDecoder(bytes.NewReader([]byte(strings.TrimSpace(name)+": "+strings.TrimSpace(value)+"\n")), yaml.Strict())
	if err := dec.Decode(&next); err != nil {
		return fmt.Errorf("sandbox: fault %q: %s", assignment, yaml.FormatError(err, false, false))
	}
	if err := next.validate(); err != nil {
		return err
	}
	*f = next
	return nil
}

// fires draws a fault for the keys and counts it if it fires.
func (s *Sandbox) fires(f *Faults, which fault, keys ...uint64) bool {
	if !s.drawn(f, which, keys...) {
		return false
	}
	s.fired[which].Add(1)
	return true
}

// drawn draws a fault without counting it. The caller counts it when it takes effect.
func (s *Sandbox) drawn(f *Faults, which fault, keys ...uint64) bool {
	p := f.share(which)
	return p > 0 && draw.Unit(s.hash(purpose(which), keys...)) < p
}

// hash is the draw of one purpose for the keys.
func (s *Sandbox) hash(p purpose, keys ...uint64) uint64 {
	h := draw.Mix(s.opt.Seed, uint64(p))
	for _, k := range keys {
		h = draw.Mix(h, k)
	}
	return h
}
