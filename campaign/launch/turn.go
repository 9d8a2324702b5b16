package launch

import (
	"context"
	"errors"
	"fmt"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/wording"
	"campaignd/internal/messaging"
	"campaignd/throttle"
)

const (
	// turnWait is the longest that a test message waits for a slot.
	turnWait = 10 * time.Second
	// turnLate is how late after its slot the first byte of a test message may be: as late as that
	// of a run (docs/limits.md#slots).
	turnLate = throttle.Lateness + 15*time.Millisecond
)

// Turn lets a test message be sent as the messages of runs are: in a slot of its number, and not
// while a hold stops it.
type Turn struct {
	// Holds returns the holds in force.
	Holds func(ctx context.Context) ([]campaign.Hold, error)
	// Origin is what holds can name of a connection.
	Origin func(connection string) campaign.Origin
	// Limiter is the one that the runs of the number use; nil: this process sends nothing.
	Limiter throttle.Limiter
	// Pace is that of the connection, in messages a second; 0: not known.
	Pace func(connection string) float64
	// Alone, if not nil, waits until no other process sends a test message over the connection, and
	// fails with campaign.ErrNotNow while a run does whose slots this process does not share.
	Alone func(ctx context.Context, connection string) error
}

// send sends a test message once. An error that wraps campaign.ErrNotNow says why nothing was sent.
func (t Turn) send(ctx context.Context, service Tester, m *messaging.Message) (messaging.Receipt, error) {
	none, connection := messaging.Receipt{}, m.ConnectionID
	if t.Limiter == nil {
		return none, fmt.Errorf("%w: this process sends nothing; have one that sends send the test", campaign.ErrNotNow)
	}
	pace := t.Pace(connection)
	if pace <= 0 {
		return none, fmt.Errorf("%w: the pace of %s is not known, because the service does not list its numbers; nothing was sent",
			campaign.ErrNotNow, connection)
	}
	waiting, end := context.WithTimeout(ctx, turnWait)
	defer end()
	if t.Alone != nil {
		if err := t.Alone(waiting, connection); err != nil {
			return none, t.over(ctx, waiting, connection, err)
		}
	}
	for {
		slots, err := t.Limiter.Lease(waiting, connection, pace, 1)
		if err != nil && !errors.Is(err, throttle.ErrUnavailable) {
			return none, t.over(ctx, waiting, connection, err)
		}
		wait := max(slots.Wait, 10*time.Millisecond)
		if err == nil && slots.N > 0 {
			wait = time.Until(slots.First)
		}
		select {
		case <-waiting.Done():
			return none, t.over(ctx, waiting, connection, waiting.Err())
		case <-time.After(wait):
		}
		if slots.N == 0 {
			continue
		}
		if err := t.held(ctx, m); err != nil {
			return none, err
		}
		m.Until = slots.First.Add(turnLate)
		receipt, err := service.Send(ctx, m)
		if errors.Is(err, messaging.ErrLate) {
			continue
		}
		var e *messaging.Error
		t.Limiter.Observe(connection, slots.Stage, errors.As(err, &e) && e.Action == messaging.Slow)
		return receipt, err
	}
}

// over is the error of a wait that failed with err.
func (t Turn) over(ctx, waiting context.Context, connection string, err error) error {
	if waiting.Err() == nil || ctx.Err() != nil {
		return err
	}
	return fmt.Errorf("%w: %s had no free slot for a test message within %s; nothing was sent, so try again", campaign.ErrNotNow,
		connection, turnWait)
}

// held says which hold stops the message.
func (t Turn) held(ctx context.Context, m *messaging.Message) error {
	if t.Holds == nil {
		return nil
	}
	holds, err := t.Holds(ctx)
	if err != nil {
		return fmt.Errorf("read the holds: %w", err)
	}
	o, now := t.Origin(m.ConnectionID), time.Now()
	if m.Template != nil {
		o.Template, o.Language = m.Template.Name, m.Template.Language
	}
	if h, held := campaign.HeldBy(holds, o, now); held {
		return fmt.Errorf("%w: %s; no test message was sent", campaign.ErrNotNow, wording.Hold(h, now))
	}
	return nil
}
