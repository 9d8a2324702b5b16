package value

import (
	"fmt"
	"strconv"
	"time"
)

// Stamp is an instant. In JSON it is UTC with microseconds, and null if it is zero. In a scenario
// it is RFC 3339 or a date.
type Stamp struct {
	time.Time
	Text string // of a scenario; "" if it does not name the instant
}

const stampForm = "2006-01-02T15:04:05.000000Z"

// ParseStamp reads RFC 3339, a date and time without a zone (UTC), or a date (its first instant in
// UTC). The bool reports a date alone.
func ParseStamp(text string) (at Stamp, date bool, err error) {
	for _, form := range []string{time.RFC3339Nano, "2006-01-02T15:04:05", time.DateTime, time.DateOnly} {
		if t, err := time.Parse(form, text); err == nil {
			return Stamp{Time: t.UTC()}, form == time.DateOnly, nil
		}
	}
	return Stamp{}, false, fmt.Errorf("%.60q is not a time such as 2023-11-05T10:00:00Z", text)
}

// UnmarshalText reads the instant of a scenario. Validate names a wrong one, with its path.
func (s *Stamp) UnmarshalText(text []byte) error {
	*s, _, _ = ParseStamp(string(text))
	s.Text = string(text)
	return nil
}

// UnmarshalJSON reads a string. The error lets the decoder name the member.
func (s *Stamp) UnmarshalJSON(raw []byte) error {
	if string(raw) == "null" {
		return nil
	}
	text, err := strconv.Unquote(string(raw))
	if err != nil {
		return wrongType[Stamp]()
	}
	parsed, _, err := ParseStamp(text)
	if err != nil {
		return wrongType[Stamp]()
	}
	*s = parsed
	return nil
}

// MarshalJSON writes the instant, or null if it is zero.
func (s Stamp) MarshalJSON() ([]byte, error) {
	if s.IsZero() {
		return []byte("null"), nil
	}
	return []byte(`"` + s.UTC().Format(stampForm) + `"`), nil
}

// Flaw says why the text of the scenario is not an instant, or is "".
func (s Stamp) Flaw() string {
	if _, _, err := ParseStamp(s.Text); err != nil && s.Text != "" {
		return err.Error()
	}
	return ""
}

// Or returns s, or the other instant if s is zero.
func (s Stamp) Or(other Stamp) Stamp {
	if s.IsZero() {
		return other
	}
	return s
}
