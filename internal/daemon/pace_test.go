package daemon

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/internal/messaging"
	"campaignd/internal/sandbox"
	"campaignd/throttle/throttletest"
)

// deaf forwards to the service, and fails GET /api/v1/numbers while away is set.
func deaf(t *testing.T, service http.Handler) (base string, away *atomic.Bool, posts *atomic.Int64) {
	t.Helper()
	inner := httptest.NewServer(service)
	t.Cleanup(inner.Close)
	to, err := url.Parse(inner.URL)
	if err != nil {
		t.Fatal(err)
	}
	away, posts = new(atomic.Bool), new(atomic.Int64)
	forward := httputil.NewSingleHostReverseProxy(to)
	outer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/api/v1/numbers" && away.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		if r.URL.Path == "/api/v1/messages" {
			posts.Add(1)
		}
		forward.ServeHTTP(w, r)
	}))
	t.Cleanup(outer.Close)
	return outer.URL, away, posts
}

// While the service cannot be asked for a number's pace, nothing is sent over it; `why` says so,
// and the run goes on within seconds of the answer.
func TestAnUnknownPaceSendsNothing(t *testing.T) {
	c := newCluster(t, "STANDARD", 15*time.Second)
	cfg := *c.config
	base, away, posts := deaf(t, c.service)
	away.Store(true)
	cfg.Service.BaseURL = base
	cfg.Ledger = "sqlite:" + filepath.Join(c.dir, "pace.db")
	cfg.Listen.Public, cfg.Webhooks.Secrets = "127.0.0.1:0", []messaging.Secret{messaging.NewSecret(sandbox.DemoSecret)}
	d, err := New(t.Context(), &cfg, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := d.Close(); err != nil {
			t.Errorf("Close = %v, want nil", err)
		}
	}()
	type result struct {
		RunResult
		err error
	}
	ended := make(chan result, 1)
	go func() {
		r, err := d.RunCampaign(t.Context(), RunOptions{File: c.campaign(t.TempDir(), "spring", "", 20)})
		ended <- result{r, err}
	}()
	why := ""
	for deadline := time.Now().Add(longWait); why == "" && time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		lanes, err := d.ledger.Lanes(t.Context(), 1)
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range lanes {
			if l.LimitedBy == campaign.ByLimiter {
				why = l.Detail
			}
		}
	}
	want := "the service cannot be asked for the pace and the tier of this number, so nothing is sent over it: " +
		"`campaignd doctor` says why; else set numbers.CONNECTION.rate, .tier and .company; next try in 1s"
	if why != want {
		t.Errorf("why says %q, want %q", why, want)
	}
	if n := posts.Load(); n != 0 {
		t.Errorf("%d messages were posted at an unknown pace, want 0", n)
	}
	away.Store(false)
	recovered, watched := time.Now(), throttletest.Watch()
	r := <-ended
	if r.err != nil || r.Report.Totals[campaign.Queued] != 0 || posts.Load() != 20 {
		t.Errorf("the run ended with %v, %d posts, totals %v; want 20 posts", r.err, posts.Load(), r.Report.Totals)
	}
	throttletest.Soon(t, "the run, once the service told the pace,", time.Since(recovered), 10*time.Second, watched())
}
