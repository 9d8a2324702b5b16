package daemon

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"campaignd/campaign"
	"campaignd/internal/config"
	"campaignd/internal/messaging"
	"campaignd/internal/messaging/connector"
	"campaignd/internal/messaging/service"
	"campaignd/internal/numbers"
)

// told is a service that answers GETs from memory, and counts them.
type told struct {
	numbers               atomic.Pointer[string]
	asked, askedForOthers atomic.Int64
}

func (s *told) RoundTrip(r *http.Request) (*http.Response, error) {
	body := `{"data": [{"id": "a", "phoneNumber": "+15555550100", "companyId": "co", "status": "connected"}]}`
	if strings.HasSuffix(r.URL.Path, "/numbers") {
		s.asked.Add(1)
		body = *s.numbers.Load()
	} else {
		s.askedForOthers.Add(1)
	}
	return &http.Response{StatusCode: 200, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {"application/json"}},
		Body:   io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body))}, nil
}

func (s *told) tell(rest string) {
	text := `{"data": [{"connectionId": "a", ` + rest + `}]}`
	s.numbers.Store(&text)
}

// A number's health, as the service tells it, counts within a minute, and at once when an event
// says so. An hour takes 66 calls.
func TestTheHealthOfANumberCountsInAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answers := &told{}
		answers.tell(`"throughput": {"level": "STANDARD"}, "qualityRating": "GREEN"`)
		client, err := service.New(service.Options{BaseURL: "http://127.0.0.1", APIKey: messaging.NewSecret("k"), Transport: answers,
			Timeout: time.Second})
		if err != nil {
			t.Fatal(err)
		}
		cfg := config.Default()
		var log bytes.Buffer
		d := &Daemon{cfg: cfg, log: slog.New(slog.NewTextHandler(&log, nil)), client: &connector.Set{Service: client},
			directory: numbers.NewDirectory(cfg), changed: make(chan struct{}, 1)}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			d.refreshNumbers(ctx, 0)
		}()
		for _, c := range []struct {
			tell  string
			event bool
			after time.Duration
			want  string
		}{
			{`"throughput": {"level": "STANDARD"}, "qualityRating": "GREEN"`, false, time.Second, "68.4 GREEN"},
			{`"throughput": {"level": "STANDARD"}, "coexistence": true, "qualityRating": "YELLOW"`, false, time.Minute, "12.6 YELLOW"},
			{`"throughput": {"level": "HIGH"}, "qualityRating": "RED"`, true, changedEvery, "902.5 RED"},
			{`"throughput": {"level": "STANDARD"}, "qualityRating": "RED"`, true, changedEvery, "68.4 RED"},
			{`"throughput": {"level": "STANDARD"}, "qualityRating": "GREEN"`, true, changedEvery + time.Millisecond, "68.4 GREEN"},
		} {
			if answers.tell(c.tell); c.event {
				d.numberChanged()
			}
			time.Sleep(c.after)
			synctest.Wait()
			if got := fmt.Sprintf("%.4g %s", d.directory.Pace("a"), d.directory.QualityOf("a")); got != c.want {
				t.Errorf("%s after %s: got %s, want %s", c.tell, c.after, got, c.want)
			}
		}
		answers.asked.Store(0)
		answers.askedForOthers.Store(0)
		time.Sleep(time.Hour)
		if n, others := answers.asked.Load(), answers.askedForOthers.Load(); n > 61 || others > 7 {
			t.Errorf("in an hour: got %d questions for numbers and %d for connections, want about 60 and 6", n, others)
		}
		stop()
		<-ended
		client.Close()
		told := "msg=\"pace of a number\" connection=a pace="
		terms := `"12.6/s = 0.9 x (20 as configured or told by the service - 6 (30 % for inbound and the phone))"`
		if n := strings.Count(log.String(), told); n != 4 || !strings.Contains(log.String(), told+terms) {
			t.Errorf("got %d paces of a, want 4 and that of coexistence with its terms; the log:\n%s", n, log.String())
		}
	})
}

// The tier that the service tells counts from the next question on, raised or lowered; a configured
// one, also -1 for none, comes before it.
func TestATierFollowsTheServiceAndTheFile(t *testing.T) {
	answers := &told{}
	client, err := service.New(service.Options{BaseURL: "http://127.0.0.1", APIKey: messaging.NewSecret("k"), Transport: answers,
		Timeout: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	for _, c := range []struct {
		own  config.Number
		want []campaign.Tier // before the first question, and after each
	}{
		{config.Number{}, []campaign.Tier{{Portfolio: "a"}, {Portfolio: "co", Places: 250}, {Portfolio: "co", Places: 2000},
			{Portfolio: "co", Places: 250}, {Portfolio: "co"}, {Portfolio: "co"}}},
		{config.Number{Tier: 100, Portfolio: "main"}, slices.Repeat([]campaign.Tier{{Portfolio: "main", Places: 100}}, 6)},
		{config.Number{Tier: -1, Company: "other"}, slices.Repeat([]campaign.Tier{{Portfolio: "other"}}, 6)},
	} {
		cfg := config.Default()
		cfg.Numbers = map[string]config.Number{"a": c.own}
		d := numbers.NewDirectory(cfg)
		got := []campaign.Tier{d.Tier("a")}
		for _, tier := range []string{`"TIER_250"`, `"TIER_2K"`, `"TIER_250"`, `"TIER_UNLIMITED"`, `null`} {
			answers.tell(`"tier": ` + tier)
			if _, err := d.Refresh(t.Context(), client); err != nil {
				t.Fatal(err)
			}
			got = append(got, d.Tier("a"))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("tiers with %+v: got %v, want %v", c.own, got, c.want)
		}
		if last := d.Tier("a"); d.Tiered("a") != (last.Places > 0) {
			t.Errorf("tiered: got %v with %+v, want the other", d.Tiered("a"), last)
		}
	}
}
