package sandbox

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"campaignd/internal/sandbox/area"
	"campaignd/internal/sandbox/arrival"
	"campaignd/internal/sandbox/draw"
	"campaignd/internal/sandbox/shop"
	"campaignd/internal/sandbox/shop/scenario"
)

// maxConnections is the largest number of connections: pairKey has 14 bits for a connection.
const maxConnections = 1 << 14

// Sandbox emulates the service. Make one with New, serve it as an http.Handler, and call Run, which
// delivers the webhooks. It is safe for concurrent use.
type Sandbox struct {
	opt   Options
	boot  uint64    // makes the ids of two sandboxes differ
	began time.Time // when New ran
	keys  map[string]*Key
	named map[uint64]Recipient // StatusProfile.Recipients by phone number

	connections []*connection
	connection  map[string]*connection
	companies   []*company
	company     map[string]*company
	plan        *plan // of the account

	faults   atomic.Pointer[Faults]
	fired    [faultCount]atomic.Int64
	requests atomic.Uint64
	noPlus   atomic.Int64 // POSTs whose `to` did not begin with +
	forgedOK atomic.Int64 // forged webhooks that were answered 2xx

	mu       sync.Mutex // guards the fields up to serial, and the fields of connection, company and template that change
	records  records
	pairs    map[uint64]pair   // by connection and recipient
	optedOut map[uint64]OptOut // by company and recipient
	stopped  map[uint64]bool   // by company and recipient, after a stop in user_preferences
	openFrom map[uint64]bool   // recipients of Options.WindowOpen
	areas    *area.Areas
	fresh    []int            // numbers of the extras that the areas posted
	extras   []*extra         // events that are not statuses
	refused  map[string]int64 // answers by error
	coded    map[int]int64    // Faults.Refusals that fired, by code
	steps    []Step           // steps of the timeline that wait for AfterMessages
	serial   map[string]int   // last number of an uploaded file of the Cloud API
	uploads  map[string]*uploadSession

	routes   routes         // of the operations
	mux      *http.ServeMux // the control paths
	commerce *shop.Platform

	shards  []*shard
	pending atomic.Int64 // scheduled webhooks that are neither answered 2xx nor given up
	settled *sync.Cond
	running atomic.Bool
	closed  chan struct{}
	close   sync.Once
}

// pair is one connection and one recipient.
type pair struct {
	posts, accepted uint32
	tat             int64 // theoretical arrival time of the cell rate algorithm, Unix nanoseconds
	inbound         int64 // the recipient's last message, Unix nanoseconds; 0: never
}

// connection is a Connection with its counts.
type connection struct {
	Connection
	number    int
	phone     uint64
	limit     int // messages in a sliding second
	company   *company
	portfolio *portfolio
	arrivals  arrival.Second // every POST
	taken     arrival.Second // accepted and inbound messages, which the throughput limits
	posts     int64
	accepted  int64
	last      string // messageId of the last accepted message
}

// company is a Company with its plan.
type company struct {
	Company
	number  int
	plan    *plan
	account string // the state of its account at the platform: "", active, locked or unpaid
}

// New makes a sandbox. An error names the option with the wrong value.
func New(opt Options) (*Sandbox, error) {
	opt, err := opt.withDefaults()
	if err != nil {
		return nil, err
	}
	now := time.Now()
	s := &Sandbox{
		opt: opt, began: now, boot: draw.Mix(opt.Seed, uint64(now.UnixNano())),
		keys: map[string]*Key{}, named: map[uint64]Recipient{},
		connection: map[string]*connection{}, company: map[string]*company{},
		pairs: map[uint64]pair{}, optedOut: map[uint64]OptOut{}, stopped: map[uint64]bool{}, openFrom: map[uint64]bool{},
		refused: map[string]int64{}, coded: map[int]int64{}, serial: map[string]int{},
		settled: sync.NewCond(&sync.Mutex{}), closed: make(chan struct{}),
	}
	s.faults.Store(&opt.Faults)
	for range opt.WebhookWorkers {
		s.shards = append(s.shards, newShard())
	}
	s.mux = s.controls()
	if err := s.populate(); err != nil {
		return nil, err
	}
	s.routes = newRoutes(s.handlers())
	for _, st := range opt.Timeline {
		if st.AfterMessages > 0 {
			s.steps = append(s.steps, st)
		}
	}
	if opt.WebhookURL != "" {
		if _, err := s.areas.Register(opt.WebhookURL, opt.WebhookSecret, nil, ""); err != nil {
			return nil, err
		}
	}
	if s.opt.Transport == nil {
		s.opt.Transport = &http.Transport{
			Proxy:               http.ProxyFromEnvironment,
			MaxIdleConns:        0, // no limit over all hosts; the workers are the limit
			MaxIdleConnsPerHost: opt.WebhookWorkers,
			IdleConnTimeout:     90 * time.Second,
			DisableCompression:  true,
		}
	}
	if s.commerce, err = s.openShop(); err != nil {
		return nil, err
	}
	return s, nil
}

// openShop makes the commerce platform of the scenario, or the demo shop.
func (s *Sandbox) openShop() (*shop.Platform, error) {
	section := scenario.Demo()
	if s.opt.Commerce != nil {
		section = *s.opt.Commerce
	}
	return shop.New(section, shop.Options{
		Seed: s.opt.Seed, RetrySchedule: s.opt.RetrySchedule, WebhookTimeout: s.opt.WebhookTimeout,
		Transport: s.opt.Transport, Log: s.opt.Log,
	})
}

// pairKey packs a connection or company (14 bits) and a phone number (15 digits, 50 bits) into one
// integer.
func pairKey(number int, to uint64) uint64 { return uint64(number)<<50 | to }

// Run delivers webhooks and follows the timeline until ctx ends or Close is called. It returns when
// its goroutines have ended. The webhooks that are not delivered stay pending, and a later Run
// delivers them. A second Run at the same time is an error.
func (s *Sandbox) Run(ctx context.Context) error {
	if !s.running.CompareAndSwap(false, true) {
		return errors.New("sandbox: already running")
	}
	defer s.running.Store(false)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var wg sync.WaitGroup
	for _, sh := range s.shards {
		wg.Go(func() { s.work(ctx, sh) })
	}
	wg.Go(func() { s.follow(ctx) })
	wg.Go(func() { s.runPlans(ctx) })
	wg.Go(func() { _ = s.commerce.Run(ctx) }) // it returns only the error of ctx
	select {
	case <-ctx.Done():
	case <-s.closed:
	}
	cancel()
	wg.Wait()
	if t, ok := s.opt.Transport.(interface{ CloseIdleConnections() }); ok {
		t.CloseIdleConnections()
	}
	return nil
}

// Close ends Run and every wait of a request that is being served. It does not block.
func (s *Sandbox) Close() error {
	s.close.Do(func() { close(s.closed) })
	return nil
}

// Pending is the number of webhooks that are scheduled, wait for a retry or are being posted.
func (s *Sandbox) Pending() int { return int(s.pending.Load()) }

// Settle blocks until no webhook is pending, or ctx ends. Run has to be running.
func (s *Sandbox) Settle(ctx context.Context) error {
	stop := context.AfterFunc(ctx, func() {
		s.settled.L.Lock()
		s.settled.Broadcast()
		s.settled.L.Unlock()
	})
	defer stop()
	s.settled.L.Lock()
	defer s.settled.L.Unlock()
	for s.pending.Load() > 0 {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		s.settled.Wait()
	}
	return nil
}

// done counts n webhooks as answered or given up.
func (s *Sandbox) done(n int) {
	if s.pending.Add(-int64(n)) == 0 {
		s.settled.L.Lock()
		s.settled.Broadcast()
		s.settled.L.Unlock()
	}
}

// sleep waits for d, or until ctx ends or the sandbox is closed.
func (s *Sandbox) sleep(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	case <-s.closed:
	}
}

func (s *Sandbox) event(e Event) {
	if s.opt.OnEvent != nil {
		s.opt.OnEvent(e)
	}
}
