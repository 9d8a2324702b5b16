package cloud

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"campaignd/internal/messaging"
)

// shared is a Shelf as the ledger has it, on the clock of the bubble.
type shared struct {
	mu    sync.Mutex
	texts map[string]string
	kept  map[string]time.Time
	until map[string]time.Time // by account: nobody else asks
}

func newShared() *shared {
	return &shared{texts: map[string]string{}, kept: map[string]time.Time{}, until: map[string]time.Time{}}
}

func (s *shared) Listing(_ context.Context, name string) (string, time.Duration, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.texts[name] == "" {
		return "", 0, nil
	}
	return s.texts[name], time.Since(s.kept[name]), nil
}

func (s *shared) KeepListing(_ context.Context, name, text string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.texts[name], s.kept[name] = text, time.Now()
	return nil
}

func (s *shared) DropListings(_ context.Context, prefix string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name := range s.texts {
		if strings.HasPrefix(name, prefix) {
			delete(s.texts, name)
		}
	}
	return nil
}

func (s *shared) Ask(ctx context.Context, account string, do func(context.Context) error) error {
	s.mu.Lock()
	if time.Now().Before(s.until[account]) {
		s.mu.Unlock()
		return ErrAsked
	}
	s.until[account] = time.Now().Add(15 * time.Second)
	s.mu.Unlock()
	err := do(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.until[account] = time.Now(); err != nil {
		s.until[account] = time.Now().Add(RestAfter(err))
	}
	return err
}

// platform answers in 200 ms, and counts the management calls by edge. refuses is the platform's
// code for them; 0: none.
type platform struct {
	mu      sync.Mutex
	calls   map[string]int
	pages   int // of the whole listing of templates
	refuses int
	sent    int
	mixed   int // messages whose button has no place
}

func (p *platform) RoundTrip(r *http.Request) (*http.Response, error) {
	time.Sleep(200 * time.Millisecond)
	p.mu.Lock()
	defer p.mu.Unlock()
	edge := r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]
	answer := func(status int, text string) (*http.Response, error) {
		return &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {"application/json"}},
			Body: io.NopCloser(strings.NewReader(text)), Request: r}, nil
	}
	if edge == "messages" {
		body, _ := io.ReadAll(r.Body)
		if p.sent++; !strings.Contains(string(body), `"index":"1"`) {
			p.mixed++
		}
		return answer(200, `{"messages":[{"id":"wamid.A"}]}`)
	}
	p.calls[edge]++
	if p.refuses != 0 {
		return answer(400, fmt.Sprintf(`{"error":{"message":"x","code":%d}}`, p.refuses))
	}
	if edge == "phone_numbers" {
		return answer(200, `{"data":[{"id":"300000000000001","display_phone_number":"+1 5555550100","status":"CONNECTED"}]}`)
	}
	name, paging := r.URL.Query().Get("name"), ""
	if name == "" {
		p.calls["whole"]++
		page := 1
		fmt.Sscanf(r.URL.Query().Get("after"), "p%d", &page)
		if name = "t0"; page < p.pages {
			paging = fmt.Sprintf(`,"paging":{"next":"x","cursors":{"after":"p%d"}}`, page+1)
		}
	}
	return answer(200, fmt.Sprintf(`{"data":[{"name":%q,"language":"en","status":"APPROVED","components":[{"type":"BUTTONS","buttons":`+
		`[{"type":"QUICK_REPLY","text":"No"},{"type":"URL","text":"Yes","url":"https://example.com/{{1}}"}]}]}]%s}`, name, paging))
}

// replicas are clients that share one shelf, and the platform.
type replicas struct {
	*testing.T
	*platform
	all []*Client
}

func newReplicas(t *testing.T, n int) *replicas {
	r := &replicas{T: t, platform: &platform{calls: map[string]int{}, pages: 1}}
	shelf := newShared()
	for range n {
		c, err := New(Options{BaseURL: "http://127.0.0.1:1", Transport: r.platform,
			Accounts: []Account{{ID: "200000000000001", Token: messaging.NewSecret("t")}}})
		if err != nil {
			t.Fatal(err)
		}
		c.Share(shelf)
		r.all = append(r.all, c)
	}
	return r
}

// work does for d what a process of an unfinished campaign does: it refreshes the numbers each
// minute and sends a message of each template every 5 s. launches is how often it reads all
// templates, for a launch. All replicas begin at one instant, which is the worst.
func (r *replicas) work(d time.Duration, templates int, launches time.Duration) {
	ctx, stop := context.WithTimeout(r.Context(), d)
	defer stop()
	var wg sync.WaitGroup
	every := func(d time.Duration, do func() error) {
		wg.Go(func() {
			for ctx.Err() == nil {
				if err := do(); err != nil && ctx.Err() == nil {
					r.Error(err)
				}
				select {
				case <-ctx.Done():
				case <-time.After(d):
				}
			}
		})
	}
	for _, c := range r.all {
		every(time.Minute, func() error { return second(c.Connections(ctx)) })
		every(time.Minute, func() error { return second(c.Numbers(ctx)) })
		for i := range templates {
			m := &messaging.Message{ConnectionID: "300000000000001", To: "+15555550101", Template: &messaging.Template{
				Name: fmt.Sprintf("t%d", i), Language: "en", Buttons: []messaging.TemplateButton{{Type: "url", Text: "x"}}}}
			every(5*time.Second, func() error { return second(c.Send(ctx, m)) })
		}
		if launches > 0 {
			every(launches, func() error { return second(c.Templates(ctx, "300000000000001")) })
		}
	}
	wg.Wait()
}

func second[T any](_ T, err error) error { return err }

// The platform allows 200 management calls an hour for an account and an app.
func TestReplicasTogetherMakeFewManagementCalls(t *testing.T) {
	for name, c := range map[string]struct {
		replicas, templates, pages int
		launches                   time.Duration
		most                       map[string]int // by edge, with those of the first instant
	}{
		"one campaign":        {4, 1, 1, 0, map[string]int{"phone_numbers": 12, "message_templates": 6, "whole": 0}},
		"one process":         {1, 1, 1, 0, map[string]int{"phone_numbers": 12, "message_templates": 6, "whole": 0}},
		"many templates":      {4, 20, 1, 0, map[string]int{"phone_numbers": 12, "message_templates": 60, "whole": 0}},
		"launches all day":    {4, 1, 1, 5 * time.Second, map[string]int{"phone_numbers": 12, "message_templates": 66, "whole": 60}},
		"thousands templates": {4, 1, 60, time.Minute, map[string]int{"phone_numbers": 12, "message_templates": 66, "whole": 60}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newReplicas(t, c.replicas)
				r.pages = c.pages
				r.work(time.Hour, c.templates, c.launches)
				for edge, most := range c.most {
					if got := r.calls[edge]; got > most {
						t.Errorf("%s: got %d calls in an hour, want at most %d", edge, got, most)
					}
				}
				if got := r.calls["phone_numbers"]; got < 11 {
					t.Errorf("phone_numbers: got %d calls in an hour, want a listing every 5 minutes", got)
				}
				if got := r.calls["message_templates"]; got < 5 {
					t.Errorf("message_templates: got %d calls in an hour, want one every 10 minutes", got)
				}
				if least := c.replicas * c.templates * 600; r.sent < least || r.mixed > 0 {
					t.Errorf("got %d messages, %d without the place of their button; want %d at least, none", r.sent, r.mixed, least)
				}
			})
		})
	}
}

// Too many management calls slow the refresh. Messages go on by the last listings.
func TestThrottledCallsSlowTheRefreshOnly(t *testing.T) {
	for _, code := range []int{4, 80007} {
		synctest.Test(t, func(t *testing.T) {
			r := newReplicas(t, 4)
			r.work(5*time.Minute, 1, 0)
			before := r.sent
			r.calls, r.refuses = map[string]int{}, code
			r.work(time.Hour, 1, 0)
			if got := r.calls["phone_numbers"] + r.calls["message_templates"]; got < 2 || got > 5 {
				t.Errorf("%d: got %d management calls in an hour, want one every 15 minutes", code, got)
			}
			if got := r.sent - before; got < 4*600 || r.mixed > 0 {
				t.Errorf("%d: got %d messages, %d wrong; want one every 5 s from each replica", code, got, r.mixed)
			}
		})
	}
}

// A replica that starts while the platform is away waits, and they together ask three times a
// minute.
func TestReplicasAskSeldomWhileThePlatformIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReplicas(t, 4)
		r.refuses = 2
		until := time.Now().Add(10 * time.Minute)
		var wg sync.WaitGroup
		for _, c := range r.all {
			wg.Go(func() {
				for time.Now().Before(until) {
					if _, err := c.Connections(t.Context()); err == nil {
						t.Error("got a listing, want an error")
					}
					time.Sleep(time.Second)
				}
			})
		}
		wg.Wait()
		if got := r.calls["phone_numbers"]; got < 20 || got > 31 {
			t.Errorf("got %d calls in 10 minutes, want about 30", got)
		}
		r.refuses = 0
		time.Sleep(failedRest)
		if _, err := r.all[0].Connections(t.Context()); err != nil {
			t.Errorf("got %v after the platform is back, want the numbers", err)
		}
	})
}

// The first listing of one replica serves those that ask meanwhile.
func TestReplicasThatStartTogetherAskOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReplicas(t, 6)
		var wg sync.WaitGroup
		for _, c := range r.all {
			wg.Go(func() {
				if _, err := c.Connections(t.Context()); err != nil {
					t.Error(err)
				}
				if _, err := c.Templates(t.Context(), "300000000000001"); err != nil && !errors.Is(err, ErrAsked) {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if n, m := r.calls["phone_numbers"], r.calls["message_templates"]; n != 1 || m != 1 {
			t.Errorf("got %d and %d calls, want one of each kind", n, m)
		}
	})
}
