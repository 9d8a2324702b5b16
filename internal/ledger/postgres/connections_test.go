//go:build unix

package postgres

import (
	"context"
	"testing"
	"time"

	"campaignd/internal/ledger"
)

// Each kind of work has a third of the connections that the configuration permits.
func TestNoKindOfWorkHasMoreThanItsConnections(t *testing.T) {
	t.Parallel()
	l := openAt(t, server(t).Database(t), ledger.Options{Sender: true, Connections: 6})
	defer l.Close()
	ended, cancel := context.WithTimeout(t.Context(), time.Second) // a third one would be made in milliseconds
	defer cancel()
	for range 2 {
		c, err := l.sender.Acquire(t.Context())
		if err != nil {
			t.Fatalf("a connection of two: %v, want no error", err)
		}
		defer l.sender.Release(c)
	}
	if c, err := l.sender.Acquire(ended); err == nil {
		l.sender.Release(c)
		t.Error("got a third connection, want two of six for sending")
	}
}
