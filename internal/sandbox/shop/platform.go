package shop

import (
	"cmp"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"campaignd/internal/sandbox/draw"
	"campaignd/internal/sandbox/shop/records"
	"campaignd/internal/sandbox/shop/scenario"
	"campaignd/internal/sandbox/shop/value"
)

// Options say how a platform runs. The zero value works.
type Options struct {
	// Seed decides ids, generated records and faults.
	Seed uint64
	// RetrySchedule are the waits before each retry of an event that was not answered 2xx. Default:
	// no retry.
	RetrySchedule []time.Duration
	// WebhookTimeout is the longest time of one delivery. Default 10 s.
	WebhookTimeout time.Duration
	// Transport posts the events. Default: one of its own.
	Transport http.RoundTripper
	// Log gets the faults of the platform itself. Default: discarded.
	Log *slog.Logger
}

// Platform emulates the commerce platform. Make one with New and serve it as an http.Handler. It is
// safe for concurrent use.
type Platform struct {
	opt    Options
	mode   string
	limit  scenario.RateLimit
	routes []route
	faults atomic.Pointer[scenario.Faults]
	asked  atomic.Uint64 // requests, for the draws of the faults

	firedMu sync.Mutex
	fired   map[string]int64 // faults, by name

	mu        sync.RWMutex // held by ServeHTTP for a whole request; guards all below
	serial    uint64       // of newID
	room      records.Room // of the records of all companies
	companies []*company
	company   map[string]*company
	keys      map[string]*credential // by API key
	publics   map[string]*credential // by public key
	tokens    map[string]*credential // access tokens and customer tokens
	apps      map[string]*app        // by client_id
	resets    map[string]*customer   // by token of a password reset
}

// credential is what an API key, a public key or a token stands for.
type credential struct {
	company  *company
	kind     right         // the right that it gives
	customer string        // id, of a customer token
	key      *scenario.Key // of an API key and a public key
}

// app is an App with the codes that are left.
type app struct {
	scenario.App
	codes map[string]*company
}

// New makes a platform. It checks the scenario first; the error is then a *Flaw.
func New(sc scenario.Commerce, opt Options) (*Platform, error) {
	if err := sc.Validate(); err != nil {
		return nil, err
	}
	opt.WebhookTimeout = cmp.Or(opt.WebhookTimeout, 10*time.Second)
	if opt.Transport == nil {
		opt.Transport = &http.Transport{MaxIdleConnsPerHost: 4, IdleConnTimeout: time.Minute} // post has a time-out
	}
	if opt.Log == nil {
		opt.Log = slog.New(slog.DiscardHandler)
	}
	p := &Platform{
		opt: opt, mode: sc.Mode, limit: sc.RateLimit, routes: routes(), company: map[string]*company{}, fired: map[string]int64{},
		keys: map[string]*credential{}, publics: map[string]*credential{}, tokens: map[string]*credential{},
		apps: map[string]*app{}, resets: map[string]*customer{},
	}
	p.faults.Store(&sc.Faults)
	for _, c := range sc.Companies {
		if err := p.addCompany(c); err != nil {
			return nil, err
		}
	}
	for _, a := range sc.Apps {
		live := &app{App: a, codes: map[string]*company{}}
		for _, c := range a.Codes {
			live.codes[c.Code] = p.company[c.Company]
		}
		p.apps[a.ClientID] = live
	}
	return p, nil
}

// now is the instant of a change, in microseconds, as answers show it.
func (p *Platform) now() value.Stamp {
	return value.Stamp{Time: time.Now().UTC().Truncate(time.Microsecond)}
}

// newID is an id that the platform has not given before.
func (p *Platform) newID() string {
	p.serial++
	return value.ULID(time.Now(), draw.Mix(p.opt.Seed, p.serial), 1<<49|p.serial)
}
