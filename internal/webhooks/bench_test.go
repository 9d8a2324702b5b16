//go:build unix

package webhooks

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/internal/ledger"
	"campaignd/internal/ledger/ledgertest"
	"campaignd/internal/ledger/pgtest"
	"campaignd/internal/ledger/postgres"
	"campaignd/internal/ledger/sqlite"
	"campaignd/internal/messaging"
)

// BenchmarkPostedSingly posts sent, delivered and read of 20,480 messages, each status in a request
// of its own, over some connections that wait for each answer. Run it with -benchtime=1x. The
// commits do not depend on the speed of the machine as much as the rate.
func BenchmarkPostedSingly(b *testing.B) {
	s, err := pgtest.Start()
	pgtest.Require(b, err)
	b.Cleanup(s.Stop)
	for name, address := range map[string]func() string{
		"postgres": func() string { return s.Database(b) },
		"sqlite":   func() string { return "sqlite:" + filepath.Join(b.TempDir(), "campaignd.db") },
	} {
		for _, connections := range []int{1, 64, 256} {
			b.Run(fmt.Sprintf("%s/connections=%d", name, connections), func(b *testing.B) {
				for b.Loop() {
					postSingly(b, address(), connections)
				}
			})
		}
	}
}

func postSingly(b *testing.B, address string, connections int) {
	const n = 5 * campaign.SegmentSize
	l, err := ledger.Open(b.Context(), address, ledger.Options{Sender: true}, sqlite.Open, postgres.Open)
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	no := ledgertest.Load(b, l, n).No
	for _, lease := range ledgertest.ClaimAll(b, l, no) {
		in := campaign.Intent{Lease: lease, Connection: "conn_1", From: lease.Lo, To: lease.Hi}
		if _, err := l.Intend(b.Context(), []campaign.Intent{in}); err != nil {
			b.Fatal(err)
		}
		if err := l.Record(b.Context(), ledgertest.Acceptances(lease, lease.Lo, lease.Hi)); err != nil {
			b.Fatal(err)
		}
	}
	i := newIntake(b, l, Options{})
	stop := start(b, i)
	server := httptest.NewServer(i)
	defer server.Close()
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: connections}}
	defer client.CloseIdleConnections()

	bodies := make(chan []byte, 3*n)
	for _, word := range []string{"sent", "delivered", "read"} {
		for seq := range int64(n) {
			bodies <- fmt.Appendf(nil, `{"type":"message.status","connectionId":"conn_1","data":{"messageId":%q,"status":%q,"timestamp":%d}}`,
				ledgertest.MessageID(no, seq), word, time.Now().Unix())
		}
	}
	close(bodies)
	b.ResetTimer()
	began := time.Now()
	var all sync.WaitGroup
	for range connections {
		all.Go(func() {
			for body := range bodies {
				r, err := http.NewRequestWithContext(b.Context(), http.MethodPost, server.URL, bytes.NewReader(body))
				if err == nil {
					err = (messaging.SignatureForm{}).Sign(r.Header, messaging.NewSecret(secretText), body, time.Now())
				}
				if err != nil {
					b.Error(err)
					return
				}
				w, err := client.Do(r)
				if err != nil {
					b.Error(err)
					return
				}
				w.Body.Close()
				if w.StatusCode != http.StatusNoContent {
					b.Errorf("answered %d, want 204", w.StatusCode)
				}
			}
		})
	}
	all.Wait()
	took := time.Since(began)
	c := i.Counts()
	if c.Matched != 3*n {
		b.Errorf("%+v, want %d statuses matched", c, 3*n)
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(3*n/took.Seconds(), "statuses/s")
	b.ReportMetric(float64(c.Commits)/n, "commits/message")
	if err := stop(); err != nil {
		b.Error(err)
	}
}
