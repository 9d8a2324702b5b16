package webhooks

import (
	"context"
	"crypto/subtle"
	"io"
	"net/http"
	"time"

	"campaignd/internal/messaging"
	"campaignd/internal/messaging/cloud"
)

// Platform is the intake of events that the platform itself posts, for the accounts of one app
// (docs/cloud.md#webhooks). It shares path, queue and commits with the events of the service.
type Platform struct {
	// Verifier has the app's secret. Required.
	Verifier *messaging.Verifier
	// Decode reads the events of a signed body, and tells for which of them the secret vouches. It may
	// ask the platform whose a number is. Required.
	Decode func(ctx context.Context, body []byte) (cloud.Told, error)
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

// openPlatform verifies and decodes a body that the platform signed. With RejectedUnlisted the
// events that count are returned too: they are stored, and the platform posts the body again for
// the sake of the others.
func (i *Intake) openPlatform(ctx context.Context, h http.Header, body []byte, received time.Time) (*queued, Rejection) {
	p := i.platform(h, body, received)
	if p == nil {
		i.signs.refused(received.UTC(), true)
		return nil, RejectedSignature
	}
	told, err := p.Decode(ctx, body)
	if err != nil {
		i.o.Log.Warn("a signed webhook of the platform cannot be decoded; answered 400, so the platform will repeat it",
			"err", messaging.Scrub(err.Error(), 300), "bytes", len(body))
		return nil, RejectedUndecodable
	}
	if telling(told.Events) {
		i.signs.app(p.secret, received.UTC())
	}
	if len(told.Ignored) > 0 {
		i.ignored.add(i.o.Log, received, told.Ignored)
	}
	q := i.queued(told.Events, received, true)
	if len(told.Unlisted) > 0 {
		i.unlisted.say(i.o.Log, received, "events name a number that no listing of their account has yet; "+
			"answered 503, so the platform will repeat them", "numbers", few(told.Unlisted))
		return q, RejectedUnlisted
	}
	return q, ""
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

// platformSignature is the header of the platform's signature.
var platformSignature = cloud.SignatureForm.Header
