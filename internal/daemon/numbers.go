package daemon

import (
	"time"

	"campaignd/internal/messaging"
)

// Rate returns the configured limit of a connection in messages per second, and 0 for none.
func (c *Config) Rate(connection string) float64 { return c.Numbers[connection].Rate }

// form returns the configured form of signatures.
func (w Webhooks) form() messaging.SignatureForm {
	return messaging.SignatureForm{
		Header: w.Signature.Header, Prefix: w.Signature.Prefix, Encoding: messaging.Encoding(w.Signature.Encoding),
		TimestampHeader: w.Signature.TimestampHeader, SecretBase64: w.Signature.SecretBase64,
		Tolerance: time.Duration(w.Signature.Tolerance),
	}
}

// provenRefusals returns the configured answers that prove a refusal.
func (s Service) provenRefusals() []messaging.StatusCode {
	out := make([]messaging.StatusCode, 0, len(s.Refusals))
	for _, r := range s.Refusals {
		out = append(out, messaging.StatusCode{Status: r.Status, Code: r.Error})
	}
	return out
}
