package operator

import (
	"context"
	"crypto/subtle"
	"errors"
	"net"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"campaignd/campaign"
)

// Caller is who sent a request.
type Caller struct {
	By      string // for the log of actions
	ByKey   bool   // By is a key of the ledger
	Scope   campaign.KeyScope
	Company string // "": all
	Trail   *Trail // of the request; nil: its actions get no result
}

// The reasons for which a request is not admitted.
var (
	ErrUnauthorized = errors.New("no key in force")
	ErrTooMany      = errors.New("too many wrong keys")
)

// The limit on wrong keys: an address may send WrongBurst of them at once, and one more every
// WrongRefill. Wrong keys beyond it are ErrTooMany, and late. A right key is never refused: behind
// a proxy all people have one address, and one of them may guess.
const (
	WrongBurst  = 10
	WrongRefill = 6 * time.Second
	// WrongWait is how late ErrTooMany is.
	WrongWait = time.Second
	// maxLate is how many requests are late at a time; the others are answered at once. It is half of
	// the connections that one address always has at the admin listener, so that the others can come.
	maxLate = 8
	// maxLookups is how many keys are looked up at a time for addresses beyond their limit: a flood
	// leaves the ledger to others.
	maxLookups = 2
	// maxAddresses is the number of addresses with a limit of their own. All others share one limit.
	maxAddresses = 1024
	// maxGood is the number of right keys that are remembered.
	maxGood = 1024
)

// Keyring finds keys in the ledger.
type Keyring interface {
	Key(ctx context.Context, id string) (campaign.OperatorKey, error)
}

// Guard checks the keys of requests. The API and the console of a process share one, so that they
// count wrong keys together.
type Guard struct {
	local  string // the key of client.Access, which has the scope admin
	ledger Keyring

	lookups chan struct{} // has an element for each lookup for an address beyond its limit
	late    chan struct{} // has an element for each wrong key that waits

	mu    sync.Mutex
	wrong map[string]*rate.Limiter // by address; "" for all others
	good  map[string]bool          // ids of keys that were right before; they are looked up again for each request
}

// NewGuard makes a Guard. local opens as a user of this machine; "": only keys of the ledger do.
func NewGuard(local string, l Keyring) *Guard {
	return &Guard{local: local, ledger: l, lookups: make(chan struct{}, maxLookups), late: make(chan struct{}, maxLate),
		wrong: map[string]*rate.Limiter{}, good: map[string]bool{}}
}

// Admit returns who has the secret. remote is the address of the request, with its port. The error
// is ErrUnauthorized, ErrTooMany, or one of the ledger. An empty secret guesses no key.
func (g *Guard) Admit(ctx context.Context, remote, secret string) (Caller, error) {
	who, _, err := g.admit(ctx, remote, secret)
	return who, err
}

// admit is Admit that also returns the id of the key; "": the secret is the local one.
func (g *Guard) admit(ctx context.Context, remote, secret string) (who Caller, id string, err error) {
	if secret == "" {
		return Caller{}, "", ErrUnauthorized
	}
	if g.local != "" && subtle.ConstantTimeCompare([]byte(secret), []byte(g.local)) == 1 {
		return localCaller(), "", nil
	}
	address := addressOf(remote)
	id, isKey := SecretID(secret)
	if isKey && g.ledger != nil {
		var k campaign.OperatorKey
		err := g.inTurn(ctx, address, id, func() (err error) {
			k, err = g.ledger.Key(ctx, id)
			return err
		})
		switch {
		case err == nil && Opens(k, secret):
			g.remember(id)
			return callerOf(k), id, nil
		case err != nil && !errors.Is(err, campaign.ErrNoKey):
			return Caller{}, "", err
		}
	}
	return Caller{}, "", g.failed(ctx, address)
}

// localCaller is the user of this machine, who can change the ledger itself.
func localCaller() Caller { return Caller{By: LocalUser(), Scope: campaign.KeyAdmin} }

func callerOf(k campaign.OperatorKey) Caller {
	return Caller{By: "key " + k.ID + " (" + k.Name + ")", ByKey: true, Scope: k.Scope, Company: k.Company}
}

// For returns the session of a caller.
func (p *Process) For(who Caller) *Session {
	d := p.Session
	d.By, d.ByKey, d.Company, d.Trail = who.By, who.ByKey, who.Company, who.Trail
	return &d
}

// addressOf is an address without its port.
func addressOf(remote string) string {
	host, _, err := net.SplitHostPort(remote)
	if err != nil {
		return remote
	}
	return host
}

// inTurn calls lookUp, which asks the ledger. For an address beyond its limit at most maxLookups
// run at a time, unless the key with this id was right before.
func (g *Guard) inTurn(ctx context.Context, address, id string, lookUp func() error) error {
	g.mu.Lock()
	free := g.good[id] || g.limiter(address).Tokens() >= 1
	g.mu.Unlock()
	if free {
		return lookUp()
	}
	select {
	case g.lookups <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-g.lookups }()
	return lookUp()
}

// limiter returns the limit of an address. The caller has the lock.
func (g *Guard) limiter(address string) *rate.Limiter {
	if l, ok := g.wrong[address]; ok {
		return l
	}
	if len(g.wrong) >= maxAddresses {
		for a, l := range g.wrong {
			if l.Tokens() >= WrongBurst { // the limit is full again
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
	l := rate.NewLimiter(rate.Every(WrongRefill), WrongBurst)
	g.wrong[address] = l
	return l
}

// failed counts a wrong key, and returns its error: late, if the address is beyond its limit.
func (g *Guard) failed(ctx context.Context, address string) error {
	g.mu.Lock()
	allowed := g.limiter(address).Allow()
	g.mu.Unlock()
	if allowed {
		return ErrUnauthorized
	}
	select {
	case g.late <- struct{}{}:
		defer func() { <-g.late }()
		select {
		case <-time.After(WrongWait):
		case <-ctx.Done():
		}
	default:
	}
	return ErrTooMany
}

// remember notes the id of a right key.
func (g *Guard) remember(id string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.good) >= maxGood {
		clear(g.good)
	}
	g.good[id] = true
}
