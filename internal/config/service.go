package config

import (
	"net/url"
	"time"

	"campaignd/internal/messaging"
	"campaignd/internal/sandbox"
	"campaignd/internal/secret"
)

// Rate returns the configured limit of a connection in messages per second, and 0 for none.
func (c *Config) Rate(connection string) float64 { return c.Numbers[connection].Rate }

// Tier returns the configured tier of a connection, as Number.Tier.
func (c *Config) Tier(connection string) int64 { return c.Numbers[connection].Tier }

// Company returns the configured company of a connection, and "" for none.
func (c *Config) Company(connection string) string { return c.Numbers[connection].Company }

// Form returns the configured form of signatures.
func (w Webhooks) Form() messaging.SignatureForm {
	return messaging.SignatureForm{
		Header: w.Signature.Header, Prefix: w.Signature.Prefix, Encoding: messaging.Encoding(w.Signature.Encoding),
		TimestampHeader: w.Signature.TimestampHeader, SecretBase64: w.Signature.SecretBase64,
		Tolerance: time.Duration(w.Signature.Tolerance),
	}
}

// ProvenRefusals returns the configured answers that prove a refusal.
func (s Service) ProvenRefusals() []messaging.StatusCode {
	out := make([]messaging.StatusCode, 0, len(s.Refusals))
	for _, r := range s.Refusals {
		out = append(out, messaging.StatusCode{Status: r.Status, Code: r.Error})
	}
	return out
}

// KeyRemedy is what to do when the service refuses the key. On this machine it may be a sandbox.
func (s *Service) KeyRemedy() string {
	u, err := url.Parse(s.BaseURL)
	if err != nil || !secret.Loopback(u.Hostname()) {
		return "check service.api_key"
	}
	return "check service.api_key (sandbox: " + sandbox.DemoKey + ")"
}
