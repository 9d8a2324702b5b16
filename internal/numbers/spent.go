package numbers

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/plan"
	"campaignd/campaign/sender"
	"campaignd/throttle"
)

// Spent is how many units of a quota's period the ledger counts as used. A message without a
// connection counts in every quota, and a message of a connection that nobody knows in every
// allowance of the configuration. Without a ledger nothing is.
func (q *Quotas) Spent(ctx context.Context, t throttle.Quota) (int64, error) {
	n, _, err := q.spent(ctx, t)
	return n, err
}

// Count is Spent for the count of a period, which lasts. It fails while the service has not listed
// its connections, if the list may tell whose messages the period has: then the quotas that
// ForConnection returns are Unknown until the list was read.
func (q *Quotas) Count(ctx context.Context, t throttle.Quota) (int64, error) {
	n, unheard, err := q.spent(ctx, t)
	if err != nil || !strings.HasPrefix(t.Key, PlanKey) || unheard == "" || q.Directory.Listed() {
		return n, err
	}
	q.mu.Lock()
	q.unheard = unheard
	q.mu.Unlock()
	return 0, errors.New(uncountedFor(unheard))
}

// uncounted is the quota of every connection while Count waits for the list of connections.
func (q *Quotas) uncounted() (sender.Quota, bool) {
	q.mu.Lock()
	unheard := q.unheard
	q.mu.Unlock()
	if unheard == "" || q.Directory.Listed() {
		return sender.Quota{}, false
	}
	return sender.Quota{By: campaign.ByAllowance, Unknown: true, Full: uncountedFor(unheard)}, true
}

func uncountedFor(connection string) string {
	return fmt.Sprintf("the allowance cannot be counted: the service cannot be asked whose connection %s is, which has sent; "+
		"else set numbers.%[1]s.company", connection)
}

// spent is Spent. unheard is a connection that has sent in the period, and whose company nobody
// knows; "": there is none.
func (q *Quotas) spent(ctx context.Context, t throttle.Quota) (n int64, unheard string, err error) {
	if q.ledger == nil {
		return 0, "", nil
	}
	all, err := q.ledger.Spent(ctx, t.From)
	if err != nil {
		return 0, "", fmt.Errorf("count what was sent: %w", err)
	}
	for connection, spent := range all {
		if q.counts(t.Key, connection) {
			n += spent
		}
		if connection != "" && spent > 0 && !q.Directory.Owned(connection) {
			unheard = max(unheard, connection)
		}
	}
	q.mu.Lock()
	q.used[t.Key] = n
	q.mu.Unlock()
	return n, unheard, nil
}

// Ramped is how many messages a number has sent on the day of now of its warm-up.
func (q *Quotas) Ramped(ctx context.Context, connection string, now time.Time) (int64, error) {
	from, _ := plan.RampPeriod(now)
	return q.Spent(ctx, throttle.Quota{Key: rampKey + connection, From: from})
}

// counts reports whether messages of the connection take units of the quota with this key. The
// figures of the billing have the messages of connections that nobody knows already.
func (q *Quotas) counts(key, connection string) bool {
	company, ofPlan := strings.CutPrefix(key, PlanKey)
	switch {
	case connection == "":
		return true
	case ofPlan && q.plan.Messages > 0 && !q.Directory.Owned(connection):
		return true
	case ofPlan:
		return q.Directory.Origin(connection).Company == company
	}
	return key == rampKey+connection
}
