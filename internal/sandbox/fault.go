package sandbox

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
)

// Faults are the shares, 0 to 1, of what goes wrong. Each is drawn for the nth POST of
// one number to one recipient, or for one status of one message, and counted under its
// YAML name (Truth.Fired). The zero value is a service without faults.
type Faults struct {
	Latency Delay `yaml:"latency"` // of every POST: half before the decision, half after

	// Before acceptance: the message is certainly not taken.
	TooMany     float64       `yaml:"too_many_requests"`  // bare 429; every other one with Retry-After
	RetryAfter  time.Duration `yaml:"retry_after"`        // its value, in whole seconds; 0: 1s
	ServerError float64       `yaml:"server_error"`       // 500, 502 (HTML), 503 (a body that reads like a refusal), 504, 408, 409, 499
	Codes       []int         `yaml:"server_error_codes"` // which of these; nil: 500, 502, 503, 504
	Redirect    float64       `yaml:"redirect"`           // 307 to another place
	LostBefore  float64       `yaml:"lost_before"`        // connection closed without an answer
	HangBefore  float64       `yaml:"hang_before"`        // no answer until HangFor has passed or the client leaves
	HangFor     time.Duration `yaml:"hang_for"`           // 0: 30s
	Refusals    []Refusal     `yaml:"refusals"`           // the platform refuses; counted as refusal_CODE
	Unverified  float64       `yaml:"unverified_window"`  // free-form sends are answered unverified_service_window

	// After acceptance: the message is taken and its statuses come.
	LostAfter  float64 `yaml:"lost_after"`  // connection closed without an answer
	HangAfter  float64 `yaml:"hang_after"`  // no answer until HangFor has passed or the client leaves
	ErrorAfter float64 `yaml:"error_after"` // 5xx, as ServerError
	NoID       float64 `yaml:"no_id"`       // 200 with an empty data object
	EmptyBody  float64 `yaml:"empty_body"`  // 200 with no body
	CutBody    float64 `yaml:"cut_body"`    // 200, cut in the middle of the id
	LongID     float64 `yaml:"long_id"`     // 200 with an id of 64 KiB
	RepeatedID float64 `yaml:"repeated_id"` // 200 with the id of the number's message before
	SlowBody   float64 `yaml:"slow_body"`   // 200 whose second half comes SlowFor later
	SlowFor    Delay   `yaml:"slow_for"`    // zero: 2s

	// Webhooks.
	Early          float64 `yaml:"webhook_early"`           // the first status is posted before the answer to the POST
	Late           float64 `yaml:"webhook_late"`            // a status is posted LateBy later
	LateBy         Delay   `yaml:"webhook_late_by"`         // zero: median 5m, sigma 1
	Doubled        float64 `yaml:"webhook_doubled"`         // a status is posted twice
	Reordered      float64 `yaml:"webhook_reordered"`       // a message's statuses are posted in reverse
	Missing        float64 `yaml:"webhook_missing"`         // a status is never posted
	ReadFirst      float64 `yaml:"read_before_delivered"`   // read is posted, then delivered
	ReadOnly       float64 `yaml:"read_without_delivered"`  // delivered does not happen on its own
	FailedFirst    float64 `yaml:"failed_then_delivered"`   // a failed status comes before delivered
	Forged         float64 `yaml:"webhook_forged"`          // the first posting carries a wrong signature
	Orphan         float64 `yaml:"webhook_orphan"`          // a status of a message that nobody sent is posted too
	WrongRecipient float64 `yaml:"webhook_wrong_recipient"` // `to` is somebody else
	Future         float64 `yaml:"webhook_future"`          // the timestamp is a day ahead
}

// Refusal is a platform code that a share of recipients is refused with.
type Refusal struct {
	Code  int     `yaml:"code"`
	Share float64 `yaml:"share"`
	Times int     `yaml:"times"` // only a pair's first n POSTs; 0: always
}

// fault numbers each share; the number is also its draw and its counter.
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
	faultThrottled // not drawn: a number's throughput, enforced
	faultPaired    // not drawn: the pair rate, enforced
	faultTier      // not drawn: the tier, enforced
	faultAbandoned // not drawn: a webhook whose retries are used up
	faultCount
)

// faultNames are the YAML names, in the order of the numbers.
var faultNames = [faultCount]string{
	"latency", "too_many_requests", "server_error", "redirect", "lost_before", "hang_before", "unverified_window",
	"lost_after", "hang_after", "error_after", "no_id", "empty_body", "cut_body", "long_id", "repeated_id", "slow_body",
	"webhook_early", "webhook_late", "webhook_doubled", "webhook_reordered", "webhook_missing", "read_before_delivered",
	"read_without_delivered", "failed_then_delivered", "webhook_forged", "webhook_orphan", "webhook_wrong_recipient",
	"webhook_future", "throughput_exceeded", "pair_rate_exceeded", "tier_exceeded", "webhook_abandoned",
}

func (f fault) String() string { return faultNames[f] }

// share is the configured probability of a drawn fault.
func (f *Faults) share(which fault) float64 {
	switch which {
	case faultTooMany:
		return f.TooMany
	case faultServerError:
		return f.ServerError
	case faultRedirect:
		return f.Redirect
	case faultLostBefore:
		return f.LostBefore
	case faultHangBefore:
		return f.HangBefore
	case faultUnverified:
		return f.Unverified
	case faultLostAfter:
		return f.LostAfter
	case faultHangAfter:
		return f.HangAfter
	case faultErrorAfter:
		return f.ErrorAfter
	case faultNoID:
		return f.NoID
	case faultEmptyBody:
		return f.EmptyBody
	case faultCutBody:
		return f.CutBody
	case faultLongID:
		return f.LongID
	case faultRepeatedID:
		return f.RepeatedID
	case faultSlowBody:
		return f.SlowBody
	case faultEarly:
		return f.Early
	case faultLate:
		return f.Late
	case faultDoubled:
		return f.Doubled
	case faultReordered:
		return f.Reordered
	case faultMissing:
		return f.Missing
	case faultReadFirst:
		return f.ReadFirst
	case faultReadOnly:
		return f.ReadOnly
	case faultFailedFirst:
		return f.FailedFirst
	case faultForged:
		return f.Forged
	case faultOrphan:
		return f.Orphan
	case faultWrongRecipient:
		return f.WrongRecipient
	case faultFuture:
		return f.Future
	}
	return 0
}

// webhooks reports whether any fault concerns webhooks: most runs have none to draw.
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
	return errors.Join(errs...)
}

// Set changes one fault as a flag does: "lost_after=0.01", "latency=80ms",
// "refusals=[{code: 131053, share: 0.1}]". Names and values are those of the YAML.
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

// fires draws a fault for what the keys name and counts it.
func (s *Sandbox) fires(f *Faults, which fault, keys ...uint64) bool {
	if !s.drawn(f, which, keys...) {
		return false
	}
	s.fired[which].Add(1)
	return true
}

// drawn draws a fault without counting it: the caller counts when it takes effect.
func (s *Sandbox) drawn(f *Faults, which fault, keys ...uint64) bool {
	p := f.share(which)
	return p > 0 && unit(s.hash(purpose(which), keys...)) < p
}

// hash is the draw of one purpose about what the keys name.
func (s *Sandbox) hash(p purpose, keys ...uint64) uint64 {
	h := mix(s.opt.Seed, uint64(p))
	for _, k := range keys {
		h = mix(h, k)
	}
	return h
}
