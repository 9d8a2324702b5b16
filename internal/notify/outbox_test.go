package notify

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"campaignd/campaign"
)

// outbox is a ledger in memory, with the conditional update of the real ones.
type outbox struct {
	mu      sync.Mutex
	all     []campaign.Notification
	tallies []campaign.Tally
	holds   []campaign.Hold
	last    time.Time
	refuses error // of updates
	reads   int
	tidied  time.Time
}

func (o *outbox) add(n campaign.Notification) {
	o.mu.Lock()
	defer o.mu.Unlock()
	n.No = int64(len(o.all) + 1)
	if n.ID == "" {
		n.ID = "ntf_" + strings.Repeat("0", len(o.all)+1)
	}
	if n.At = time.Now(); n.State == "" {
		n.State = campaign.NotificationPending
	}
	n.Since, n.NextAt = n.At, n.At
	o.all = append(o.all, n)
}

func (o *outbox) get(no int64) campaign.Notification {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.all[no-1]
}

func (o *outbox) Notifications(_ context.Context, f campaign.NotificationFilter) (all []campaign.Notification, _ error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.reads++; o.refuses != nil && o.reads >= 1000 {
		return nil, errors.New("read too often without a pause") // the reader pauses after an error
	}
	for _, n := range o.all {
		open := n.State == campaign.NotificationPending || n.State == campaign.NotificationWaiting
		if n.Destination == f.Destination && open && !n.NextAt.After(f.Due) && len(all) < f.Limit {
			all = append(all, n)
		}
	}
	return all, nil
}

func (o *outbox) UpdateNotification(_ context.Context, was, is campaign.Notification) (bool, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.refuses != nil || o.all[was.No-1] != was {
		return false, o.refuses
	}
	o.all[was.No-1] = is
	return true, nil
}

func (o *outbox) Holds(context.Context, bool) ([]campaign.Hold, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Clone(o.holds), nil
}

func (o *outbox) setHold(h campaign.Hold) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.holds = []campaign.Hold{h}
}

func (o *outbox) TidyNotifications(_ context.Context, before time.Time) (int64, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.tidied = before
	return 0, nil
}

func (o *outbox) NotificationBacklogs(context.Context) (all []campaign.NotificationBacklog, _ error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, n := range o.all {
		all = append(all, campaign.NotificationBacklog{Destination: n.Destination, State: n.State, N: 1, Oldest: n.At})
	}
	return all, nil
}

func (o *outbox) Tallies(context.Context, campaign.RunNo) ([]campaign.Tally, campaign.Funnel, error) {
	return o.tallies, campaign.Funnel{}, nil
}

func (o *outbox) LastEventAt(context.Context, campaign.RunNo) (time.Time, error) { return o.last, nil }

// receiver answers requests, and remembers them.
type receiver struct {
	mu     sync.Mutex
	answer func(*http.Request) (status int, header http.Header)
	ids    []string
	bodies []string
	at     []time.Time
}

func (r *receiver) set(answer func(*http.Request) (int, http.Header)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answer = answer
}

func (r *receiver) RoundTrip(req *http.Request) (*http.Response, error) {
	text, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	r.ids, r.bodies, r.at = append(r.ids, req.Header.Get("webhook-id")), append(r.bodies, string(text)), append(r.at, time.Now())
	answer := r.answer
	r.mu.Unlock()
	status, header := answer(req)
	if status == 0 {
		<-req.Context().Done()
		return nil, req.Context().Err()
	}
	return &http.Response{StatusCode: status, Header: header, Body: io.NopCloser(strings.NewReader("")), Request: req}, nil
}

func (r *receiver) tries() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.ids)
}

func always(status int) func(*http.Request) (int, http.Header) {
	return func(*http.Request) (int, http.Header) { return status, nil }
}
