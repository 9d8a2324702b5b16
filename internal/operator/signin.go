package operator

import (
	"context"
	"errors"
	"fmt"
	"time"

	"campaignd/campaign"
	"campaignd/internal/client/resource"
)

// How long a sign-in to the console lasts, and how long without a request. A token of
// `campaignd console` makes a session for onceFor.
const (
	SessionFor  = 12 * time.Hour
	SessionIdle = time.Hour
	onceFor     = time.Minute
	// noteEvery is how exactly the ledger knows the latest request of a session.
	noteEvery = time.Minute
)

// sessionBytes are 256 bits: nobody can try them all, so a fast hash is right, as for keys.
const sessionBytes = 32

// SignIn exchanges the secret of a key for that of a session of a browser, which the ledger keeps
// as a hash. Its errors are those of Guard.Admit. Wrong keys count there.
func (p *Process) SignIn(ctx context.Context, remote, secret string) (session string, err error) {
	who, id, err := p.Guard.admit(ctx, remote, secret)
	if err != nil {
		return "", err
	}
	return p.For(who).begin(ctx, id, false)
}

// SignInOnce is SignIn with a token of ConsoleToken. A token that was used or is too old is
// ErrUnauthorized, and counts as a wrong key.
func (p *Process) SignInOnce(ctx context.Context, remote, token string) (session string, err error) {
	address, hash := addressOf(remote), hashOf(token)
	var s campaign.BrowserSession
	err = p.Guard.inTurn(ctx, address, "", func() (err error) {
		if s, err = p.Session.Ledger.Session(ctx, hash); err == nil && s.Once {
			s, err = p.Session.Ledger.TakeSession(ctx, hash)
		}
		return err
	})
	if err != nil && !errors.Is(err, campaign.ErrNoSession) {
		return "", err
	}
	if err != nil || !s.Once || time.Since(s.CreatedAt) >= onceFor {
		return "", p.Guard.failed(ctx, address)
	}
	who, err := p.callerOfSession(ctx, s)
	if err != nil {
		return "", err
	}
	return p.For(who).begin(ctx, s.Key, false)
}

// ConsoleToken returns a token that signs in to the console once, within a minute. The operator is
// a user of the machine of the ledger.
func (d *Session) ConsoleToken(ctx context.Context) (string, error) { return d.begin(ctx, "", true) }

// begin stores a new session and returns its secret.
func (d *Session) begin(ctx context.Context, key string, once bool) (secret string, err error) {
	secret, now := random(sessionBytes), time.Now().UTC()
	s := campaign.BrowserSession{Hash: hashOf(secret), Key: key, By: d.By, Once: once, CreatedAt: now, SeenAt: now}
	if !once {
		if err := d.note(ctx, "console sign-in", sessionID(s), ""); err != nil {
			return "", err
		}
	}
	return secret, d.Ledger.AddSession(ctx, s, d.Expiry.Before(SessionFor))
}

// sessionID names a session in lists and in the log of actions. It opens nothing.
func sessionID(s campaign.BrowserSession) string { return s.Hash[:8] }

// Visitor returns who the secret of a session belongs to. A session that ended, or whose key was
// revoked, is ErrUnauthorized.
func (p *Process) Visitor(ctx context.Context, secret string) (Caller, error) {
	if len(secret) != 2*sessionBytes {
		return Caller{}, ErrUnauthorized
	}
	s, err := p.Session.Ledger.Session(ctx, hashOf(secret))
	now := time.Now()
	switch {
	case errors.Is(err, campaign.ErrNoSession), err == nil && (s.Once || ended(s, now)):
		return Caller{}, ErrUnauthorized
	case err != nil:
		return Caller{}, err
	}
	who, err := p.callerOfSession(ctx, s)
	if err == nil && now.Sub(s.SeenAt) >= noteEvery {
		err = p.Session.Ledger.SeeSession(ctx, s.Hash, now)
	}
	return who, err
}

// ended reports whether a session has lasted long enough, or has been idle.
func ended(s campaign.BrowserSession, now time.Time) bool {
	return now.Sub(s.CreatedAt) >= SessionFor || now.Sub(s.SeenAt) >= SessionIdle
}

// callerOfSession looks up the key of a session, so that its scope is that of now.
func (p *Process) callerOfSession(ctx context.Context, s campaign.BrowserSession) (Caller, error) {
	if s.Key == "" {
		who := localCaller()
		who.By = s.By
		return who, nil
	}
	k, err := p.Session.Ledger.Key(ctx, s.Key)
	if errors.Is(err, campaign.ErrNoKey) || err == nil && !k.RevokedAt.IsZero() {
		err = ErrUnauthorized
	}
	return callerOf(k), err
}

// SignOut ends the session of a secret. A session that is not there is no error.
func (p *Process) SignOut(ctx context.Context, secret string) error {
	_, err := p.Session.Ledger.TakeSession(ctx, hashOf(secret))
	if errors.Is(err, campaign.ErrNoSession) {
		return nil
	}
	return err
}

// Browsers lists the sessions that are signed in to the console, the newest first.
func (d *Session) Browsers(ctx context.Context) ([]resource.Browser, error) {
	if d.Company != "" {
		return nil, fmt.Errorf("%w: sessions are of every company", ErrForbidden)
	}
	all, err := d.Ledger.Sessions(ctx)
	if err != nil {
		return nil, err
	}
	keys, err := d.Ledger.Keys(ctx)
	inForce := map[string]bool{"": true}
	for _, k := range keys {
		inForce[k.ID] = k.RevokedAt.IsZero()
	}
	now, out := time.Now(), []resource.Browser{}
	for _, s := range all {
		if !s.Once && !ended(s, now) && inForce[s.Key] {
			out = append(out, resource.Browser{ID: sessionID(s), By: s.By, CreatedAt: s.CreatedAt, SeenAt: s.SeenAt})
		}
	}
	return out, err
}
