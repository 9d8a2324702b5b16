package sandbox

import (
	"errors"
	"fmt"
	"time"
)

// StatusProfile says what becomes of accepted messages. Shares are 0 to 1 and drawn by
// recipient, so that the same person meets the same fate in every run with one seed.
// The zero value: every message is sent, delivered and read.
type StatusProfile struct {
	Off       bool  `yaml:"off"`       // no statuses at all
	Sent      Delay `yaml:"sent"`      // since acceptance; zero: median 300ms, sigma 0.6
	Delivered Delay `yaml:"delivered"` // since sent; zero: median 900ms, sigma 0.8
	Read      Delay `yaml:"read"`      // since delivered; zero: median 2s, sigma 1

	Unreachable float64   `yaml:"unreachable"` // refused in the answer with 131026
	Failed      []Failure `yaml:"failed"`      // by webhook
	Undelivered float64   `yaml:"undelivered"` // stay sent for ever
	Unread      float64   `yaml:"unread"`      // stay delivered for ever
	Silent      float64   `yaml:"silent"`      // accepted, then nothing

	Stop      float64 `yaml:"stop"`       // answer STOP after the message was delivered
	StopAfter Delay   `yaml:"stop_after"` // since delivered; zero: median 3s, sigma 0.5

	OutsideWindow string `yaml:"outside_window"` // a free-form send with the window closed: failed (131047 by webhook), dropped, or refused (send_needs_template); empty: failed

	Recipients []Recipient `yaml:"recipients"` // named ones, before all shares
}

// Failure is a share of messages that fail by webhook.
type Failure struct {
	Code  int     `yaml:"code"`
	Share float64 `yaml:"share"`
	After Delay   `yaml:"after"` // since acceptance; zero: median 1s, sigma 0.5
}

// Fate is what becomes of every message to a named recipient.
type Fate string

// The fates.
const (
	FateUnreachable Fate = "unreachable" // 131026 in the answer, or Code
	FateFailed      Fate = "failed"      // by webhook with Code, 0: 131026
	FateUndelivered Fate = "undelivered" // sent
	FateUnread      Fate = "unread"      // sent, delivered
	FateRead        Fate = "read"        // sent, delivered, read
	FateSilent      Fate = "silent"
	FateStop        Fate = "stop" // sent, delivered, read, then writes STOP
)

// Recipient is a number with a fate of its own.
type Recipient struct {
	Phone string `yaml:"phone"`
	Fate  Fate   `yaml:"fate"`
	Code  int    `yaml:"code"`
}

func (p *StatusProfile) validate() error {
	var errs []error
	for name, v := range map[string]float64{"unreachable": p.Unreachable, "undelivered": p.Undelivered, "unread": p.Unread, "silent": p.Silent, "stop": p.Stop} {
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
			errs = append(errs, fmt.Errorf("sandbox: statuses.recipients[%d]: fate %q is not one of unreachable, failed, undelivered, unread, read, silent, stop", i, r.Fate))
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
	code   int   // of failed
	after  Delay // of failed
	noSent bool  // failed without a sent before it
}

// lifeOf decides the fate of the nth message accepted for a recipient.
func (s *Sandbox) lifeOf(to uint64, nth uint16, category string, at time.Time) life {
	p := &s.opt.Statuses
	if r, ok := s.named[to]; ok && r.Fate != FateUnreachable {
		return life{fate: r.Fate, code: r.Code, noSent: r.Fate == FateFailed}
	}
	for _, f := range p.Failed {
		about := uint64(nth)
		switch f.Code {
		case 131026:
			about = 0 // the person, for ever
		case 131049:
			if category != "MARKETING" {
				continue // the per-user limit knows marketing only (platform.md 2)
			}
			about = uint64(at.Sub(s.began) / (24 * time.Hour)) // the person, for a day
		}
		if unit(s.hash(drawOutcome+purpose(f.Code)<<16, to, about)) < f.Share {
			return life{fate: FateFailed, code: f.Code, after: f.After, noSent: s.hash(drawFailedAfterSent, to)&1 == 0}
		}
	}
	switch {
	case unit(s.hash(drawSilent, to)) < p.Silent:
		return life{fate: FateSilent}
	case unit(s.hash(drawUndelivered, to)) < p.Undelivered:
		return life{fate: FateUndelivered}
	case unit(s.hash(drawStop, to)) < p.Stop:
		return life{fate: FateStop}
	case unit(s.hash(drawUnread, to)) < p.Unread:
		return life{fate: FateUnread}
	}
	return life{fate: FateRead}
}

// unreachable reports whether the platform refuses the recipient in its answer, and with which code.
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
	if p := s.opt.Statuses.Unreachable; p > 0 && unit(s.hash(drawUnreachable, to)) < p {
		return 131026
	}
	return 0
}
