package shop

import (
	"cmp"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"

	"campaignd/internal/sandbox/draw"
)

// prefix begins the path of each versioned route.
const prefix = "/2023-11"

// ServeHTTP answers as the platform does.
func (p *Platform) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	row, values := p.find(r)
	c := &call{p: p, r: r, route: row, values: values, query: r.URL.Query(), header: w.Header(),
		base: base(r), now: p.now(), faults: p.faults.Load()}
	number := p.asked.Add(1)
	raw, bodyErr := []byte(nil), error(nil)
	if r.Method != http.MethodGet { // read before the lock, so that a slow client keeps nobody waiting
		raw, bodyErr = readBody(r)
	}
	// A fault may add rows while a page is read.
	shared := r.Method == http.MethodGet && c.faults.Shift == 0
	if shared {
		p.mu.RLock()
	} else {
		p.mu.Lock()
	}
	status, body := p.answer(c, raw, bodyErr, number)
	if shared {
		p.mu.RUnlock()
	} else {
		p.mu.Unlock()
	}
	if row.right != open && row.right != control && p.fires("lost_after", c.faults.LostAfter, number) {
		panic(http.ErrAbortHandler) // net/http closes the connection without an answer
	}
	if c.header.Get("Content-Type") == "" {
		c.header.Set("Content-Type", "application/json")
	}
	w.WriteHeader(status)
	_, _ = w.Write(body)
}

// answer runs the checks and the action of a request, and encodes what it returns. The caller holds
// the lock.
func (p *Platform) answer(c *call, raw []byte, bodyErr error, number uint64) (int, []byte) {
	out, err := p.act(c, raw, bodyErr, number)
	status := cmp.Or(c.status, http.StatusOK)
	if err != nil {
		found := problemOf(err)
		status, out = found.status, found.body
	}
	if text, ok := out.(plain); ok {
		return status, []byte(text)
	}
	body, err := json.Marshal(out)
	if err != nil {
		p.opt.Log.Error("commerce: an answer cannot be encoded", "path", c.route.path, "err", err)
		return http.StatusInternalServerError, []byte(`{"message":"Server Error"}`)
	}
	return status, body
}

// plain is an answer that is not JSON. Its action sets the content type.
type plain string

func (p *Platform) act(c *call, raw []byte, bodyErr error, number uint64) (any, error) {
	if c.route.right != open && c.route.right != control {
		if err := p.authenticate(c); err != nil {
			return nil, err
		}
		if err := p.slowDown(c, number); err != nil {
			return nil, err
		}
	}
	if bodyErr != nil {
		return nil, bodyErr
	}
	if c.route.shifts && p.fires("shift", c.faults.Shift, number) {
		p.shift(c.company, c.now, draw.Mix(p.opt.Seed, number)&1 == 0)
	}
	return c.route.run(p, c, raw)
}

// slowDown answers 429 above the company's rate or by a fault, and draws the fault of a 5xx.
func (p *Platform) slowDown(c *call, number uint64) error {
	wait := c.company.pace.wait(time.Now(), p.limit)
	if wait == 0 && p.fires("too_many_requests", c.faults.TooManyRequests, number) {
		wait = time.Second
	}
	if wait > 0 {
		c.header.Set("Retry-After", strconv.Itoa(int((wait+time.Second-1)/time.Second)))
		return refuse(http.StatusTooManyRequests, "Too many requests")
	}
	if p.fires("server_error", c.faults.ServerError, number) {
		statuses := []int{500, 502, 503, 504}
		return say(statuses[draw.Mix(p.opt.Seed, number)%4], "Server Error")
	}
	return nil
}

// base is the address of the sandbox, as the client sees it.
func base(r *http.Request) string {
	if r.TLS != nil || strings.EqualFold(r.Header.Get("X-Forwarded-Proto"), "https") {
		return "https://" + r.Host
	}
	return "http://" + r.Host
}
