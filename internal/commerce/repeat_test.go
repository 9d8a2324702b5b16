package commerce

import (
	"context"
	"errors"
	"io"
	"math"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// answers gives its answers one after the other, and the last one for ever.
type answers struct {
	list  []func() (*http.Response, error)
	times []time.Time
}

func (a *answers) RoundTrip(*http.Request) (*http.Response, error) {
	n := min(len(a.times), len(a.list)-1)
	a.times = append(a.times, time.Now())
	return a.list[n]()
}

func status(code int, body string, header ...string) func() (*http.Response, error) {
	return func() (*http.Response, error) { return response(code, body, header...), nil }
}

func broken(err error) func() (*http.Response, error) {
	return func() (*http.Response, error) { return nil, err }
}

var refusedConnection = &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("connection refused")}

func TestAReadIsRepeatedAndNoOtherRequest(t *testing.T) {
	const company, link = `{"id":"x","name":"Acme"}`, `{"url":"https://shop.example/pay/x"}`
	for _, test := range []struct {
		name          string
		first         func() (*http.Response, error)
		reads, writes int  // requests of a read, and of a POST that moves something
		link          bool // whether a payment link is asked for again
	}{
		{"refused connection", broken(refusedConnection), 2, 1, true},
		{"cut answer", broken(io.ErrUnexpectedEOF), 2, 1, true},
		{"502", status(502, ""), 2, 1, true},
		{"503", status(503, ""), 2, 1, true},
		{"504", status(504, ""), 2, 1, true},
		{"429", status(429, ""), 2, 1, true},
		{"500", status(500, ""), 1, 1, false},
		{"500 with status error", status(500, `{"code":500,"data":null,"message":"x","status":"error"}`), 1, 1, false},
		{"501", status(501, ""), 1, 1, false},
		{"408", status(408, ""), 1, 1, false},
		{"302", status(302, "", "Location", "https://other.example/"), 1, 1, false},
		{"404", status(404, ""), 1, 1, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			count := func(last string, do func(*Client) error) int {
				a := &answers{list: []func() (*http.Response, error){test.first, status(200, last)}}
				_ = do(through(t, a.RoundTrip, Options{})) // the number of requests is compared
				return len(a.times)
			}
			ctx := t.Context()
			reads := count(company, func(c *Client) error { _, err := c.Company(ctx); return err })
			writes := count(`[]`, func(c *Client) error { _, err := c.AutomaticDiscounts(ctx, Customer{ID: "a"}); return err })
			exchanges := count(`{"access_token":"t"}`, func(c *Client) error { _, err := c.Exchange(ctx, Application{}, c.o.APIKey); return err })
			links := count(link, func(c *Client) error { _, err := c.PaymentLink(ctx, LinkRequest{Order: "o"}); return err })
			wantLinks := 1
			if test.link {
				wantLinks = 2
			}
			if reads != test.reads || writes != test.writes || exchanges != 1 || links != wantLinks {
				t.Errorf("%s: got %d, %d, %d and %d requests, want %d for a read, %d for discounts, 1 for a token, %d for a link",
					test.name, reads, writes, exchanges, links, test.reads, test.writes, wantLinks)
			}
		})
	}
}

func TestARequestIsTriedFiveTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &answers{list: []func() (*http.Response, error){status(503, "", "Retry-After", "7")}}
		_, err := through(t, a.RoundTrip, Options{}).Company(t.Context())
		if e := fault(t, err); e.Code != CodeServer || !e.Temporary() || e.Wait != 7*time.Second || len(a.times) != 5 {
			t.Errorf("got %v after %d tries, want a temporary server_error after 5", err, len(a.times))
		}
		for i := 1; i < len(a.times); i++ {
			if got := a.times[i].Sub(a.times[i-1]); got < 7*time.Second || got > 8*time.Second {
				t.Errorf("try %d: got %v after the one before, want the Retry-After of 7s", i, got)
			}
		}
		a = &answers{list: []func() (*http.Response, error){status(503, "", "Retry-After", "3600")}}
		began := time.Now()
		_, err = through(t, a.RoundTrip, Options{}).Company(t.Context())
		if took := time.Since(began); len(a.times) != 1 || took > time.Second || fault(t, err).Wait != time.Hour {
			t.Errorf("a Retry-After of an hour: got %d requests in %v, want one, and no wait", len(a.times), took)
		}
	})
}

// A Retry-After that nobody can mean is a wait of an hour, and the error names it.
func TestARetryAfterIsBounded(t *testing.T) {
	for value, want := range map[string]time.Duration{
		"99999999999999999999": time.Hour, "4294967296": time.Hour, "3601": time.Hour, "3600": time.Hour, "3599": 3599 * time.Second,
		"18446744073709551615": time.Hour, "": 0, "-1": 0, "soon": 0, "Fri, 31 Dec 9999 23:59:59 GMT": time.Hour,
	} {
		if got := retryAfter(http.Header{"Retry-After": {value}}, time.Now()); got != want {
			t.Errorf("Retry-After %q: got %v, want %v", value, got, want)
		}
	}
	e := &Error{Code: CodeRateLimited, Status: 429, Wait: time.Hour}
	if !strings.Contains(e.Error(), "Retry-After 1h0m0s") {
		t.Errorf("got %q, want the wait", e)
	}
}

func TestA429UsesUpNoTryForTwoMinutes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		list := make([]func() (*http.Response, error), 0, 14)
		for range 12 {
			list = append(list, status(429, "", "Retry-After", "10"))
		}
		list = append(list, status(200, `{"id":"x"}`))
		a := &answers{list: list}
		if _, err := through(t, a.RoundTrip, Options{}).Company(t.Context()); err != nil || len(a.times) != 13 {
			t.Errorf("12 times 429 within 2 minutes: got %v after %d requests, want an answer after 13", err, len(a.times))
		}
		a = &answers{list: list[:1]}
		began := time.Now()
		_, err := through(t, a.RoundTrip, Options{}).Company(t.Context())
		if e := fault(t, err); e.Code != CodeRateLimited || len(a.times) != 12+maxTries || time.Since(began) > 4*time.Minute {
			t.Errorf("429 for ever: got %v after %d requests in %v, want rate_limited after 17", err, len(a.times), time.Since(began))
		}
	})
}

// A storm of 429 halves the rate for each request that began after the last halving; it comes back
// in steps.
func TestTheRateHalvesAndRecovers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		storm := true
		var times []time.Time
		c := through(t, func(*http.Request) (*http.Response, error) {
			times = append(times, time.Now())
			if storm {
				return response(429, ""), nil
			}
			return response(200, `{"id":"x"}`), nil
		}, Options{Rate: 10})
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer cancel()
		if _, err := c.Company(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want the end of the caller's time", err)
		}
		if got := c.Rate(); got != 5 {
			t.Errorf("after one 429: got %v requests per second, want 5", got)
		}
		ctx, cancel = context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, _ = c.Company(ctx) // ends with the caller's time
		if got, want := c.Rate(), 10/32.; got != want {
			t.Errorf("after a minute of 429: got %v requests per second, want the least, %v", got, want)
		}
		storm, times = false, nil
		began := time.Now()
		for c.Rate() < 10 && len(times) < 1000 {
			if _, err := c.Company(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if took := time.Since(began); len(times) < 40 || len(times) > 60 || took > time.Minute {
			t.Errorf("got the rate back after %d answers in %v, want about 50 answers in less than a minute", len(times), took)
		}
		if got := c.Rate(); got != 10 {
			t.Errorf("got %v requests per second, want no more than the 10 of the options", got)
		}
		times = nil
		for range 21 {
			if _, err := c.Company(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if took := times[20].Sub(times[0]); math.Abs(took.Seconds()-2) > 0.2 {
			t.Errorf("got 20 requests in %v, want 2s: 10 per second again", took)
		}
	})
}

func TestRequestsUnderWayHalveTheRateOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPace(8, through(t, nil, Options{}).o.Log)
		began := time.Now()
		time.Sleep(time.Second)
		for range 5 {
			p.throttled(began, 0)
		}
		if got := p.current(); got != 4 {
			t.Errorf("got %v requests per second, want 4: the five began before the first answer", got)
		}
	})
}

func TestAnExchangeEndsInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := 0
		c := through(t, func(r *http.Request) (*http.Response, error) {
			n++
			<-r.Context().Done()
			return nil, r.Context().Err()
		}, Options{})
		began := time.Now()
		_, err := c.AutomaticDiscounts(t.Context(), Customer{ID: "a"})
		if e := fault(t, err); e.Code != CodeTimeOut || time.Since(began) != 10*time.Second || n != 1 {
			t.Errorf("got %v after %v and %d requests, want time_out after 10s and one", err, time.Since(began), n)
		}
		if _, err := c.Company(t.Context()); fault(t, err).Code != CodeTimeOut || n != 1+maxTries {
			t.Errorf("a read: got %v after %d requests, want time_out after 5", err, n-1)
		}
	})
}
