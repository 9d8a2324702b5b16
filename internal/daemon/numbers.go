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

// numbers knows the connections: what the configuration says of each, over what
// the service says, over the defaults of design section 6.
type numbers struct {
	cfg *Config

	mu      sync.RWMutex
	rates   map[string]float64 // pace in messages per second
	byPhone map[int64]string   // recipients.Key of the number -> connection id
}

func newNumbers(cfg *Config) *numbers {
	return &numbers{cfg: cfg, rates: map[string]float64{}, byPhone: map[int64]string{}}
}

// refresh asks the service for connections and numbers. A service that does not offer the
// numbers endpoint leaves the configuration and the defaults.
func (n *numbers) refresh(ctx context.Context, c *messaging.Client) ([]messaging.Connection, error) {
	conns, err := c.Connections(ctx)
	if err != nil {
		return nil, n.unasked("connections", err)
	}
	health, err := c.Numbers(ctx)
	if err != nil && !errors.Is(err, messaging.ErrNotOffered) {
		return nil, n.unasked("numbers", err)
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

// unasked says what to do about a service that does not answer.
func (n *numbers) unasked(what string, err error) error {
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

// pace is the rate at which a connection is paced.
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

// told reports whether the service said how fast a connection may send.
func (n *numbers) told(connection string) bool {
	n.mu.RLock()
	defer n.mu.RUnlock()
	_, ok := n.rates[connection]
	return ok
}

// connectionOf finds the connection of a platform event by its display number (design section 2).
func (n *numbers) connectionOf(phone string) string {
	n.mu.RLock()
	defer n.mu.RUnlock()
	return n.byPhone[recipients.Key("+"+phone)]
}

// form is the signature form of the configuration.
func (w Webhooks) form() messaging.SignatureForm {
	return messaging.SignatureForm{
		Header: w.Signature.Header, Prefix: w.Signature.Prefix, Encoding: messaging.Encoding(w.Signature.Encoding),
		TimestampHeader: w.Signature.TimestampHeader, SecretBase64: w.Signature.SecretBase64, Tolerance: time.Duration(w.Signature.Tolerance),
	}
}

// provenRefusals are the answers that the operator knows to be refusals.
func (s Service) provenRefusals() []messaging.StatusCode {
	out := make([]messaging.StatusCode, 0, len(s.Refusals))
	for _, r := range s.Refusals {
		out = append(out, messaging.StatusCode{Status: r.Status, Code: r.Error})
	}
	return out
}
