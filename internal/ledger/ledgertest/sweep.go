package ledgertest

import (
	"fmt"
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/internal/ledger"
)

// One sweep examines 5,000 orphans and deletes 5,000 old ones. The next sweep continues where it
// stopped. The answer counts exactly what the sweep did.
func eachSweepTakesOneStepAndCountsIt(t *testing.T, l Tables) {
	r := sparse(t, l, "r", 0)
	begin(t, l, r)
	now := time.Now()
	// Orphans as another process leaves them: two statuses of one message, one of another, and one of
	// another program with the same hash.
	for _, o := range []struct {
		of, id string
		rank   ledger.Rank
	}{
		{MessageID(r.No, 0), MessageID(r.No, 0), ledger.RankSent},
		{MessageID(r.No, 0), MessageID(r.No, 0), ledger.RankDelivered},
		{MessageID(r.No, 0), "of the same hash", ledger.RankRead},
		{MessageID(r.No, ledger.AuditStep), MessageID(r.No, ledger.AuditStep), ledger.RankRead},
	} {
		alter(t, l, fmt.Sprintf(`INSERT INTO orphan (mh, message_id, rank, at, received_at, key, connection, code)
			VALUES (%d, '%s', %d, %d, %d, 0, '', '')`,
			l.MessageHash(o.of), o.id, o.rank, ledger.Millis(now), ledger.Millis(now)+1))
	}
	// As many orphans of other programs as one step examines come before them all.
	alter(t, l, fmt.Sprintf(`WITH RECURSIVE s (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM s WHERE i < %d)
			INSERT INTO orphan (mh, message_id, rank, at, received_at, key, connection, code)
			SELECT -9223372036854775000 + i, 'stranger', 1, 0, %d, 0, '', '' FROM s`,
		ledger.SweepStep, ledger.Millis(now)))
	week := now.Add(ledger.OrphanAge)
	for i, c := range []struct {
		at   time.Time
		want campaign.Swept
	}{
		{now, campaign.Swept{Left: ledger.SweepStep + 4}},
		{now, campaign.Swept{Matched: 3, Left: ledger.SweepStep + 1}},
		{now, campaign.Swept{Left: ledger.SweepStep + 1}},
		{week, campaign.Swept{Left: ledger.SweepStep + 1}}, // a week old, not older
		{week.Add(time.Millisecond), campaign.Swept{Expired: ledger.SweepStep, Left: 1}},
		{week.Add(time.Millisecond), campaign.Swept{Left: 1}},
		{week.Add(time.Second), campaign.Swept{Expired: 1}},
		{week.Add(time.Second), campaign.Swept{}},
	} {
		got, err := l.Sweep(t.Context(), c.at)
		if err != nil || got != c.want {
			t.Errorf("sweep %d did %+v, %v; want %+v, no error", i+1, got, err, c.want)
		}
	}
	sum := Totals(t, l, r.No)
	if sum[campaign.Delivered] != 1 || sum[campaign.Read] != 1 || sum[campaign.Accepted] != 1 {
		t.Errorf("totals %v, want Delivered 1, Read 1, Accepted 1", sum)
	}
	Audited(t, l, r.No)
}
