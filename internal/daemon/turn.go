package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/launch"
	"campaignd/internal/config"
	"campaignd/internal/messaging/connector"
	"campaignd/internal/numbers"
	"campaignd/throttle"
)

// turnOf is the turn of the test messages of a process that knows its numbers.
func turnOf(l campaign.Ledger, of *numbers.Directory, limits throttle.Limiter) launch.Turn {
	return launch.Turn{Limiter: limits, Pace: of.Pace, Origin: of.Sending,
		Holds: func(ctx context.Context) ([]campaign.Hold, error) { return l.Holds(ctx, false) }}
}

// testEvery is how long after a test message of one process that of another waits, where they do
// not share the slots of the number.
const testEvery = time.Second

// LocalTurn is the turn of a test message of a process of its own: a command. l is nil if there is
// no ledger yet. Over redis it shares the slots of the numbers with the processes that send.
// Without redis such a process may not be there, and one command after the other sends, a second
// apart. close must be called.
func LocalTurn(ctx context.Context, c *config.Config, l campaign.Ledger, s *connector.Set, log *slog.Logger,
) (turn launch.Turn, end func(), err error) {
	of := numbers.NewDirectory(c)
	_, err = of.RefreshConnections(ctx, s)
	if err == nil {
		_, err = of.RefreshRates(ctx, s)
	}
	if err != nil {
		return turn, nil, err
	}
	turn, end = turnOf(l, of, throttle.NewLocal()), func() {}
	if l == nil {
		turn.Holds = nil
		return turn, end, nil
	}
	if c.Redis != "" {
		r, err := throttle.NewRedis(ctx, c.Redis, throttle.Options{Ledger: l.LedgerID(), Log: log, Address: c.RedisNow()})
		if err != nil {
			return turn, nil, err
		}
		turn.Limiter = r
		return turn, func() { _ = r.Close() }, nil
	}
	owner := ownerName()
	turn.Alone = func(ctx context.Context, connection string) error { return alone(ctx, l, owner, connection) }
	return turn, end, nil
}

// alone waits until no other command sends a test message over the connection, and fails while a
// process sends runs over it.
func alone(ctx context.Context, l campaign.Ledger, owner, connection string) error {
	for {
		lanes, err := l.LiveLanes(ctx, campaign.LaneMissed, owner)
		if err != nil {
			return err
		}
		for _, lane := range lanes {
			if lane.Connection == connection && !lane.Gone(time.Now()) {
				return fmt.Errorf("%w: %s sends over %s, and does not share its slots with this command: have it send the test (its console, "+
					"or --server), or wait for its end; nothing was sent", campaign.ErrNotNow, lane.Sender(), connection)
			}
		}
		_, ok, err := l.AcquireJob(ctx, "test "+connection, owner, testEvery)
		if ok || err != nil {
			return err
		}
		left, err := l.JobLeft(ctx, "test "+connection)
		if err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return errors.Join(ctx.Err())
		case <-time.After(max(left, 10*time.Millisecond)):
		}
	}
}
