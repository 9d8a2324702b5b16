//go:build unix

package main

import (
	"bufio"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"
)

// stages are the statuses of each message with their delays after its acceptance. The delays are
// long enough for the receipt to be in the ledger, as with a real service.
var stages = [...]struct {
	status string
	after  time.Duration
}{{"sent", 100 * time.Millisecond}, {"delivered", 200 * time.Millisecond}, {"read", 300 * time.Millisecond}}

// posters is how many connections post webhooks: a service does not wait for one answer before it
// posts the next event.
const posters = 256

// event is one status of one message.
type event struct {
	n     int
	stage int
	taken
}

// post posts webhooks until ctx ends.
func (s *sink) post(ctx context.Context) {
	if s.job.Batch == silence {
		<-ctx.Done()
		return
	}
	work := make(chan []event, 4*posters)
	var posting sync.WaitGroup
	for i := range posters {
		posting.Go(func() { (&poster{sink: s, turn: i}).run(ctx, work) })
	}
	s.dispatch(ctx, work)
	close(work)
	posting.Wait()
}

// dispatch sends the due statuses to work in batches. A batch that is not full waits 20 ms for
// more.
func (s *sink) dispatch(ctx context.Context, work chan<- []event) {
	var next [len(stages)]int
	var batch []event
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	idle := 0
	for {
		s.mu.Lock()
		messages := s.messages // messages are only appended, so these do not change
		if len(s.targets) == 0 {
			messages = nil
		}
		s.mu.Unlock()
		now, before := time.Now(), len(batch)
		for stage := range stages {
			due := now.Add(-stages[stage].after).UnixNano()
			for ; next[stage] < len(messages) && messages[next[stage]].at <= due; next[stage]++ {
				batch = append(batch, event{next[stage], stage, messages[next[stage]]})
				if len(batch) == s.job.Batch {
					select {
					case work <- batch:
					case <-ctx.Done():
						return
					}
					batch, before = nil, 0
				}
			}
		}
		if idle++; len(batch) != before {
			idle = 0
		}
		if idle >= 4 && len(batch) > 0 {
			select {
			case work <- batch:
			case <-ctx.Done():
				return
			}
			batch = nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// poster posts on one connection that it keeps open. It writes HTTP itself, because the sink shares
// the machine with the measured process, and the client of net/http would use as much CPU time as
// the measured server.
type poster struct {
	*sink
	turn int // index of its target
	conn net.Conn
	in   *bufio.Reader
	mac  hash.Hash
	body []byte
	out  []byte
}

func (p *poster) run(ctx context.Context, work <-chan []event) {
	p.mac = hmac.New(sha256.New, []byte(secret))
	for batch := range work {
		p.write(batch)
		for ctx.Err() == nil {
			status, err := p.exchange(ctx)
			if err == nil && status/100 == 2 {
				p.last.Store(time.Now().UnixNano())
				p.acked.Add(int64(len(batch)))
				break
			}
			p.refused.Add(1)
			if err != nil && p.conn != nil {
				_ = p.conn.Close()
				p.conn = nil
			}
			select { // the wait before a retry, which is longer at a real service
			case <-time.After(100 * time.Millisecond):
			case <-ctx.Done():
			}
		}
	}
	if p.conn != nil {
		_ = p.conn.Close()
	}
}

// write makes the body of a batch: one event alone, or an array of events (docs/service.md#events).
func (p *poster) write(batch []event) {
	b := p.body[:0]
	if p.job.Batch > 1 {
		b = append(b, '[')
	}
	for i := range batch {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendEvent(b, &batch[i])
	}
	if p.job.Batch > 1 {
		b = append(b, ']')
	}
	p.body = b
}

func appendEvent(b []byte, e *event) []byte {
	at := time.Unix(0, e.at).Add(stages[e.stage].after).UTC()
	b = append(b, `{"id":"evt_`...)
	b = strconv.AppendInt(b, int64(e.n*len(stages)+e.stage), 36)
	b = append(b, `","type":"message.status","createdAt":"`...)
	b = at.AppendFormat(b, time.RFC3339Nano)
	b = append(b, `","connectionId":"conn_`...)
	b = strconv.AppendUint(b, uint64(e.conn), 10)
	b = append(b, `","data":{"messageId":"`...)
	b = appendID(b, e.n)
	b = append(b, `","status":"`...)
	b = append(b, stages[e.stage].status...)
	b = append(b, `","timestamp":"`...)
	b = at.AppendFormat(b, time.RFC3339Nano)
	b = append(b, `","to":"+`...)
	b = strconv.AppendUint(b, e.to, 10)
	return append(b, `"}}`...)
}

// exchange posts the body once and returns the status of the answer.
func (p *poster) exchange(ctx context.Context) (int, error) {
	p.mu.Lock()
	target, err := url.Parse(p.targets[p.turn%len(p.targets)])
	p.mu.Unlock()
	if err != nil {
		return 0, err
	}
	if p.conn == nil {
		if p.conn, err = (&net.Dialer{Timeout: 5 * time.Second}).DialContext(ctx, "tcp", target.Host); err != nil {
			return 0, err
		}
		p.in = bufio.NewReader(p.conn)
	}
	p.mac.Reset()
	p.mac.Write(p.body)
	var sum [sha256.Size]byte
	var signature [2 * sha256.Size]byte
	hex.Encode(signature[:], p.mac.Sum(sum[:0]))
	b := fmt.Appendf(p.out[:0], "POST %s HTTP/1.1\r\nHost: %s\r\nUser-Agent: bench-sink\r\nContent-Type: application/json\r\n"+
		"X-Service-Signature: sha256=%s\r\nContent-Length: %d\r\n\r\n", target.Path, target.Host, signature[:], len(p.body))
	p.out = append(b, p.body...)
	if err := p.conn.SetDeadline(time.Now().Add(30 * time.Second)); err != nil {
		return 0, err
	}
	if _, err := p.conn.Write(p.out); err != nil {
		return 0, err
	}
	res, err := http.ReadResponse(p.in, nil)
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	if _, err := io.Copy(io.Discard, res.Body); err != nil {
		return 0, err
	}
	if res.Close {
		_ = p.conn.Close()
		p.conn = nil
	}
	return res.StatusCode, nil
}
