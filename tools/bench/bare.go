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
	Messages int
	Workers  int
}

// spent is what a child used while it sent.
type spent struct {
	// CPU is the CPU time from the first message to the last status, or to the end of the run.
	CPU time.Duration
	// Database is the CPU time of PostgreSQL's processes in that time. Only campaignd on PostgreSQL
	// reports it.
	Database time.Duration
	// Peak is the most memory of the process since its start, in bytes.
	Peak int64
	// Delivered is the number of messages that ended as read. Only campaignd reports it.
	Delivered int64
}

// runBare posts every message with net/http, decodes the id of each answer, and takes the webhooks
// with a handler that reads them and answers 204. It stores nothing and uses no code of campaignd,
// so that a change of campaignd does not change what it is compared with. It ends when its parent
// has seen the answer to the last webhook.
func runBare(ctx context.Context, in *json.Decoder, out *json.Encoder) error {
	var job bareJob
	if err := in.Decode(&job); err != nil {
		return err
	}
	h, err := takeWebhooks(ctx)
	if err != nil {
		return err
	}
	defer h.Close()
	if err := register(ctx, job.Sink, h.url); err != nil {
		return err
	}
	began, err := cpu()
	if err != nil {
		return err
	}
	if err := loop(ctx, job); err != nil {
		return err
	}
	select {
	case <-ctx.Done(): // the parent has seen the last status
	case err := <-h.served:
		return err
	}
	used, err := cpu()
	if err != nil {
		return err
	}
	most, err := peak()
	if err != nil {
		return err
	}
	return out.Encode(spent{CPU: used - began, Peak: most})
}

// webhooks is a server that reads each webhook and answers 204.
type webhooks struct {
	*http.Server
	url    string
	served chan error // why it ended
}

func takeWebhooks(ctx context.Context) (*webhooks, error) {
	ln, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
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
	h := &webhooks{server, "http://" + ln.Addr().String() + "/webhooks/messaging", make(chan error, 1)}
	go func() { h.served <- server.Serve(ln) }()
	return h, nil
}

// bareClient returns a client that keeps as many connections as there are requests at once.
func bareClient(atOnce int) *http.Client {
	return &http.Client{Transport: &http.Transport{MaxConnsPerHost: atOnce, MaxIdleConnsPerHost: atOnce, DisableCompression: true}}
}

// loop posts the messages. Each worker takes the next one.
func loop(ctx context.Context, job bareJob) error {
	client := bareClient(job.Workers)
	defer client.CloseIdleConnections()
	var next atomic.Int64
	var workers sync.WaitGroup
	errs := make([]error, job.Workers)
	for w := range job.Workers {
		workers.Go(func() {
			for errs[w] == nil {
				n := int(next.Add(1)) - 1
				if n >= job.Messages {
					return
				}
				errs[w] = bareSend(ctx, client, job.Sink, n)
			}
		})
	}
	workers.Wait()
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
