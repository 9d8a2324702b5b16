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

	"campaignd/client/resource"
)

// mostEventLine is the longest line of an event in bytes.
const mostEventLine = 1 << 20

// mostQuiet is how long a stream of events may say nothing: three heartbeats of the server.
const mostQuiet = 45 * time.Second

// Events calls do with each event, in their order, until do returns an error, which Events then
// returns, or ctx ends or the connection does, or nothing has come for 45 s. last is the id of the
// last event that the program has seen: then what changed since comes first. "": the state as it is
// now comes first (EventReset).
func (c *Client) Events(ctx context.Context, last string, do func(resource.Event) error) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	quiet := time.AfterFunc(mostQuiet, func() { stop(fmt.Errorf("nothing has come for %v", mostQuiet)) })
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
	lines := bufio.NewScanner(&watched{res.Body, quiet, mostQuiet})
	lines.Buffer(nil, mostEventLine)
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
				quiet.Stop() // do may take any time; the next reading starts it anew
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
