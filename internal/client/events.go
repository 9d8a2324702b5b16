package client

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"campaignd/internal/client/resource"
)

// maxEventLine is the longest line of an event in bytes.
const maxEventLine = 1 << 20

// maxQuiet is the longest time without a byte from a stream of events: three heartbeats of the
// server.
const maxQuiet = 45 * time.Second

// Events calls do with each event, in their order. It returns the error of do, or an error when ctx
// or the connection ends or when nothing has come for 45 s. last is the id of the last event that
// the program has seen: the events after it come first. If last is "", the present state comes
// first (EventReset).
func (c *Client) Events(ctx context.Context, last string, do func(resource.Event) error) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	quiet := time.AfterFunc(maxQuiet, func() { stop(fmt.Errorf("nothing has come for %v", maxQuiet)) })
	defer quiet.Stop()
	res, err := c.send(ctx, call{method: http.MethodGet, path: "/events"}, func(r *http.Request) {
		if last != "" {
			r.Header.Set("Last-Event-ID", last)
		}
	})
	if err != nil {
		return err
	}
	defer res.Body.Close()
	lines := bufio.NewScanner(&watched{res.Body, quiet, maxQuiet})
	lines.Buffer(nil, maxEventLine)
	var e resource.Event
	for lines.Scan() {
		field, value, _ := strings.Cut(lines.Text(), ": ")
		switch field {
		case "id":
			e.ID = value
		case "event":
			e.Type = value
		case "data":
			e.Data = json.RawMessage(value)
		case "":
			if e.Type != "" {
				quiet.Stop() // do may take any time; the next read starts the timer again
				if err := do(e); err != nil {
					return err
				}
			}
			e = resource.Event{}
		}
	}
	if err := cmp.Or(context.Cause(ctx), lines.Err()); err != nil {
		return fmt.Errorf("the events of %s ended: %w", c.base.Host, err)
	}
	return fmt.Errorf("the events of %s ended: %w", c.base.Host, io.ErrUnexpectedEOF)
}
