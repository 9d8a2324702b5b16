package cloud

import (
	"context"
	"errors"
	"net/url"
	"strings"
	"sync"
	"time"

	"campaignd/internal/messaging"
	"campaignd/internal/rawjson"
)

// Shelf keeps the listings of accounts for all processes that share a ledger, so that one process
// asks for all of them: the platform counts management calls by account and app
// (docs/cloud.md#management-calls). It is safe for concurrent use.
type Shelf interface {
	// Listing returns the text that was kept last under a name, and its age; "" if there is none.
	Listing(ctx context.Context, name string) (text string, age time.Duration, err error)
	// KeepListing replaces the text under a name.
	KeepListing(ctx context.Context, name, text string) error
	// DropListings removes the texts whose names begin with prefix.
	DropListings(ctx context.Context, prefix string) error
	// Ask calls do, which asks the platform. It returns ErrAsked without calling do while another
	// process has this turn, and for RestAfter(err) after do failed in any process.
	Ask(ctx context.Context, turn string, do func(context.Context) error) error
}

// ErrAsked means that another process asks for a listing, or that its question failed a moment ago.
var ErrAsked = errors.New("another process asks the Cloud API for this listing, or its question failed a moment ago")

// An account without active numbers may make 200 management calls an hour
// (docs/cloud.md#management-calls). Over all processes of a ledger an account makes at most 12 for
// its numbers, 60 for the templates of messages, and 60 for launches.
const (
	numbersAge  = 5 * time.Minute  // how long a listing of the numbers is used
	layoutAge   = 10 * time.Minute // how long a template by which messages are written is used
	callSpacing = time.Minute      // the least time for each call of the listings of templates
)

// The times for which nobody asks again after a question failed. With 20 s there are at most 180
// calls an hour.
const (
	failedRest    = 20 * time.Second
	throttledRest = 15 * time.Minute
)

// RestAfter is how long nobody asks again after a question failed with err.
func RestAfter(err error) time.Duration {
	if throttled(err) {
		return throttledRest
	}
	return failedRest
}

// throttled reports whether the platform refused because of too many management calls.
func throttled(err error) bool {
	e, ok := errors.AsType[*messaging.Error](err)
	return ok && (e.Platform == 4 || e.Platform == 80007)
}

// question is a listing of an account.
type question struct {
	account, edge string
	query         url.Values
	age           func(calls int) time.Duration // how long an answer that took so many calls is used
	since         time.Time                     // an answer from before is asked for again
	// older reports whether an older listing may be used after err.
	older func(err error) bool
	// waits means that all templates are listed, for a launch: it waits for the listing of another
	// process that asks now.
	waits bool
}

func (q *question) name() string {
	return q.account + "/" + q.edge + "?" + q.query.Encode()
}

// turn names a group of questions. One of a group is asked at a time. All templates of an account
// may have many pages, so messages do not wait for them.
func (q *question) turn() string {
	if q.waits {
		return q.account + " templates"
	}
	return q.account
}

// listing is an answer that was read.
type listing[T any] struct {
	value T
	calls int
	at    time.Time // when the platform was asked, or when the answer was kept; zero: there is none
	tells time.Time // the answer has all that was true then: when the platform was asked, or earlier
	again time.Time // when to ask again
	used  time.Time // when a message or a command needed it last
}

// listings are the answers to questions of one kind, by question.name.
type listings[T any] struct {
	asking chan struct{} // holds an element while a question is asked: one at a time
	mu     sync.Mutex
	by     map[string]listing[T]
}

func (s *listings[T]) get(name string) listing[T] {
	s.mu.Lock()
	defer s.mu.Unlock()
	l, ok := s.by[name]
	if ok {
		l.used = time.Now()
		s.by[name] = l
	}
	return l
}

func (s *listings[T]) keep(name string, l listing[T]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.by == nil {
		s.by = map[string]listing[T]{}
	}
	l.used = time.Now()
	s.by[name] = l
}

// drop deletes the answers whose names begin with prefix.
func (s *listings[T]) drop(prefix string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name := range s.by {
		if strings.HasPrefix(name, prefix) {
			delete(s.by, name)
		}
	}
}

// inUse counts the answers about an account that were needed within layoutAge. It deletes the
// account's other answers.
func (s *listings[T]) inUse(account string) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, l := range s.by {
		switch {
		case !strings.HasPrefix(name, account+"/"):
		case time.Since(l.used) > layoutAge:
			delete(s.by, name)
		default:
			n++
		}
	}
	return n
}

// longListing is how long a launch waits for the templates that another process lists: 60 pages of
// a second each.
const longListing = time.Minute

// lookAgain is how long an older listing is used before it is asked for again.
const lookAgain = 5 * time.Second

// ask answers a question: from this process, else from the shelf, else from the platform. read
// reads the records; its error refuses them. One call asks at a time, and calls that have an older
// listing use it meanwhile, so that a slow platform does not hold up messages.
func ask[T any](ctx context.Context, c *Client, s *listings[T], q question, read func([]rawjson.Value) (T, error)) (T, error) {
	have := s.get(q.name())
	if have.usable(q.since) {
		return have.value, nil
	}
	select {
	case s.asking <- struct{}{}:
	default:
		if !have.at.IsZero() && !q.waits {
			return have.value, nil
		}
		select {
		case s.asking <- struct{}{}:
		case <-ctx.Done():
			return have.value, ctx.Err()
		}
	}
	defer func() { <-s.asking }()
	if have = s.get(q.name()); have.usable(q.since) {
		return have.value, nil
	}
	got, err := fetch(ctx, c, q, read)
	if got.at.After(have.at) {
		have = got
	}
	switch {
	case err == nil:
		have.again = have.at.Add(q.age(have.calls))
	case have.at.IsZero() || !q.older(err):
		return have.value, err
	default:
		have.again = time.Now().Add(lookAgain)
	}
	s.keep(q.name(), have)
	return have.value, nil
}

// fetch takes an answer from the shelf, or asks the platform and puts the answer there. With an
// error, the answer is the last one of the shelf, which is too old.
func fetch[T any](ctx context.Context, c *Client, q question, read func([]rawjson.Value) (T, error)) (l listing[T], err error) {
	until := time.Now().Add(c.o.Timeout)
	if q.waits {
		until = time.Now().Add(longListing)
	}
	for wait := 50 * time.Millisecond; ; wait = min(2*wait, time.Second) {
		if l, err = shelved(ctx, c, q, read); err != nil || fresh(l, q) {
			return l, err
		}
		if err = c.rest(q.turn()); err != nil {
			return l, err
		}
		failed := error(nil)
		err = c.shelf.Ask(ctx, q.turn(), func(ctx context.Context) error {
			// Another process may have asked between the look at the shelf and this turn.
			got, err := shelved(ctx, c, q, read)
			if err != nil || !fresh(got, q) {
				got, failed = asked(ctx, c, q, read)
			}
			if failed == nil {
				l = got
			}
			return failed
		})
		if failed != nil && ctx.Err() == nil {
			c.resting(q.turn(), failed)
		}
		if !errors.Is(err, ErrAsked) || !q.waits && !l.at.IsZero() || time.Now().After(until) {
			return l, err
		}
		select {
		case <-ctx.Done():
			return l, ctx.Err()
		case <-time.After(wait):
		}
	}
}

// usable reports whether the answer is used without a look at the shelf.
func (l listing[T]) usable(since time.Time) bool {
	return time.Now().Before(l.again) && (!l.at.Before(since))
}

// fresh reports whether an answer need not be asked for again.
func fresh[T any](l listing[T], q question) bool {
	return !l.at.IsZero() && time.Since(l.at) < q.age(l.calls) && !l.at.Before(q.since)
}

// shelved reads what the shelf has; the zero listing if it has none that can be read.
func shelved[T any](ctx context.Context, c *Client, q question, read func([]rawjson.Value) (T, error)) (l listing[T], err error) {
	text, age, err := c.shelf.Listing(ctx, c.shelfName(q))
	if err != nil || text == "" {
		return l, err
	}
	v, err := rawjson.Parse([]byte(text))
	if err != nil {
		return l, nil //nolint:nilerr // it is asked for again
	}
	var records []rawjson.Value
	for m := v.Get("data").Members(); m.Next(); {
		records = append(records, m.Val)
	}
	calls, _ := v.Get("calls").Integer()
	value, err := read(records)
	if err != nil {
		return l, nil //nolint:nilerr // as above
	}
	at := time.Now().Add(-age)
	return listing[T]{value: value, calls: int(calls), at: at, tells: at.Add(-c.o.Timeout)}, nil
}

// asked asks the platform, and puts the answer on the shelf.
func asked[T any](ctx context.Context, c *Client, q question, read func([]rawjson.Value) (T, error)) (l listing[T], err error) {
	at := time.Now()
	records, calls, err := c.pages(ctx, q.account, q.account+"/"+q.edge, q.query)
	if err != nil {
		return l, err
	}
	value, err := read(records)
	if err != nil {
		return l, err
	}
	return listing[T]{value: value, calls: calls, at: at, tells: at}, c.shelf.KeepListing(ctx, c.shelfName(q), textOf(records, calls))
}

// shelfName is the name of an answer on the shelf. The host is part of it, because a ledger may
// have been used with the sandbox before.
func (c *Client) shelfName(q question) string {
	return c.shelfPrefix() + q.name()
}

func (c *Client) shelfPrefix() string { return c.base.Host + "/" + c.o.Version + "/" }

// rest returns the error after which nobody takes a turn for now.
func (c *Client) rest(turn string) error {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if f, ok := c.failed[turn]; ok && time.Now().Before(f.until) {
		return f.err
	}
	return nil
}

func (c *Client) resting(turn string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.failed[turn] = failure{err, time.Now().Add(RestAfter(err))}
}

// failure is a question that failed, and until when nobody asks again.
type failure struct {
	err   error
	until time.Time
}

// Unshared is the Shelf of a process that shares nothing.
type Unshared struct{}

// Listing has none.
func (Unshared) Listing(context.Context, string) (string, time.Duration, error) { return "", 0, nil }

// KeepListing keeps none.
func (Unshared) KeepListing(context.Context, string, string) error { return nil }

// DropListings has none to drop.
func (Unshared) DropListings(context.Context, string) error { return nil }

// Ask calls do.
func (Unshared) Ask(ctx context.Context, _ string, do func(context.Context) error) error {
	return do(ctx)
}
