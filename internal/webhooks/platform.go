package webhooks

import (
	"crypto/subtle"
	"errors"
	"io"
	"net/http"
	"time"

	"campaignd/internal/messaging"
)

// Platform is the intake of events that the platform itself posts, for the accounts of one app
// (docs/cloud.md#webhooks). It shares path, queue and commits with the events of the service.
type Platform struct {
	// Verifier has the app's secret. Required.
	Verifier *messaging.Verifier
	// Decode reads the events of a signed body. An error means that the secret does not vouch for it.
	// Required.
	Decode func(body []byte) ([]messaging.Event, error)
	// VerifyTokens are the tokens by which the platform asks whether this endpoint is the app's.
	VerifyTokens []messaging.Secret

	secret string // fingerprint of the app's secret
}

// challenge answers the question whether this endpoint is ours: GET with hub.mode, hub.verify_token
// and hub.challenge. Only with a right token the challenge goes back.
func (i *Intake) challenge(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	token, right := q.Get("hub.verify_token"), 0
	for _, p := range i.platforms() {
		for _, known := range p.VerifyTokens {
			right |= subtle.ConstantTimeCompare([]byte(token), []byte(known.Reveal()))
		}
	}
	challenge := q.Get("hub.challenge")
	if right == 0 || q.Get("hub.mode") != "subscribe" || challenge == "" || len(challenge) > 256 || challenge != messaging.Token(challenge) {
		w.WriteHeader(http.StatusForbidden)
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	_, _ = io.WriteString(w, challenge) // the asker may be gone
}

// openPlatform verifies and decodes a body that the platform signed.
func (i *Intake) openPlatform(h http.Header, body []byte, received time.Time) (*queued, Rejection) {
	p := i.platform(h, body, received)
	if p == nil {
		i.signs.refused(received.UTC(), true)
		return nil, RejectedSignature
	}
	events, err := p.Decode(body)
	switch {
	case errors.Is(err, messaging.ErrBody), errors.Is(err, messaging.ErrBodyTooLarge), errors.Is(err, messaging.ErrTooManyEvents):
		i.o.Log.Warn("a signed webhook of the platform cannot be decoded; answered 400, so the platform will repeat it",
			"error", messaging.Scrub(err.Error(), 300), "bytes", len(body))
		return nil, RejectedUndecodable
	case err != nil:
		i.o.Log.Warn("a webhook of the platform was refused", "error", err)
		i.signs.refused(received.UTC(), true)
		return nil, RejectedSignature
	}
	if telling(events) {
		i.signs.app(p.secret, received.UTC())
	}
	return i.queued(events, received, true), ""
}

// platform returns the app whose secret verifies a body, and nil if none does.
func (i *Intake) platform(h http.Header, body []byte, received time.Time) *Platform {
	all := i.platforms()
	for n := range all {
		if p := &all[n]; p.Verifier != nil {
			if _, err := p.Verifier.Verify(h, body, received); err == nil {
				return p
			}
		}
	}
	return nil
}

// signedByPlatform reports whether a request has the platform's own signature header.
func (i *Intake) signedByPlatform(h http.Header) bool {
	return len(i.platforms()) > 0 && h.Get(platformSignature) != ""
}

// platformSignature is the header of the platform's signature (docs/cloud.md#webhooks).
const platformSignature = "X-Hub-Signature-256"
