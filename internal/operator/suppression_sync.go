package operator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"campaignd/campaign"
	"campaignd/internal/client/resource"
	"campaignd/internal/messaging"
	"campaignd/internal/messaging/service"
	"campaignd/internal/sentence"
	"campaignd/recipients"
)

// Blocks is what a synchronisation asks of the service. Errors are *messaging.Error.
type Blocks interface {
	Connections(ctx context.Context) ([]messaging.Connection, error)
	BlockedUsers(ctx context.Context, connection string) ([]service.Blocked, error)
	BlockUsers(ctx context.Context, connection string, users []string) ([]service.BlockResult, error)
}

// SyncSuppressions makes the suppressions and the people that are blocked at a connection agree
// (docs/operations.md#blocked-at-the-service). Blocked people are suppressed for the company of the
// connection, and no longer when none of its connections blocks them. Those whom an operator or an
// import suppressed in scope all are blocked at the service; those whom it does not block are in
// the answer, which with an error has what was done.
func (d *Session) SyncSuppressions(ctx context.Context, s Blocks, connection string) (out resource.SyncedSuppressions, err error) {
	all, err := s.Connections(ctx)
	if err != nil {
		return out, err
	}
	i := slices.IndexFunc(all, func(c messaging.Connection) bool { return c.ID == connection })
	switch {
	case i < 0:
		return out, fmt.Errorf("%w: the service lists no connection %q", ErrAbsent, connection)
	case all[i].CompanyID == "":
		return out, invalid("the service does not tell the company of connection %q", connection)
	}
	company := all[i].CompanyID
	out = resource.SyncedSuppressions{Connection: connection, Company: company, Failed: []resource.NotBlocked{}}
	if err := d.note(ctx, "suppressions sync", connection, "company "+company); err != nil {
		return out, err
	}
	there, err := s.BlockedUsers(ctx, connection)
	if err != nil {
		return out, err
	}
	blocked := map[int64]campaign.Suppression{}
	for _, b := range there {
		n := campaign.NewSuppression(recipients.Key(b.PhoneNumber), b.PhoneNumber, campaign.ScopeAll, campaign.SourceBlock, b.BlockedAt)
		n.Company = company
		blocked[n.Key] = n.Proven(campaign.Proof{Connection: connection})
	}
	gone, ours, err := d.differing(ctx, company, blocked)
	if err != nil {
		return out, err
	}
	added := slices.Collect(maps.Values(blocked))
	if out.Suppressed, err = d.Ledger.Suppress(ctx, added); err != nil {
		return out, err
	}
	// The two directions do not need each other, so a failure of one does not end the other.
	out.Lifted, err = d.liftUnblocked(ctx, s, all, connection, company, gone)
	return out, errors.Join(err, blockAll(ctx, s, ours, &out))
}

// mostFailures is how many requests may fail one after the other: then they are not at fault.
const mostFailures = 3

// blockAll blocks numbers at the connection of out. A request that fails does not end the others,
// unless mostFailures of them do.
func blockAll(ctx context.Context, s Blocks, numbers []string, out *resource.SyncedSuppressions) error {
	var first error
	failures, left := 0, 0
	for step := range slices.Chunk(numbers, service.MaxBlocked) {
		if failures == mostFailures || ctx.Err() != nil {
			left += len(step)
			continue
		}
		results, err := s.BlockUsers(ctx, out.Connection, step)
		if err != nil {
			first, failures, left = cmp.Or(first, err), failures+1, left+len(step)
			continue
		}
		failures = 0
		for _, r := range results {
			if r.Status == "blocked" {
				out.Blocked++
				continue
			}
			out.Failed = append(out.Failed, resource.NotBlocked{To: r.User, Code: int(r.Code), Why: messaging.Sentence(fmt.Sprint(r.Code))})
		}
	}
	if left == 0 {
		return nil
	}
	return fmt.Errorf("%s not asked to be blocked at the service, and the same command asks again: %w",
		sentence.Count(left, "number was", "numbers were"), cmp.Or(first, ctx.Err()))
}

// differing returns the suppressions of the company that came from a block that is gone at this
// connection, and the numbers that an operator or an import suppressed and that are not blocked. It
// takes out of blocked who is suppressed without it.
func (d *Session) differing(ctx context.Context, company string, blocked map[int64]campaign.Suppression) (
	gone []campaign.Suppression, ours []string, err error) {
	for n, err := range d.Ledger.Suppressions(ctx) {
		if err != nil {
			return nil, nil, err
		}
		if n.Scope != campaign.ScopeAll || n.Company != "" && n.Company != company || !n.InForce(time.Now()) {
			continue
		}
		key := recipients.Fold(n.Key)
		_, there := blocked[key]
		ofBlock := n.Company != "" && campaign.IsBlock(n.Source)
		kind, _, _ := strings.Cut(n.Source, ":")
		switch {
		case ofBlock && !there:
			gone = append(gone, n)
		case ofBlock:
		case there:
			delete(blocked, key)
		case (kind == "operator" || kind == "import") && n.To != "":
			ours = append(ours, n.To)
		}
	}
	return gone, ours, nil
}

// liftUnblocked lifts the suppressions of people whom no other connection of the company blocks.
func (d *Session) liftUnblocked(ctx context.Context, s Blocks, all []messaging.Connection, connection, company string,
	gone []campaign.Suppression) (lifted int, err error) {
	if len(gone) == 0 {
		return 0, nil
	}
	elsewhere := map[int64]bool{}
	for _, c := range all {
		if c.CompanyID != company || c.ID == connection {
			continue
		}
		blocked, err := s.BlockedUsers(ctx, c.ID)
		if err != nil {
			return 0, err
		}
		for _, b := range blocked {
			elsewhere[recipients.Key(b.PhoneNumber)] = true
		}
	}
	gone = slices.DeleteFunc(gone, func(n campaign.Suppression) bool { return elsewhere[recipients.Fold(n.Key)] })
	return d.Ledger.Unsuppress(ctx, gone)
}
