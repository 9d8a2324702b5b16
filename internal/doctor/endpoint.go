package doctor

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"campaignd/campaign/reception"
	"campaignd/internal/config"
	"campaignd/internal/ledger/backend"
	"campaignd/internal/messaging"
	"campaignd/internal/messaging/service"
	"campaignd/internal/webhooks"
)

// EndpointTest is what an endpoint answered to an event that one of the configured secrets signed.
type EndpointTest struct {
	URL string `json:"url"`
	// Secret is the index of the secret in webhooks.secrets.
	Secret int `json:"secret"`
	// Taken means that the endpoint answered 2xx: it knows the secret.
	Taken bool `json:"taken"`
	// Answer is the status line, or why there is none.
	Answer string `json:"answer"`
	// Another says that an event was taken by something that does not have our ledger, and Unknown
	// that it did not say which ledger it has; "" otherwise.
	Another string `json:"another,omitempty"`
	Unknown string `json:"unknown,omitempty"`
}

// OwnEndpoints returns the addresses among the registered ones that end with webhooks.path, each
// once.
func OwnEndpoints(cfg *config.Config, registered []service.Webhook) (addresses []string) {
	for _, w := range registered {
		u, err := url.Parse(w.URL)
		if err == nil && strings.HasSuffix(u.Path, cfg.Webhooks.Path) && !slices.Contains(addresses, w.URL) {
			addresses = append(addresses, w.URL)
		}
	}
	return addresses
}

// TestEndpoints posts one event to each address for each configured secret. The event is of a type
// that the intake counts and that changes nothing.
func TestEndpoints(ctx context.Context, cfg *config.Config, addresses []string) (all []EndpointTest, err error) {
	if err := cfg.CanReceive(); err != nil {
		return nil, err
	}
	client := http.Client{Transport: direct(), Timeout: 10 * time.Second,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	defer client.CloseIdleConnections()
	ours := ledgerID(ctx, cfg)
	for _, address := range addresses {
		for i, secret := range cfg.Webhooks.Secrets {
			t := EndpointTest{URL: address, Secret: i}
			var there string
			if t.Taken, t.Answer, there, err = postSigned(ctx, &client, cfg.Webhooks.Form(), secret, address); err != nil {
				return nil, err
			}
			if t.Taken {
				t.compare(ours, there)
			}
			all = append(all, t)
		}
	}
	return all, nil
}

// ledgerID is the id of our ledger; "": there is none yet, or it cannot be read here.
func ledgerID(ctx context.Context, cfg *config.Config) string {
	if cfg.NoLedger() || backend.Lost(cfg) != nil {
		return ""
	}
	l, err := backend.Read(ctx, cfg, nil)
	if err != nil {
		return ""
	}
	defer l.Close() //nolint:errcheck // only read
	return l.LedgerID()
}

// compare says whether the ledger that took an event, there, is ours; "": one is not known.
func (t *EndpointTest) compare(ours, there string) {
	switch {
	case there == "":
		t.Unknown = t.URL + " took the event and does not say into which ledger: another program answers, or a proxy removes " +
			webhooks.LedgerHeader
	case ours == "":
		t.Unknown = t.URL + " took the event; whether into the ledger of this configuration is not known, because it cannot be read here"
	case ours != there:
		t.Another = t.URL + " leads to another campaignd: it took the event into the ledger " + messaging.Scrub(there, 40) +
			", and the configuration names " + ours
	}
}

// postSigned posts one signed test event. there is the ledger of the process that took it.
func postSigned(ctx context.Context, client *http.Client, form messaging.SignatureForm, secret messaging.Secret,
	address string) (taken bool, answer, there string, err error) {
	now := time.Now().UTC()
	body, err := json.Marshal(map[string]any{"id": "test_" + rand.Text(), "type": "webhook.test", "createdAt": now, "data": struct{}{}})
	if err != nil {
		return false, "", "", err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return false, "", "", fmt.Errorf("%q is not an address: %w", address, err)
	}
	req.Header.Set("Content-Type", "application/json")
	if err := form.Sign(req.Header, secret, body, now); err != nil {
		return false, "", "", err
	}
	resp, err := client.Do(req)
	if err != nil {
		return false, messaging.Scrub(err.Error(), 300), "", ctx.Err()
	}
	defer resp.Body.Close()
	_, _ = io.CopyN(io.Discard, resp.Body, 4096)
	return resp.StatusCode >= 200 && resp.StatusCode <= 299, resp.Status, resp.Header.Get(webhooks.LedgerHeader), nil
}

// Signatures reads what the ledger knows of the signatures of webhooks; known is false if nothing
// has made a ledger yet.
func Signatures(ctx context.Context, cfg *config.Config) (s reception.Signatures, known bool, err error) {
	if cfg.NoLedger() {
		return s, false, nil
	}
	l, err := backend.Read(ctx, cfg, nil)
	if err != nil {
		return s, false, err
	}
	defer l.Close() //nolint:errcheck // only read
	s, err = l.Signatures(ctx)
	return s, err == nil, err
}

// RemovesTheLast reports whether w may be the only endpoint whose events are verified.
func RemovesTheLast(ctx context.Context, cfg *config.Config, w service.Webhook, registered []service.Webhook) (bool, error) {
	if !slices.Contains(OwnEndpoints(cfg, registered), w.URL) {
		return false, nil
	}
	s, _, err := Signatures(ctx, cfg)
	if err != nil {
		return false, err
	}
	var others []string
	for _, other := range registered {
		if other.ID != w.ID && len(OwnEndpoints(cfg, []service.Webhook{other})) > 0 {
			others = append(others, other.ID)
		}
	}
	return !s.Works(w.ID, others), nil
}
