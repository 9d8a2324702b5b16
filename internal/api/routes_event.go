package api

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"campaignd/campaign"
	"campaignd/internal/client"
)

// The limits of a stream of events.
const (
	// heartbeat is how often a stream sends a comment, and how often its key is looked up again.
	heartbeat = 15 * time.Second
	// slowest is the longest time of one write to a client.
	slowest = 10 * time.Second
	// maxStreams is the largest number of streams at a time.
	maxStreams = 1000
)

const exampleEvents = "id: 5f2b1c9a03d4-17\nevent: run\ndata: {\"id\":\"spring-sale-3\",\"state\":\"running\"}\n\n" +
	"id: 5f2b1c9a03d4-18\nevent: progress\ndata: {\"run\":\"spring-sale-3\",\"rows\":200000,\"left\":150000," +
	"\"totals\":{\"queued\":150000,\"sending\":70,\"accepted\":49930},\"rate\":72}\n\n"

// eventRoute adds the stream of events.
func (s *Server) eventRoute() {
	r := route{method: http.MethodGet, path: "/api/v1/events", id: "events", scope: campaign.KeyRead, errors: []int{503},
		summary: "What changes, as server-sent events: runs, progress, holds, firings, drops"}
	op := s.operation(r)
	op.Responses = map[string]*huma.Response{"200": {Description: "Events until the client leaves. A client without Last-Event-ID, or with " +
		"one that is not known any more, gets reset, then the state as it is now, then ready; then what changes.",
		Content: map[string]*huma.MediaType{"text/event-stream": {Schema: &huma.Schema{Type: "string"}, Example: exampleEvents}}}}
	huma.Register(s.api, op, func(ctx context.Context, in *struct {
		Last string `header:"Last-Event-ID" maxLength:"100" doc:"the id of the last event that the client has seen"`
	}) (*huma.StreamResponse, error) {
		if s.feed.listeners.Load() >= maxStreams {
			return nil, &Error{http.StatusServiceUnavailable, client.CodeBusy, "too many clients listen to events; try again later", nil}
		}
		return &huma.StreamResponse{Body: func(hc huma.Context) {
			r, w := humago.Unwrap(hc)
			s.follow(r, w, in.Last)
		}}, nil
	})
}

// follow sends events until the client leaves or is too slow, its key ends, or the process stops.
func (s *Server) follow(r *http.Request, w http.ResponseWriter, last string) {
	ctx, c := r.Context(), http.NewResponseController(w)
	position := s.feed.at(last, requestOf(ctx).Company)
	defer s.feed.leave()
	send := func(text []byte) bool {
		if err := c.SetWriteDeadline(time.Now().Add(slowest)); err != nil && !errors.Is(err, http.ErrNotSupported) {
			return false
		}
		_, err := w.Write(text)
		return err == nil && c.Flush() == nil
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Accel-Buffering", "no") // a proxy that buffers would delay the events
	if err := c.SetReadDeadline(time.Time{}); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return
	}
	if !send([]byte("retry: 2000\n\n")) {
		return
	}
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	for {
		text, more, slow := s.feed.next(position)
		if slow || len(text) > 0 && !send(text) {
			return // the client connects again with the last id that it has seen
		}
		select {
		case <-more:
		case <-beat.C:
			if _, err := s.admit(ctx, r); err != nil || !send([]byte(": heartbeat\n\n")) {
				return
			}
		case <-ctx.Done():
			return
		case <-s.ctx.Done():
			return
		}
	}
}
