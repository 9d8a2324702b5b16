package daemon

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"campaignd/internal/messaging"
	"campaignd/recipients"
	"campaignd/throttle"
)

// numbers holds what is known of the connections. The configuration overrides what the service
// tells, and that overrides the defaults (docs/limits.md#defaults).
type numbers struct {
	cfg *Config

	mu      sync.RWMutex
	rates   map[string]float64 // pace in messages per second
	byPhone map[int64]string   // connection id by recipients.Key of its phone number
}

func newNumbers(cfg *Config) *numbers {
	return &numbers{cfg: cfg, rates: map[string]float64{}, byPhone: map[int64]string{}}
}

// refresh asks the service for its connections and their rates. The configuration and the defaults
// hold where the service has no numbers endpoint.
func (n *numbers) refresh(ctx context.Context, c *messaging.Client) ([]messaging.Connection, error) {
	conns, err := c.Connections(ctx)
	if err != nil {
		return nil, n.withRemedy("connections", err)
	}
	health, err := c.Numbers(ctx)
	if err != nil && !errors.Is(err, messaging.ErrNotOffered) {
		return nil, n.withRemedy("numbers", err)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, c := range conns {
		if k := recipients.Key(c.Phone); k != 0 {
			n.byPhone[k] = c.ID
		}
	}
	for _, h := range health {
		n.rates[h.ConnectionID] = throttle.Number{Limit: h.Throughput, Level: h.Level, Coexistence: h.Coexistence}.Pace().Rate
	}
	return conns, nil
}

// withRemedy adds the remedy to the error of a service that does not answer, or that does not know
// the key.
func (n *numbers) withRemedy(what string, err error) error {
	var e *messaging.Error
	remedy := ""
	if errors.As(err, &e) {
		switch {
		case e.Status == 0:
			remedy = "; check service.base_url, or try without a service: campaignd sandbox"
		case e.Status == 401:
			remedy = "; check service.api_key"
		}
	}
	return fmt.Errorf("cannot ask the service at %s for its %s: %w%s", n.cfg.Service.BaseURL, what, err, remedy)
}

// pace returns the rate of a connection in messages per second, a little below its limit
// (docs/limits.md#pace).
func (n *numbers) pace(connection string) float64 {
	if own, ok := n.cfg.Numbers[connection]; ok && own.Rate > 0 {
		return throttle.Number{Limit: own.Rate}.Pace().Rate
	}
	n.mu.RLock()
	defer n.mu.RUnlock()
	if r, ok := n.rates[connection]; ok {
		return r
	}
	return throttle.Number{}.Pace().Rate
}

// told reports whether the service told the rate of a connection.
func (n *numbers) told(connection string) bool {
	n.mu.RLock()
	defer n.mu.RUnlock()
	_, ok := n.rates[connection]
	return ok
}

// connectionOf returns the id of the connection with a display number, and "" for none. An event of
// the platform may name its connection by this number only (docs/service.md#events).
func (n *numbers) connectionOf(phone string) string {
	n.mu.RLock()
	defer n.mu.RUnlock()
	return n.byPhone[recipients.Key("+"+phone)]
}

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
