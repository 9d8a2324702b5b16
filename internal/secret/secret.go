package secret

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"log/slog"
)

// Hidden is shown instead of a Value that is not zero.
const Hidden = "***"

// Value is a key or a signing secret that cannot be printed by accident. Every way in which Go
// prints a value gives ***: all verbs of fmt, slog, JSON and YAML. In an unexported field of a
// struct, where fmt calls no methods, fmt prints the address of a pointer. The zero value is "no
// secret" and prints as nothing.
type Value struct{ value *string }

// New hides s.
func New(s string) Value {
	if s == "" {
		return Value{}
	}
	return Value{&s}
}

// Reveal returns the secret itself, for a header or an HMAC, never for a message to a person.
func (s Value) Reveal() string {
	if s.value == nil {
		return ""
	}
	return *s.value
}

// Fingerprint names the secret in the ledger: 32 bits of its SHA-256, which tell two secrets apart
// and from which none can be found.
func (s Value) Fingerprint() string {
	sum := sha256.Sum256([]byte(s.Reveal()))
	return hex.EncodeToString(sum[:4])
}

// IsZero reports whether there is no secret.
func (s Value) IsZero() bool { return s.value == nil }

// String returns ***, or "" for the zero Value.
func (s Value) String() string {
	if s.value == nil {
		return ""
	}
	return Hidden
}

// GoString returns *** for %#v.
func (s Value) GoString() string { return `secret.Value("` + s.String() + `")` }

// Format writes *** for every verb.
func (s Value) Format(f fmt.State, verb rune) {
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
func (s Value) LogValue() slog.Value { return slog.StringValue(s.String()) }

// MarshalJSON returns "***".
func (s Value) MarshalJSON() ([]byte, error) { return []byte(`"` + s.String() + `"`), nil }

// MarshalText returns ***. YAML and the keys of JSON maps use it.
func (s Value) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads a secret from configuration.
func (s *Value) UnmarshalText(text []byte) error {
	*s = New(string(text))
	return nil
}
