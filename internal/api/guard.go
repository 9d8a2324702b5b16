package api

import (
	"context"
	"crypto/subtle"
	"errors"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"campaignd/campaign"
	"campaignd/internal/client"
	"campaignd/internal/operator"
)

// caller is who sent a request.
type caller struct {
	by      string // for the log of actions
	key     bool   // by is a key of the ledger
	scope   campaign.KeyScope
	company string // "": all
}

// The limit on wrong keys: an address may send burst of them at once, and one more every refill.
// After that, the guard looks up no key from that address, unless the key was right before.
const (
	wrongBurst  = 10
	wrongRefill = 6 * time.Second
	// maxAddresses is the number of addresses with a limit of their own. All others share one limit.
	maxAddresses = 1024
	// maxGood is the number of right keys that are remembered.
	maxGood = 1024
)

// keyring finds keys in the ledger.
type keyring interface {
	Key(ctx context.Context, id string) (campaign.OperatorKey, error)
}

// guard checks the keys of requests.
type guard struct {
	local  string // the key of client.Access, which has the scope admin
	ledger keyring

	mu    sync.Mutex
	wrong map[string]*rate.Limiter // by address; "" for all others
	good  map[string]bool          // ids of keys that were right before; they are looked up again for each request
}

func newGuard(local string, l keyring) *guard {
	return &guard{local: local, ledger: l, wrong: map[string]*rate.Limiter{}, good: map[string]bool{}}
}

// admit returns who sent the request.
func (g *guard) admit(ctx context.Context, r *http.Request) (caller, error) {
	// The scheme may be in any case (RFC 9110, section 11.1).
	scheme, secret, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	bearer, secret := strings.EqualFold(scheme, "Bearer"), strings.Trim(secret, " ")
	if !bearer || secret == "" { // it guesses no key
		return caller{}, noKey()
	}
	if g.local != "" && subtle.ConstantTimeCompare([]byte(secret), []byte(g.local)) == 1 {
		return caller{by: operator.LocalUser(), scope: campaign.KeyAdmin}, nil
	}
	address := addressOf(r)
	id, isKey := operator.SecretID(secret)
	if !g.mayAsk(address, id) {
		return caller{}, &Error{http.StatusTooManyRequests, client.CodeTooMany,
			"too many wrong keys from this address; wait before the next one", nil}
	}
	if isKey && g.ledger != nil {
		k, err := g.ledger.Key(ctx, id)
		switch {
		case err == nil && operator.Opens(k, secret):
			g.remember(id)
			return caller{by: "key " + k.ID + " (" + k.Name + ")", key: true, scope: k.Scope, company: k.Company}, nil
		case err != nil && !errors.Is(err, campaign.ErrNoKey):
			return caller{}, err
		}
	}
	g.failed(address)
	return caller{}, noKey()
}

func noKey() error {
	return &Error{http.StatusUnauthorized, client.CodeUnauthorized,
		"no key in force was given: want the header Authorization: Bearer KEY, with a key of `campaignd keys create`", nil}
}

// addressOf is the caller's address without its port.
func addressOf(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}

// mayAsk reports whether a key from an address is looked up.
func (g *guard) mayAsk(address, id string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.good[id] || g.limiter(address).Tokens() >= 1
}

// limiter returns the limit of an address. The caller has the lock.
func (g *guard) limiter(address string) *rate.Limiter {
	if l, ok := g.wrong[address]; ok {
		return l
	}
	if len(g.wrong) >= maxAddresses {
		for a, l := range g.wrong {
			if l.Tokens() >= wrongBurst { // the limit is full again
				delete(g.wrong, a)
			}
		}
	}
	if len(g.wrong) >= maxAddresses {
		if l, ok := g.wrong[""]; ok {
			return l
		}
		address = ""
	}
	l := rate.NewLimiter(rate.Every(wrongRefill), wrongBurst)
	g.wrong[address] = l
	return l
}

// failed counts a wrong key.
func (g *guard) failed(address string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.limiter(address).Allow()
}

// remember notes the id of a right key.
func (g *guard) remember(id string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.good) >= maxGood {
		clear(g.good)
	}
	g.good[id] = true
}
