package service

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"campaignd/internal/messaging"
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
// with the codes of Send. Its Proof is NotSent, because the call sends no message.
func (c *Client) ask(ctx context.Context, timeout time.Duration, req *http.Request) (rawjson.Value, http.Header, error) {
	a, failure := c.exchange.Ask(ctx, timeout, req)
	if failure != nil {
		return nil, nil, failure
	}
	if !a.Accepted() {
		e := c.refused(&a)
		if e.Proof == messaging.Doubt {
			e.Proof, e.Action = messaging.NotSent, messaging.RetryLater
		}
		return nil, nil, e
	}
	v, err := rawjson.Parse(a.Body)
	if a.Err != nil {
		err = a.Err
	}
	if err != nil && !(len(trimSpace(a.Body)) == 0 && a.Err == nil) {
		return nil, nil, messaging.BadAnswer(a.Status, a.RequestID(), req.Method+" "+req.URL.Path, err)
	}
	return v, a.Header, nil
}

// do makes the exchange of one operation. The fields are in the query of GET and DELETE, else in a
// JSON body; without fields the body is empty. It returns the value under data.
func (c *Client) do(ctx context.Context, name, id string, f fields) (rawjson.Value, error) {
	o, err := c.target(name, id)
	if err != nil {
		return nil, err
	}
	var req *http.Request
	if o.Method == http.MethodGet || o.Method == http.MethodDelete {
		req = c.request(ctx, o.Method, o.Path, f.query())
	} else {
		req = c.request(ctx, o.Method, o.Path, "")
		if f != nil {
			body, err := json.Marshal(f)
			if err != nil {
				return nil, err
			}
			req.Header.Set("Content-Type", "application/json")
			req.Body, req.ContentLength = messaging.Posting(body), int64(len(body))
		}
	}
	v, err := c.call(ctx, c.timeout, req)
	return v, c.judged(o, err)
}
