package notify

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"campaignd/campaign"
	"campaignd/internal/clock"
	"campaignd/internal/messaging"
)

// Ledger is what the sender needs of the ledger.
type Ledger interface {
	campaign.NotificationLedger
	Tallies(ctx context.Context, no campaign.RunNo) ([]campaign.Tally, campaign.Funnel, error)
	LastEventAt(ctx context.Context, no campaign.RunNo) (time.Time, error)
	Holds(ctx context.Context, ended bool) ([]campaign.Hold, error)
}

// Options are the options of New.
type Options struct {
	Ledger       Ledger
	Destinations []Destination
	// Expiry is the time by which notifications are too old; default: this machine's clock. While
	// it is not known, none is deleted or given up.
	Expiry clock.Source
	Log    *slog.Logger
}

const (
	every       = time.Second         // Sender.every
	batch       = 50                  // notifications of one look
	requestTime = 10 * time.Second    // one request
	tryTime     = time.Minute         // how long a try belongs to its process: the request, and the record of the answer
	giveUp      = 72 * time.Hour      // after this no try is made
	keepFor     = 30 * 24 * time.Hour // how long the ledger keeps a notification
	tidyEvery   = time.Hour           // between two removals of old notifications
	lookAgain   = time.Minute         // how soon an ended run and a hold are looked at again
	// quietTime is how long no event comes before a run with delivered messages is settled, and how
	// long a hold stays ended before its end is told.
	quietTime    = 10 * time.Minute
	settledAfter = 7 * 24 * time.Hour // after this a run is settled, whatever its statuses are
	answer       = 4 << 10            // bytes of an answer that are read
)

// waits are those between the tries: 71 h 36 min in all, after the example of Standard Webhooks.
var waits = []time.Duration{5 * time.Second, time.Minute, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour,
	10 * time.Hour, 14 * time.Hour, 20 * time.Hour, 20 * time.Hour}

// Sender sends notifications.
type Sender struct {
	o      Options
	client *http.Client
	every  time.Duration // how often the outbox is read
}

// New makes a Sender. An error names the destination and the key at fault.
func New(o Options) (*Sender, error) {
	for i := range o.Destinations {
		if err := o.Destinations[i].Check(); err != nil {
			return nil, fmt.Errorf("notifications.%s.%w", o.Destinations[i].Name, err)
		}
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	transport := &http.Transport{
		Proxy: http.ProxyFromEnvironment, DialContext: (&net.Dialer{Timeout: 10 * time.Second}).DialContext, ForceAttemptHTTP2: true,
		TLSHandshakeTimeout: 10 * time.Second, IdleConnTimeout: 90 * time.Second, MaxResponseHeaderBytes: 64 << 10,
	}
	// A redirect could lead a signed request to an address that nobody configured.
	return &Sender{o: o, every: every, client: &http.Client{Transport: transport, Timeout: requestTime,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}, nil
}

// Run sends what is due until ctx ends. A destination that does not answer delays no other.
func (s *Sender) Run(ctx context.Context) {
	var wg sync.WaitGroup
	for i := range s.o.Destinations {
		wg.Go(func() { s.sendTo(ctx, &s.o.Destinations[i]) })
	}
	for ctx.Err() == nil {
		if err := s.tidy(ctx); err != nil && ctx.Err() == nil {
			s.o.Log.Debug("old notifications cannot be removed", "err", err)
		}
		pause(ctx, tidyEvery)
	}
	wg.Wait()
	s.client.CloseIdleConnections()
}

// tidy removes old notifications. It gives up those that have been due for giveUp and whose
// destination is not in the configuration. A replica with an older configuration gives up none of a
// new destination, because another replica sends those within seconds.
func (s *Sender) tidy(ctx context.Context) error {
	now, known := s.o.Expiry.Now()
	if !known {
		return nil
	}
	all, err := s.o.Ledger.NotificationBacklogs(ctx)
	if err != nil {
		return err
	}
	for _, b := range all {
		if slices.ContainsFunc(s.o.Destinations, func(d Destination) bool { return d.Name == b.Destination }) ||
			b.State != campaign.NotificationPending && b.State != campaign.NotificationWaiting {
			continue
		}
		for more := true; more && ctx.Err() == nil; {
			left, err := s.o.Ledger.Notifications(ctx, campaign.NotificationFilter{Destination: b.Destination,
				Due: now.Add(-giveUp), Limit: batch})
			if err != nil {
				return err
			}
			more = len(left) == batch
			for _, n := range left {
				is := n
				is.State, is.Error = campaign.NotificationDead, "no destination has this name any more"
				more = s.update(ctx, n, is) && more
			}
		}
	}
	_, err = s.o.Ledger.TidyNotifications(ctx, now.Add(-keepFor))
	return err
}

// sendTo sends the notifications of one destination until ctx ends.
func (s *Sender) sendTo(ctx context.Context, d *Destination) {
	failing := false
	for ctx.Err() == nil {
		now := time.Now()
		due, err := s.o.Ledger.Notifications(ctx, campaign.NotificationFilter{Destination: d.Name, Due: now, Limit: batch})
		if err != nil && !failing && ctx.Err() == nil {
			s.o.Log.Warn("the outbox cannot be read: trying again", "destination", d.Name, "err", err)
		}
		failing = err != nil
		stored := false
		for _, n := range due {
			if ctx.Err() != nil {
				return
			}
			if n.State == campaign.NotificationWaiting {
				stored = s.look(ctx, d, n) || stored
			} else {
				stored = s.try(ctx, d, n) || stored
			}
		}
		if len(due) < batch || !stored { // what could not be stored is due again at once
			pause(ctx, s.every)
		}
	}
}

// pause waits for d, or for the end of ctx.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// update changes a notification from was to is. It reports false when another process has changed
// it, and when the ledger cannot be written.
func (s *Sender) update(ctx context.Context, was, is campaign.Notification) bool {
	// A notification that was sent is recorded although the process ends.
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer stop()
	same, err := s.o.Ledger.UpdateNotification(ctx, was, is)
	if err != nil {
		s.o.Log.Debug("a notification cannot be recorded; it is sent again with the same id", "notification", is.ID, "err", err)
	}
	return same && err == nil
}

// totals counts the rows of the run of a notification.
func (s *Sender) totals(ctx context.Context, n campaign.Notification) (map[string]int64, error) {
	tallies, _, err := s.o.Ledger.Tallies(ctx, n.Run)
	totals := map[string]int64{}
	for _, t := range tallies {
		totals[string(t.Status)] += t.N
	}
	return totals, err
}

// try sends a notification once, unless another process does. It reports whether it took the try.
func (s *Sender) try(ctx context.Context, d *Destination, n campaign.Notification) bool {
	now, was := time.Now(), n
	n.Attempts++
	n.NextAt = now.Add(tryTime)
	if n.Attempts == 1 {
		n.Since = now // giveUp counts from the first try: no process may have run before
	}
	if n.Body == "" {
		var totals map[string]int64
		var err error
		if n.Kind == campaign.NotifyRunFinished || n.Kind == campaign.NotifyRunSettled {
			if totals, err = s.totals(ctx, n); err != nil {
				return false
			}
		}
		if n.Body, err = body(d.Format, n, totals); err != nil {
			return false
		}
	}
	if !s.update(ctx, was, n) {
		return false
	}
	wait, err := s.post(ctx, d, n, now)
	if ctx.Err() != nil && err != nil {
		return true // this process ends; another one tries again after tryTime
	}
	after := n
	after.Error = ""
	switch {
	case err == nil:
		after.State = campaign.NotificationSent
	case errors.Is(err, errGone), n.Attempts > len(waits), time.Since(n.Since) >= giveUp:
		after.State, after.Error = campaign.NotificationDead, err.Error()
		s.o.Log.Error("a notification is given up; `campaignd notifications send` sends it again",
			append(about(d, n), "attempts", n.Attempts, "err", err)...)
	default:
		after.Error = err.Error()
		after.NextAt = time.Now().Add(max(waits[n.Attempts-1], wait))
		if n.Attempts == 1 {
			s.o.Log.Warn("a notification was not taken: trying again for three days", append(about(d, n), "err", err)...)
		}
	}
	s.update(ctx, n, after)
	return true
}

// about is what a line of the log says of a notification, with its run if it is about one.
func about(d *Destination, n campaign.Notification) []any {
	line := []any{"destination", d.Name, "notification", n.No, "kind", n.Kind}
	if n.Run != 0 {
		line = append(line, "run", (&campaign.Run{No: n.Run, Campaign: n.Campaign}).ID())
	}
	return line
}

// errGone says that the receiver wants no more notifications.
var errGone = errors.New("410 Gone")

// post makes one request. wait is what the answer asks for.
func (s *Sender) post(ctx context.Context, d *Destination, n campaign.Notification, now time.Time) (wait time.Duration, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, d.URL.Reveal(), strings.NewReader(n.Body))
	if err != nil {
		return 0, errors.New("the address is none") // err contains the address
	}
	req.GetBody = nil // no transport repeats it by itself
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "campaignd")
	if d.Format != Slack {
		sign(req.Header, d.keys, n.ID, n.Body, now)
	}
	resp, err := s.client.Do(req)
	if err != nil {
		var told interface{ Unwrap() error }
		if errors.As(err, &told) { // *url.Error contains the address, which may be the secret
			err = told.Unwrap()
		}
		return 0, errors.New(messaging.Scrub(err.Error(), 300))
	}
	defer resp.Body.Close()
	_, _ = io.CopyN(io.Discard, resp.Body, answer)
	switch {
	case resp.StatusCode >= 200 && resp.StatusCode <= 299:
		return 0, nil
	case resp.StatusCode == http.StatusGone:
		return 0, errGone
	}
	return messaging.RetryAfter(resp.Header), fmt.Errorf("answered %d", resp.StatusCode)
}
