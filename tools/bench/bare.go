//go:build unix

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// bareJob is the job of a bare loop that posts messages.
type bareJob struct {
	Sink     string
	First    int     // index of its first recipient
	Messages int     // 0: until its input ends
	Rate     float64 // messages per second, evenly spaced; 0: as fast as the workers can
	Workers  int     // the largest number of requests at a time
}

// runBare posts messages with net/http, decodes the id of each answer, and takes the webhooks with
// a handler that reads them and answers 204. It stores nothing and uses no code of campaignd, so
// that a change of campaignd does not change what it is compared with. It begins to post when it is
// first asked for a sample.
func runBare(ctx context.Context, in *json.Decoder, out *json.Encoder) error {
	var job bareJob
	if err := in.Decode(&job); err != nil {
		return err
	}
	ln, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := &http.Server{ // with the time-outs of the daemon
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if _, err := io.Copy(io.Discard, r.Body); err != nil {
				return
			}
			w.WriteHeader(http.StatusNoContent)
		}),
		ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 15 * time.Second,
		WriteTimeout: 30 * time.Second, IdleTimeout: 2 * time.Minute,
	}
	var posting sync.WaitGroup
	posting.Go(func() { _ = server.Serve(ln) })
	var posts atomic.Int64
	var failed error
	begin := sync.OnceFunc(func() { posting.Go(func() { failed = job.post(ctx, &posts) }) })
	err = sampled(in, out, "http://"+ln.Addr().String()+"/webhooks/messaging", func() (int64, error) {
		begin()
		return posts.Load(), nil
	})
	_ = server.Close()
	posting.Wait()
	return errors.Join(err, failed)
}

// post posts and counts the messages. Each worker waits for the next tick, which a busy loop
// misses, and takes the next message.
func (job bareJob) post(ctx context.Context, posts *atomic.Int64) error {
	client := &http.Client{Transport: &http.Transport{ // keeps as many connections as there are requests at once
		MaxConnsPerHost: job.Workers, MaxIdleConnsPerHost: job.Workers, DisableCompression: true,
	}}
	defer client.CloseIdleConnections()
	var due <-chan time.Time
	if job.Rate > 0 {
		ticker := time.NewTicker(time.Duration(float64(time.Second) / job.Rate))
		defer ticker.Stop()
		due = ticker.C
	}
	var next atomic.Int64
	var workers sync.WaitGroup
	errs := make([]error, job.Workers)
	for w := range job.Workers {
		workers.Go(func() {
			for errs[w] == nil && ctx.Err() == nil {
				if job.Rate > 0 {
					select {
					case <-due:
					case <-ctx.Done():
						return
					}
				}
				n := int(next.Add(1)) - 1
				if job.Messages > 0 && n >= job.Messages {
					return
				}
				if errs[w] = bareSend(ctx, client, job.Sink, job.First+n); errs[w] == nil {
					posts.Add(1)
				}
			}
		})
	}
	workers.Wait()
	if ctx.Err() != nil { // the requests under way ended with the input
		return nil
	}
	return errors.Join(errs...)
}

// bareSend posts one message with the bytes that campaignd posts.
func bareSend(ctx context.Context, client *http.Client, sink string, n int) error {
	r := recipient(n)
	body := fmt.Appendf(nil, `{"connectionId":"conn_%d","to":"%s","template":{"name":"spring_sale","language":"en_US",`+
		`"body":["%s","%s"],"buttons":[{"type":"url","text":"%s"}]}}`, 1+n%connections, r.to, r.name, r.discount, r.slug)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, sink+"/api/v1/messages", bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header = http.Header{
		"Authorization": {"Bearer " + apiKey}, "User-Agent": {"campaignd/dev"},
		"Accept": {"application/json"}, "Content-Type": {"application/json"},
	}
	res, err := client.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		return err
	}
	var receipt struct {
		Data struct {
			MessageID string `json:"messageId"`
		} `json:"data"`
	}
	if err := json.Unmarshal(text, &receipt); err != nil {
		return err
	}
	if receipt.Data.MessageID == "" {
		return fmt.Errorf("%s without an id: %s", res.Status, text)
	}
	return nil
}
