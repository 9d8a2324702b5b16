package campaign

import (
	"slices"
	"strings"
	"time"

	"campaignd/internal/messaging"
)

// UnreachableFor is how long a number is not sent to after the service reported it unreachable
// (131026), or after an operator called it so. Such a number may belong to somebody else later.
const UnreachableFor = 90 * 24 * time.Hour

// NewSuppression returns a suppression of a number in a scope, from an instant on: for ever, or for
// UnreachableFor in ScopeUnreachable.
func NewSuppression(key int64, to string, scope Scope, source string, at time.Time) Suppression {
	s := Suppression{Key: key, To: to, Scope: scope, Source: source, At: at}
	if scope == ScopeUnreachable {
		s.Until = at.Add(UnreachableFor)
	}
	return s
}

// SourceBlock is the source of a suppression of a person who is blocked at the service.
const SourceBlock = "service_block"

// IsBlock reports whether a source is a block at the service, as a list of blocked people or a
// refusal tells it. The end of the block lifts such a suppression.
func IsBlock(source string) bool {
	return source == SourceBlock || source == "refused:recipient_blocked"
}

// InForce reports whether the suppression stops messages at now.
func (s Suppression) InForce(now time.Time) bool { return s.Until.IsZero() || s.Until.After(now) }

// Proof shows how a suppression came about. An unknown field is empty.
type Proof struct {
	// Source and At belong to the event or the act that made it. A suppression may be older, or have
	// been repeated since.
	Source string    `json:"source,omitempty"`
	At     time.Time `json:"at,omitzero"`
	// Connection is the connection of the message.
	Connection string `json:"connection,omitempty"`
	// User is the recipient's user id, where the event named no number.
	User string `json:"user,omitempty"`
	// Message is the id of the recipient's message, or of ours that failed.
	Message string `json:"message,omitempty"`
	// Answers is the id of our message that the recipient's message answers.
	Answers string `json:"answers,omitempty"`
	// Text is what the recipient wrote, or the payload of the pressed button, at most maxProofText
	// bytes.
	Text string `json:"text,omitempty"`
	// Run and Row belong to the message that the service refused, Request the service's id of it.
	Run     RunNo  `json:"run,omitempty"`
	Row     int64  `json:"row,omitempty"`
	Request string `json:"request,omitempty"`
	// File and Line are set by an import.
	File string `json:"file,omitempty"`
	Line int    `json:"line,omitempty"`
	// MovedFrom is the number that the recipient had, E.164, and MovedAt when it changed.
	MovedFrom string    `json:"moved_from,omitempty"`
	MovedAt   time.Time `json:"moved_at,omitzero"`
}

// maxProofText is the most bytes of Proof.Text. The longest built-in stop word has 36.
const maxProofText = 64

// Proven returns the suppression with a proof of its source and time.
func (s Suppression) Proven(p Proof) Suppression {
	p.Source, p.At = s.Source, s.At
	if len(p.Text) > maxProofText {
		p.Text = strings.ToValidUTF8(p.Text[:maxProofText], "")
	}
	s.Proof = p
	return s
}

// Move is a recipient who changed the number. Suppressions of the old number go along (Carries).
type Move struct {
	From, To  int64  // recipients.Key of the old and of the new number
	FromUser  string // the person's user id, if From is 0: the ledger finds the old number
	FromPhone string // E.164
	ToPhone   string // E.164
	At        time.Time
}

// Carries reports whether a suppression of the old number goes along: an opt-out that is not newer
// than the move. A number that cannot be reached says nothing of the next.
func (m Move) Carries(s Suppression) bool { return s.Scope != ScopeUnreachable && !s.At.After(m.At) }

// Carried returns the suppression of the old number as one of the new number.
func (m Move) Carried(s Suppression) Suppression {
	s.Key, s.To = m.To, m.ToPhone
	if s.Proof.Source == "" {
		s.Proof.Source, s.Proof.At = s.Source, s.At
	}
	s.Proof.MovedFrom, s.Proof.MovedAt = m.FromPhone, m.At
	return s
}

// OfCompany returns the suppression for one company alone, if it is an opt-out: a recipient who
// opts out of one company's messages may want another's. Any other suppression holds for all.
// company may be "": the suppression then stops the messages of all.
func (s Suppression) OfCompany(company string) Suppression {
	if s.Scope == ScopeMarketing {
		s.Company = company
	}
	return s
}

// ScopeText is the scope in one text, as ledgers and files have it: marketing, or marketing@COMPANY
// for the messages of one company.
func (s Suppression) ScopeText() string {
	if s.Company == "" {
		return string(s.Scope)
	}
	return string(s.Scope) + "@" + s.Company
}

// SkipFor is the reason to skip a recipient with a suppression whose ScopeText is this; "" if a run
// may send to them. companies are the companies of the run. If one of them is "", or there is none,
// the suppression of any company stops it.
func SkipFor(scope string, marketing bool, companies ...string) SkipReason {
	kind, company, one := strings.Cut(scope, "@")
	if one && len(companies) > 0 && !slices.Contains(companies, company) && !slices.Contains(companies, "") {
		return ""
	}
	switch Scope(kind) {
	case ScopeAll:
		return Suppressed
	case ScopeMarketing:
		if marketing {
			return OptedOut
		}
	case ScopeUnreachable:
		return Unreachable
	}
	return ""
}

// Stronger is the reason to show when both hold.
func Stronger(a, b SkipReason) SkipReason {
	order := func(r SkipReason) int {
		switch r {
		case Suppressed:
			return 3
		case OptedOut:
			return 2
		case Unreachable:
			return 1
		case "":
			return -1
		}
		return 0
	}
	if order(b) > order(a) {
		return b
	}
	return a
}

// ScopeOf returns the scope of the suppression that a refusal or a failed status adds; "" when it
// adds none.
func ScopeOf(f messaging.Feed) Scope {
	switch f {
	case messaging.FeedOptOut:
		return ScopeMarketing
	case messaging.FeedUnreachable:
		return ScopeUnreachable
	case messaging.FeedBlocked:
		return ScopeAll
	}
	return ""
}
