package messaging

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"
)

// call makes one exchange that is not a send. It returns the value under data, or the whole answer
// if there is no data. An error is an *Error with the same codes as those of Send. Its Proof is
// NotSent, because the call sends no message.
func (c *Client) call(ctx context.Context, timeout time.Duration, req *http.Request) (value, error) {
	ctx, cancel := c.within(ctx, timeout)
	defer cancel()
	resp, err := c.transport.RoundTrip(req.WithContext(ctx))
	if err != nil {
		e := transportError(ctx, err, !dialFailed(err))
		e.Proof = NotSent
		e.Action = RetryLater
		return nil, e
	}
	a := answer{status: resp.StatusCode, header: resp.Header}
	a.body, a.err = read(resp, nil, maxListing)
	id := requestID(a.header)
	if a.status < 200 || a.status > 299 {
		e := refusal(&a, id, c.key.Reveal(), c.proven)
		if e.Proof == Doubt {
			e.Proof, e.Action = NotSent, RetryLater
		}
		return nil, e
	}
	v, err := parse(a.body)
	if a.err != nil {
		err = a.err
	}
	if err != nil && !(len(trimSpace(a.body)) == 0 && a.err == nil) {
		return nil, &Error{Proof: NotSent, Action: RetryLater, Status: a.status, Code: codeBadAnswer, RequestID: id, Err: err,
			Message: Scrub(fmt.Sprintf("%s %s: %s", req.Method, req.URL.Path, reason(err)), maxMessage)}
	}
	if data := v.get("data"); data != nil {
		return data, nil
	}
	return v, nil
}

// list reads the objects of a listing: the members of {data: [...]} or of a bare array.
func (c *Client) list(ctx context.Context, path, query string) ([]value, error) {
	v, err := c.call(ctx, c.timeout, c.request(ctx, http.MethodGet, path, query))
	if err != nil {
		return nil, err
	}
	if !v.isArray() {
		return nil, &Error{Proof: NotSent, Action: RetryLater, Status: http.StatusOK, Code: codeBadAnswer,
			Message: "GET " + path + ": the answer holds no list under data"}
	}
	var items []value
	for m := v.members(); m.next(); {
		if m.val.isObject() {
			items = append(items, m.val)
		}
	}
	return items, nil
}

// jsonRequest returns a request with a JSON body.
func (c *Client) jsonRequest(ctx context.Context, method, path string, body []byte) *http.Request {
	r := c.request(ctx, method, path, "")
	r.Header.Set("Content-Type", "application/json")
	r.Body, r.ContentLength = io.NopCloser(&posting{text: body}), int64(len(body))
	return r
}
