package client

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"
)

// Client calls the API of one campaignd. Make it with New. Many goroutines may use it at once.
type Client struct {
	base *url.URL
	key  string
	http *http.Client
	// timeout is the longest time of a call that neither uploads nor downloads a file.
	timeout time.Duration

	mu   sync.Mutex
	seen map[string]seen // by URL: the last answers with an ETag
}

// seen is an earlier answer. The client returns it again if the server answers 304.
type seen struct {
	tag  string
	body []byte
}

// The limits of the answers that a Client keeps for their ETags: their number, and the bytes of
// each.
const (
	maxSeen     = 64
	maxSeenSize = 64 << 10
)

// Options are the optional settings of a Client. The zero value works.
type Options struct {
	// HTTP sends the requests. Default: a client that waits at most 10 s for a connection. No redirect
	// is followed, because the request would take the key to another address.
	HTTP *http.Client
	// Timeout is the longest time of a call that neither uploads nor downloads a file. Default 1
	// minute. A call for which the server reads a whole list may take 11 minutes, or Timeout if it is
	// longer.
	Timeout time.Duration
}

// callTimeout is the default of Options.Timeout. A forecast takes seconds, everything else less.
const callTimeout = time.Minute

// longTimeout is the longest time of a call for which the server reads a whole list. The server
// takes at most 10 minutes.
const longTimeout = 11 * time.Minute

// New makes a Client for the campaignd whose admin listener has an address such as
// https://campaignd.example:8081, and for a key of `campaignd keys create`.
func New(address, key string, o Options) (*Client, error) {
	base, err := url.Parse(address)
	switch {
	case err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https":
		return nil, fmt.Errorf("address %q: want scheme, host and port, for example https://campaignd.example:8081", address)
	case base.User != nil || base.RawQuery != "" || base.Fragment != "":
		return nil, fmt.Errorf("address of %s: want scheme, host and port alone; the key goes apart from it", base.Host)
	case key == "":
		return nil, errors.New("the key is empty: want one of `campaignd keys create`")
	}
	c := &Client{base: base, key: key, timeout: cmp.Or(o.Timeout, callTimeout), seen: map[string]seen{}}
	sender := http.Client{Transport: transport()}
	if o.HTTP != nil {
		sender = *o.HTTP
	}
	sender.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	c.http = &sender
	return c, nil
}

func transport() *http.Transport {
	return &http.Transport{
		Proxy: http.ProxyFromEnvironment, DialContext: (&net.Dialer{Timeout: 10 * time.Second}).DialContext, ForceAttemptHTTP2: true,
		TLSHandshakeTimeout: 10 * time.Second, ExpectContinueTimeout: 5 * time.Second, IdleConnTimeout: 90 * time.Second,
	}
}

// call is one request.
type call struct {
	method string
	path   string // under /api/v1, escaped
	query  url.Values
	body   any // sent as JSON; nil: none
	// file is sent instead of body, with fileType as its Content-Type. It may have any length.
	file     io.Reader
	fileType string
	// once is an Idempotency-Key; "": none.
	once string
	// long means that the server reads a whole list for the answer.
	long bool
}

// send sends a call. An answer that says a failure is an *Error.
func (c *Client) send(ctx context.Context, q call, change func(*http.Request)) (*http.Response, error) {
	address := c.base.JoinPath("/api/v1").String() + q.path
	if len(q.query) > 0 {
		address += "?" + q.query.Encode()
	}
	body := q.file
	if q.body != nil {
		text, err := json.Marshal(q.body)
		if err != nil {
			return nil, err
		}
		body, q.fileType = bytes.NewReader(text), "application/json"
	}
	r, err := http.NewRequestWithContext(ctx, q.method, address, body)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Authorization", "Bearer "+c.key)
	if q.fileType != "" {
		r.Header.Set("Content-Type", q.fileType)
	}
	if q.file != nil {
		r.Header.Set("Expect", "100-continue") // a refusal comes before the file is sent
	}
	if q.once != "" {
		r.Header.Set("Idempotency-Key", q.once)
	}
	if change != nil {
		change(r)
	}
	res, err := c.http.Do(r)
	if err != nil {
		var where *url.Error
		if errors.As(err, &where) {
			err = where.Err
		}
		remedy := ""
		if dial := (*net.OpError)(nil); errors.As(err, &dial) && dial.Op == "dial" {
			remedy = "; check the address, and that `campaignd serve` runs there"
		}
		return nil, fmt.Errorf("no answer from %s: %w%s", c.base.Host, err, remedy)
	}
	if res.StatusCode/100 == 2 || res.StatusCode == http.StatusNotModified {
		return res, nil
	}
	defer res.Body.Close()
	return nil, failure(res)
}

// maxAnswer is the longest answer that is no file. A page of 1,000 deliveries is half a MiB, a
// list of 10,000 runs 4 MiB.
const maxAnswer = 64 << 20

// answer is the form of every answer in JSON.
type answer[T any] struct {
	Data T
	Meta struct{ Next string }
}

// fetch sends a call, and reads its answer. next says where the next page begins; it is "" on the
// last page.
func fetch[T any](ctx context.Context, c *Client, q call) (data T, next string, err error) {
	if q.file == nil {
		var stop context.CancelFunc
		timeout := c.timeout
		if q.long {
			timeout = max(timeout, longTimeout)
		}
		ctx, stop = context.WithTimeout(ctx, timeout)
		defer stop()
	}
	key := q.path + "?" + q.query.Encode()
	var was seen
	if q.method == http.MethodGet {
		c.mu.Lock()
		was = c.seen[key]
		c.mu.Unlock()
	}
	res, err := c.send(ctx, q, func(r *http.Request) {
		if was.tag != "" {
			r.Header.Set("If-None-Match", was.tag)
		}
	})
	if err != nil {
		return data, "", err
	}
	defer res.Body.Close()
	text := was.body
	if res.StatusCode != http.StatusNotModified {
		if text, err = io.ReadAll(io.LimitReader(res.Body, maxAnswer)); err != nil {
			return data, "", fmt.Errorf("the answer of %s ended early: %w", c.base.Host, err)
		}
		if tag := res.Header.Get("ETag"); q.method == http.MethodGet && tag != "" {
			c.remember(key, seen{tag, text})
		}
	}
	var out answer[T]
	if err := json.Unmarshal(text, &out); err != nil {
		return data, "", fmt.Errorf("%s gave an answer that is not understood (%s): %w", c.base.Host, res.Status, err)
	}
	return out.Data, out.Meta.Next, nil
}

// remember keeps an answer for its ETag. If maxSeen are kept, it drops any other one.
func (c *Client) remember(key string, s seen) {
	if len(s.body) > maxSeenSize {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, known := c.seen[key]; !known && len(c.seen) >= maxSeen {
		for other := range c.seen {
			delete(c.seen, other)
			break
		}
	}
	c.seen[key] = s
}

// one is fetch for an answer without a next page.
func one[T any](ctx context.Context, c *Client, q call) (T, error) {
	data, _, err := fetch[T](ctx, c, q)
	return data, err
}

// pageOf is fetch for a page of a list whose positions are numbers. next is 0 on the last page.
func pageOf[T any](ctx context.Context, c *Client, q call, after int64, limit int) (page []T, next int64, err error) {
	if q.query == nil {
		q.query = url.Values{}
	}
	setInt(q.query, "after", after)
	setInt(q.query, "limit", int64(limit))
	page, behind, err := fetch[[]T](ctx, c, q)
	if err == nil && behind != "" {
		next, err = strconv.ParseInt(behind, 10, 64)
	}
	return page, next, err
}

// file sends a call whose answer is a file, and copies it to w. A file that ends early is an error.
func (c *Client) file(ctx context.Context, q call, w io.Writer) error {
	res, err := c.send(ctx, q, nil)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if _, err := io.Copy(w, res.Body); err != nil {
		return fmt.Errorf("the file of %s ended early: %w", c.base.Host, err)
	}
	return nil
}
