package messaging

import (
	"fmt"
	"io"
	"log/slog"
)

// hidden is what a Secret shows of itself.
const hidden = "***"

// Secret is a key or a signing secret that cannot be printed by accident: every
// way Go has of showing a value gives ***, also %#v, slog, JSON, YAML and a struct that holds one in an
// unexported field (fmt calls no methods there; it finds a pointer). The zero
// value is "no secret" and shows as nothing.
type Secret struct{ value *string }

// NewSecret hides s.
func NewSecret(s string) Secret {
	if s == "" {
		return Secret{}
	}
	return Secret{&s}
}

// Reveal gives the secret itself: for the header or the HMAC, never for a message.
func (s Secret) Reveal() string {
	if s.value == nil {
		return ""
	}
	return *s.value
}

// IsZero reports whether there is no secret.
func (s Secret) IsZero() bool { return s.value == nil }

// String gives ***, or nothing for the zero Secret.
func (s Secret) String() string {
	if s.value == nil {
		return ""
	}
	return hidden
}

// GoString gives *** for %#v.
func (s Secret) GoString() string { return `messaging.Secret("` + s.String() + `")` }

// Format gives *** for every verb.
func (s Secret) Format(f fmt.State, verb rune) {
	shown := s.String()
	switch {
	case verb == 'v' && f.Flag('#'):
		shown = s.GoString()
	case verb == 'q':
		shown = `"` + shown + `"`
	}
	_, _ = io.WriteString(f, shown) // fmt.State has no way to say that it failed
}

// LogValue gives *** to slog.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// MarshalJSON gives "***".
func (s Secret) MarshalJSON() ([]byte, error) { return []byte(`"` + s.String() + `"`), nil }

// MarshalText gives ***: YAML, environment listings and map keys use it.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads a secret from configuration.
func (s *Secret) UnmarshalText(text []byte) error {
	*s = NewSecret(string(text))
	return nil
}
