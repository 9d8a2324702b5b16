package config

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"campaignd/internal/messaging"
	"campaignd/internal/sandbox"
	"campaignd/internal/secret"
)

// reached reports whether a request to a path arrives at a handler of that path. The router
// redirects a path that is not in its shortest form.
func reached(path string) bool {
	r, err := http.NewRequestWithContext(context.Background(), http.MethodPost, "http://host"+path, nil)
	if err != nil {
		return false
	}
	arrived := false
	mux := http.NewServeMux()
	mux.HandleFunc(path, func(http.ResponseWriter, *http.Request) { arrived = true })
	mux.ServeHTTP(unanswered{}, r)
	return arrived
}

// unanswered is a ResponseWriter whose answer nobody reads.
type unanswered struct{}

func (unanswered) Header() http.Header         { return http.Header{} }
func (unanswered) Write(p []byte) (int, error) { return len(p), nil }
func (unanswered) WriteHeader(int)             {}

// checkSecrets refuses signing secrets that can be guessed, with which anybody could forge events.
// The secret of the sandbox is public, and is accepted on this machine only.
func (c *Config) checkSecrets() error {
	u, err := url.Parse(c.Service.BaseURL)
	here := err == nil && secret.Loopback(u.Hostname())
	for i, s := range c.Webhooks.Secrets {
		if s.Reveal() == sandbox.DemoSecret {
			if here {
				continue
			}
			return fmt.Errorf("webhooks.secrets[%d] is the one of the sandbox, which everybody knows: give the one that the service signs with", i)
		}
		if n := c.Webhooks.Form().SecretBytes(s); n > 0 && n < messaging.MinSecret {
			return fmt.Errorf("webhooks.secrets[%d] has %d bytes and can be guessed: have the service sign with one of %d or more, better %d, "+
				"such as `openssl rand -hex 32` draws", i, n, messaging.MinSecret, messaging.ShortSecret)
		}
	}
	return nil
}

// checkPath refuses a path of the public listener that no request would reach.
func checkPath(key, path string) error {
	switch {
	case !strings.HasPrefix(path, "/") || strings.ContainsAny(path, "?# {}"):
		return fmt.Errorf("%s: %q is not a path; it begins with / and has no ?, #, blank or brace", key, path)
	case path == "/healthz":
		return fmt.Errorf("%s: /healthz is taken by the health check; give another", key)
	case !reached(path):
		return fmt.Errorf("%s: no request reaches %q; give one without //, . and .. as parts, and %%", key, path)
	}
	return nil
}

func (w *Webhooks) check() error {
	if err := checkPath("webhooks.path", w.Path); err != nil {
		return err
	}
	if w.Signature.Header == "" || strings.ContainsAny(w.Signature.Header, " :\t\r\n") {
		return fmt.Errorf("webhooks.signature.header: %q is not the name of a header", w.Signature.Header)
	}
	for i, s := range w.Secrets {
		if s.IsZero() {
			return fmt.Errorf("webhooks.secrets[%d] is empty: remove it, or give the secret that the service signs with", i)
		}
	}
	return cmp.Or(
		oneOf("webhooks.signature.encoding", w.Signature.Encoding, "hex", "base64"),
		between("webhooks.signature.tolerance", w.Signature.Tolerance, time.Second, 24*time.Hour),
		between("webhooks.sweep", w.Sweep, 10*time.Millisecond, time.Minute))
}
