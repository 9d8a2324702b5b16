package api

import (
	"context"
	"errors"
	"sync"
	"testing"

	"campaignd/internal/client/resource"
)

func TestTheClientReadsEvents(t *testing.T) {
	w := newWorld(t)
	ctx, stop := context.WithCancel(t.Context())
	var looking sync.WaitGroup
	looking.Go(func() { w.Run(ctx) })
	defer looking.Wait()
	defer stop()
	c, _ := clientOf(t, w, "read")
	enough := errors.New("enough")
	var all []resource.Event
	err := c.Events(ctx, "other-7", func(e resource.Event) error {
		all = append(all, e)
		if e.Type == resource.EventReady {
			return enough
		}
		return nil
	})
	if !errors.Is(err, enough) || len(all) < 5 || all[0].Type != resource.EventReset || string(all[0].Data) != `{"reason":"unknown_id"}` ||
		all[len(all)-1].ID == "" {
		t.Errorf("got %v (%v), want reset for an unknown id, the state, and ready with an id", all, err)
	}
}
