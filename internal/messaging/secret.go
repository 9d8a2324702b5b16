package messaging

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"log/slog"
)

// hidden is shown instead of a Secret.
const hidden = "***"

// Secret is a key or a signing secret that cannot be printed by accident. Every way in which Go
// prints a value gives ***: all verbs of fmt, slog, JSON and YAML. In an unexported field of a
// struct, where fmt calls no methods, fmt prints the address of a pointer. The zero value is "no
// secret" and prints as nothing.
type Secret struct{ value *string }

// NewSecret hides s.
func NewSecret(s string) Secret {
	if s == "" {
		return Secret{}
	}
	return Secret{&s}
}

// Reveal returns the secret itself, for a header or an HMAC, never for a message to a person.
func (s Secret) Reveal() string {
	if s.value == nil {
		return ""
	}
	return *s.value
}

// Fingerprint names the secret in the ledger: 32 bits of its SHA-256, which tell two secrets apart
// and from which none can be found.
func (s Secret) Fingerprint() string {
	sum := sha256.Sum256([]byte(s.Reveal()))
	return hex.EncodeToString(sum[:4])
}

// IsZero reports whether there is no secret.
func (s Secret) IsZero() bool { return s.value == nil }

// String returns ***, or "" for the zero Secret.
func (s Secret) String() string {
	if s.value == nil {
		return ""
	}
	return hidden
}

// GoString returns *** for %#v.
func (s Secret) GoString() string { return `messaging.Secret("` + s.String() + `")` }

// Format writes *** for every verb.
func (s Secret) Format(f fmt.State, verb rune) {
	shown := s.String()
	switch {
	case verb == 'v' && f.Flag('#'):
		shown = s.GoString()
	case verb == 'q':
		shown = `"` + shown + `"`
	}
	_, _ = io.WriteString(f, shown) // a Formatter cannot return an error
}

// LogValue returns *** for slog.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// MarshalJSON returns "***".
func (s Secret) MarshalJSON() ([]byte, error) { return []byte(`"` + s.String() + `"`), nil }

// MarshalText returns ***. YAML and the keys of JSON maps use it.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads a secret from configuration.
func (s *Secret) UnmarshalText(text []byte) error {
	*s = NewSecret(string(text))
	return nil
}
