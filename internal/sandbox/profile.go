package sandbox

import (
	"errors"
	"fmt"
	"time"

	"campaignd/internal/sandbox/draw"
)

// StatusProfile says what becomes of accepted messages. A share is 0 to 1 and is drawn for each
// recipient, so that a person has the same fate in every run with the same seed. With the zero
// value every message is sent, delivered and read.
type StatusProfile struct {
	// Off emits no statuses at all.
	Off bool `yaml:"off"`
	// Sent is the time from the acceptance to sent. Default: median 300 ms, sigma 0.6.
	Sent Delay `yaml:"sent"`
	// Delivered is the time from sent to delivered. Default: median 900 ms, sigma 0.8.
	Delivered Delay `yaml:"delivered"`
	// Read is the time from delivered to read. Default: median 2 s, sigma 1.
	Read Delay `yaml:"read"`

	// Unreachable is the share of recipients that are refused in the answer with 131026.
	Unreachable float64 `yaml:"unreachable"`
	// Failed are the shares of messages that fail by webhook.
	Failed []Failure `yaml:"failed"`
	// Undelivered is the share of recipients whose messages get no status after sent.
	Undelivered float64 `yaml:"undelivered"`
	// Unread is the share of recipients whose messages get no status after delivered.
	Unread float64 `yaml:"unread"`
	// Silent is the share of recipients whose messages are accepted and get no status.
	Silent float64 `yaml:"silent"`

	// Stop is the share of recipients that answer STOP to a delivered message.
	Stop float64 `yaml:"stop"`
	// StopAfter is the time from delivered to the STOP. Default: median 3 s, sigma 0.5.
	StopAfter Delay `yaml:"stop_after"`

	// OutsideWindow is what becomes of a free-form message when the service window is closed: failed
	// (131047 by webhook), dropped (no status) or refused (send_needs_template). Default failed.
	OutsideWindow string `yaml:"outside_window"`

	// Recipients have a fate of their own. The shares of this profile do not apply to them.
	Recipients []Recipient `yaml:"recipients"`
}

// Failure is a share of messages that fail by webhook.
type Failure struct {
	// Code is the platform code.
	Code int `yaml:"code"`
	// Share is 0 to 1.
	Share float64 `yaml:"share"`
	// After is the time from the acceptance. Default: median 1 s, sigma 0.5.
	After Delay `yaml:"after"`
}

// Fate is what becomes of every message to a named recipient.
type Fate string

// The fates.
const (
	FateUnreachable Fate = "unreachable" // refused in the answer with Code, by default 131026
	FateFailed      Fate = "failed"      // failed by webhook with Code, by default 131026
	FateUndelivered Fate = "undelivered" // sent
	FateUnread      Fate = "unread"      // sent, delivered
	FateRead        Fate = "read"        // sent, delivered, read
	FateSilent      Fate = "silent"      // no status
	FateStop        Fate = "stop"        // sent, delivered, read; then the recipient writes STOP
)

// Recipient is a number with a fate of its own.
type Recipient struct {
	Phone string `yaml:"phone"`
	Fate  Fate   `yaml:"fate"`
	// Code is the platform code of FateUnreachable and FateFailed.
	Code int `yaml:"code"`
}

func (p *StatusProfile) validate() error {
	var errs []error
	for name, v := range map[string]float64{
		"unreachable": p.Unreachable, "undelivered": p.Undelivered, "unread": p.Unread, "silent": p.Silent, "stop": p.Stop,
	} {
		if v < 0 || v > 1 {
			errs = append(errs, fmt.Errorf("sandbox: statuses.%s: %g is not a share between 0 and 1", name, v))
		}
	}
	for i, f := range p.Failed {
		if f.Share < 0 || f.Share > 1 || f.Code <= 0 {
			errs = append(errs, fmt.Errorf("sandbox: statuses.failed[%d]: needs a code and a share between 0 and 1", i))
		}
	}
	for i, r := range p.Recipients {
		if n, _ := parsePhone(r.Phone); n == 0 {
			errs = append(errs, fmt.Errorf("sandbox: statuses.recipients[%d]: phone %q is not a phone number", i, r.Phone))
		}
		switch r.Fate {
		case FateUnreachable, FateFailed, FateUndelivered, FateUnread, FateRead, FateSilent, FateStop:
		default:
			errs = append(errs, fmt.Errorf("sandbox: statuses.recipients[%d]: fate %q is not one of "+
				"unreachable, failed, undelivered, unread, read, silent, stop", i, r.Fate))
		}
	}
	switch p.OutsideWindow {
	case "", "failed", "dropped", "refused":
	default:
		errs = append(errs, fmt.Errorf("sandbox: statuses.outside_window: %q is not failed, dropped or refused", p.OutsideWindow))
	}
	return errors.Join(errs...)
}

// life is what will become of one accepted message.
type life struct {
	fate   Fate
	code   int   // platform code of FateFailed
	after  Delay // time from the acceptance to FateFailed
	noSent bool  // failed comes without a sent before it
}

// lifeOf decides the fate of the nth message that is accepted for a recipient.
func (s *Sandbox) lifeOf(to uint64, nth uint16, category string, at time.Time) life {
	p := &s.opt.Statuses
	if r, ok := s.named[to]; ok && r.Fate != FateUnreachable {
		return life{fate: r.Fate, code: r.Code, noSent: r.Fate == FateFailed}
	}
	for _, f := range p.Failed {
		about := uint64(nth)
		switch f.Code {
		case 131026:
			about = 0 // one draw for each person, whatever the message
		case 131049:
			if category != "MARKETING" {
				continue // the platform limits only marketing messages per person
			}
			about = uint64(at.Sub(s.began) / (24 * time.Hour)) // one draw for each person and day
		}
		if draw.Unit(s.hash(drawOutcome+purpose(f.Code)<<16, to, about)) < f.Share {
			return life{fate: FateFailed, code: f.Code, after: f.After, noSent: s.hash(drawFailedAfterSent, to)&1 == 0}
		}
	}
	switch {
	case draw.Unit(s.hash(drawSilent, to)) < p.Silent:
		return life{fate: FateSilent}
	case draw.Unit(s.hash(drawUndelivered, to)) < p.Undelivered:
		return life{fate: FateUndelivered}
	case draw.Unit(s.hash(drawStop, to)) < p.Stop:
		return life{fate: FateStop}
	case draw.Unit(s.hash(drawUnread, to)) < p.Unread:
		return life{fate: FateUnread}
	}
	return life{fate: FateRead}
}

// unreachable returns the code with which the platform refuses the recipient in its answer, or 0.
func (s *Sandbox) unreachable(to uint64) int {
	if r, ok := s.named[to]; ok {
		if r.Fate != FateUnreachable {
			return 0
		}
		if r.Code != 0 {
			return r.Code
		}
		return 131026
	}
	if p := s.opt.Statuses.Unreachable; p > 0 && draw.Unit(s.hash(drawUnreachable, to)) < p {
		return 131026
	}
	return 0
}
