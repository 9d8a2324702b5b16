package postgres

import (
	"campaignd/campaign"
	"campaignd/internal/ledger"
	"campaignd/recipients"
)

// decide answers one intent from the rows that were read and the intents that were granted before
// it.
func (g *grants) decide(in campaign.Intent) (campaign.Granted, error) {
	s, r := g.segments[ledger.SegmentKey(in.Lease.Run, in.Lease.Index)], g.runs[int64(in.Lease.Run)]
	if s == nil || r == nil {
		return campaign.Granted{Fenced: true}, nil
	}
	in.Connection, in.Tier.Portfolio = ledger.PlainText(in.Connection), ledger.PlainText(in.Tier.Portfolio)
	sending := ledger.Sending{Epoch: s.epoch, Lo: s.lo, Hi: s.hi, Mark: s.mark, Done: s.done, Connection: s.connection,
		State: r.state, Wanted: r.wanted, Marketing: r.marketing, Budget: r.limit, Taken: r.taken + r.count, Holds: g.holds}
	answer, ok, err := sending.Admit(&in)
	if err != nil || !ok {
		return answer, err
	}
	rows := g.rows
	rows.Suppressed = g.suppressed(&in, r.marketing)
	if g.recipients != nil && ledger.CountsPeople(&in) {
		sending.People, rows.Keys = g.recipients.people, g.recipients.keys
	}
	d := sending.Grant(&in, rows)
	if d.Full != nil {
		g.recipients.full = append(g.recipients.full, full{len(g.answers), d.Full})
	}
	if d.Write {
		s.mark, s.connection, s.wrote = d.Mark, in.Connection, true
		s.count += d.Count
		r.count += d.Count
		r.start = r.start || d.Start
		g.add(in.Lease.Run, s, &d)
		if g.recipients != nil {
			g.recipients.add(&in, &d)
		}
	}
	return d.Answer, nil
}

// suppressed returns the deliveries of an intent that must not be sent.
func (g *grants) suppressed(in *campaign.Intent, marketing bool) (found ledger.Stops) {
	if in.LeaveOut {
		for _, id := range g.repeated {
			found.AddReason(id, campaign.SentBefore)
		}
	}
	if len(g.byKey) == 0 {
		return found
	}
	for n, id := range ledger.RowIDs(in) {
		key := in.Keys[n]
		for _, scopes := range [][]string{g.byKey[key], g.byKey[recipients.Other(key)]} {
			for _, s := range scopes {
				found.Add(id, s, marketing, in.Origin.Company)
			}
		}
	}
	return found
}

// add collects what is to be written for one intent.
func (g *grants) add(no campaign.RunNo, s *segment, d *ledger.Decision) {
	for seq, why := range d.Skip {
		g.skipRids, g.skipWhy = append(g.skipRids, ledger.RowID(no, seq)), append(g.skipWhy, string(why))
	}
	for _, r := range d.Grant {
		id := ledger.RowID(no, r.Seq)
		g.retryRids, g.retryAttempts = append(g.retryRids, id), append(g.retryAttempts, int64(r.Attempt))
		g.retryBy = append(g.retryBy, ledger.PlainText(s.connection))
		s.retried, s.attempts = append(s.retried, id), append(s.attempts, int64(r.Attempt))
		g.rows.Retries[id] = ledger.Waiting{State: ledger.Retrying, Attempt: r.Attempt} // for a later intent of the same transaction
	}
	for seq := range d.Defer {
		g.rows.Retries[ledger.RowID(no, seq)] = ledger.Waiting{} // no later intent of the same transaction grants it
	}
	for seq, why := range d.SkipRetries {
		id := ledger.RowID(no, seq)
		g.skipRetryRids, g.skipRetryWhy = append(g.skipRetryRids, id), append(g.skipRetryWhy, string(why))
		g.rows.Retries[id] = ledger.Waiting{State: ledger.Skipped}
	}
}
