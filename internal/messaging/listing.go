package messaging

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"campaignd/internal/rawjson"
)

// call makes one exchange that is not a send. It returns the value under data, or the whole answer
// if there is no data.
func (c *Client) call(ctx context.Context, timeout time.Duration, req *http.Request) (rawjson.Value, error) {
	v, _, err := c.ask(ctx, timeout, req)
	if data := v.Get("data"); data != nil {
		return data, err
	}
	return v, err
}

// ask makes one exchange that is not a send. It returns the whole answer. An error is an *Error
// with the same codes as those of Send. Its Proof is NotSent, because the call sends no message.
func (c *Client) ask(ctx context.Context, timeout time.Duration, req *http.Request) (rawjson.Value, http.Header, error) {
	ctx, cancel := c.within(ctx, timeout)
	defer cancel()
	resp, err := c.transport.RoundTrip(req.WithContext(ctx))
	if err != nil {
		e := transportError(ctx, err, !dialFailed(err))
		e.Proof = NotSent
		e.Action = RetryLater
		return nil, nil, e
	}
	a := answer{status: resp.StatusCode, header: resp.Header}
	a.body, a.err = read(resp, nil, maxListing)
	id := requestID(a.header)
	if a.status < 200 || a.status > 299 {
		e := c.refused(&a, id)
		if e.Proof == Doubt {
			e.Proof, e.Action = NotSent, RetryLater
		}
		return nil, nil, e
	}
	v, err := rawjson.Parse(a.body)
	if a.err != nil {
		err = a.err
	}
	if err != nil && !(len(trimSpace(a.body)) == 0 && a.err == nil) {
		return nil, nil, &Error{Proof: NotSent, Action: RetryLater, Status: a.status, Code: codeBadAnswer, RequestID: id, Err: err,
			Message: Scrub(fmt.Sprintf("%s %s: %s", req.Method, req.URL.Path, reason(err)), maxMessage)}
	}
	return v, a.header, nil
}

// jsonRequest returns a request with a JSON body.
func (c *Client) jsonRequest(ctx context.Context, method, path string, body []byte) *http.Request {
	r := c.request(ctx, method, path, "")
	r.Header.Set("Content-Type", "application/json")
	r.Body, r.ContentLength = posting(body), int64(len(body))
	return r
}
