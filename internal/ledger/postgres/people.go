package postgres

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"campaignd/campaign"
	"campaignd/internal/ledger"
	"campaignd/recipients"
)

const (
	sqlNow = `SELECT ledger_now()`
	// A portfolio's row is the lock of its places. It is locked before rows of reach everywhere.
	sqlLockPortfolios = `SELECT id, taken FROM portfolio WHERE id = ANY($1) ORDER BY id FOR NO KEY UPDATE`
	sqlFreePlaces     = `WITH d AS (DELETE FROM reach WHERE portfolio = ANY($1) AND at <= ledger_now() - $2::bigint RETURNING portfolio, key)
		SELECT portfolio, count(DISTINCT key) FROM d WHERE NOT EXISTS (SELECT 1 FROM reach n
			WHERE n.key = d.key AND n.portfolio = d.portfolio AND n.at > ledger_now() - $2::bigint) GROUP BY portfolio`
	sqlReached  = `SELECT DISTINCT portfolio, key FROM reach WHERE key = ANY($1) AND portfolio = ANY($2)`
	sqlInbound  = `SELECT connection, key FROM inbound WHERE key = ANY($1) AND connection = ANY($2) AND at > ledger_now() - $3::bigint`
	sqlContacts = `SELECT key, rid, at, connection, capped FROM contact WHERE key = ANY($1) AND until > ledger_now()`
)

// addressees is what a transaction of intents reads of its recipients, and what it writes of them.
type addressees struct {
	people *ledger.People // made when all is read
	keys   map[int64]int64
	now    int64
	taken  map[string]int64 // by portfolio, as stored
	freed  map[string]int64 // places whose last message no longer counts: deleted

	places, windows []ledger.Reached // Portfolio of a window is its connection
	contacts        []ledger.Contact

	portfolios  []string // of the intents, in the order of their locks
	reach       []ledger.Reached
	contact     []ledger.Contact
	fresh, late map[int64]ledger.Deferral // deferred deliveries, deferred retries
	full        []full
}

// full is an answer that a tier limits.
type full struct {
	answer int
	tier   *ledger.Full
}

// readRecipients reads what the intents need to know of their recipients, nil if that is nothing.
// Its queries follow the locks of segments and outcomes.
func (g *grants) readRecipients(in []campaign.Intent) (qs []*query) {
	c := &addressees{keys: map[int64]int64{}, taken: map[string]int64{}, freed: map[string]int64{},
		fresh: map[int64]ledger.Deferral{}, late: map[int64]ledger.Deferral{}}
	var keys []int64
	var connections []string
	contacts, any := false, false
	for i := range in {
		x := &in[i]
		if !ledger.CountsPeople(x) {
			continue
		}
		any, contacts = true, contacts || x.Cap != nil || x.Pair
		connections = append(connections, ledger.PlainText(x.Connection))
		if x.Tier.Places > 0 {
			c.portfolios = append(c.portfolios, ledger.PlainText(ledger.Portfolio(x)))
		}
		if !ledger.Keyed(x) { // malformed
			continue
		}
		for n, id := range ledger.RowIDs(x) {
			c.keys[id] = x.Keys[n]
		}
	}
	if !any {
		return nil
	}
	g.recipients = c
	for _, key := range c.keys {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	keys = slices.Compact(keys)
	slices.Sort(c.portfolios)
	c.portfolios = slices.Compact(c.portfolios)
	if len(c.portfolios) > 0 {
		qs = append(qs, each(countsInto(c.taken), sqlLockPortfolios, c.portfolios),
			each(countsInto(c.freed), sqlFreePlaces, c.portfolios, campaign.ReachFor.Milliseconds()),
			list(&c.places, scanReached, sqlReached, keys, c.portfolios),
			list(&c.windows, scanReached, sqlInbound, keys, connections, ledger.InboundFor.Milliseconds()))
	}
	if contacts {
		qs = append(qs, list(&c.contacts, ledger.ScanContact, sqlContacts, recipients.Spelled(keys)))
	}
	return append(qs, row(&c.now, sqlNow))
}

func countsInto(counts map[string]int64) func(scanFunc) error {
	return func(scan scanFunc) error {
		var id string
		var n int64
		err := scan(&id, &n)
		counts[id] = n
		return err
	}
}

func scanReached(scan scanFunc) (r ledger.Reached, err error) {
	err = scan(&r.Portfolio, &r.Key)
	return r, err
}

// ready makes People of what was read.
func (c *addressees) ready() {
	c.people = ledger.NewPeople(c.now)
	for _, id := range c.portfolios {
		c.people.Taken(id, c.taken[id]-c.freed[id])
	}
	for _, r := range c.places {
		c.people.Reach(r.Portfolio, r.Key)
	}
	for _, r := range c.windows {
		c.people.Inbound(r.Portfolio, r.Key)
	}
	for _, one := range c.contacts {
		c.people.Contact(one)
	}
}

// add collects what an intent took, and whom it made wait.
func (c *addressees) add(in *campaign.Intent, d *ledger.Decision) {
	c.reach, c.contact = append(c.reach, d.Reached...), append(c.contact, d.Contacts...)
	for seq, wait := range d.Defer {
		if seq >= in.From {
			c.fresh[ledger.RowID(in.Lease.Run, seq)] = wait
		} else {
			c.late[ledger.RowID(in.Lease.Run, seq)] = wait
		}
	}
}

const (
	sqlNewPortfolio = `INSERT INTO portfolio (id, taken) VALUES ($1, 0) ON CONFLICT (id) DO NOTHING`
	// LATERAL with OFFSET 0, because the planner could reverse the joins (see each).
	sqlCountReached = `INSERT INTO reach (key, portfolio, at, rid)
		SELECT d.key, $1, o.result_at, o.rid FROM run r
		CROSS JOIN LATERAL (SELECT run, lo, hi, connection FROM segment
			WHERE id >= r.no << 32 AND id < (r.no + 1) << 32 AND (connection = $2 OR moved > 0) OFFSET 0) s
		CROSS JOIN LATERAL (SELECT rid, result_at FROM outcome WHERE rid >= (s.run << 32) + s.lo AND rid < (s.run << 32) + s.hi
			AND coalesce(connection, s.connection) = $2 AND state IN (3, 4, 5) /* perhaps sent */ AND result_at > $3 OFFSET 0) o
		CROSS JOIN LATERAL (SELECT key FROM delivery WHERE rid = o.rid AND key <> 0 OFFSET 0) d
		WHERE r.ended_at = 0 OR r.ended_at > $3 ORDER BY d.key, o.rid
		ON CONFLICT (key, portfolio, rid) DO NOTHING`
	sqlRecount = `UPDATE portfolio SET taken = (SELECT count(DISTINCT key) FROM reach WHERE portfolio = $1) WHERE id = $1`
)

// countReached counts whom the connections of intents reached within ledger.CountedFor, once.
func (l *Ledger) countReached(ctx context.Context, in []campaign.Intent) error {
	for _, m := range l.tiers.Uncounted(in) {
		portfolio := ledger.PlainText(m.Portfolio)
		if err := l.change(ctx, l.sender, "", func(t *tx) error {
			return t.do(stmt(nil, sqlNewPortfolio, portfolio), stmt(nil, sqlLockPortfolios, []string{portfolio}),
				stmt(nil, sqlCountReached, portfolio, ledger.PlainText(m.Connection), ledger.Millis(time.Now().Add(-ledger.CountedFor))),
				stmt(nil, sqlRecount, portfolio))
		}); err != nil {
			return err
		}
		l.tiers.Counted(m)
	}
	return nil
}

// sqlNextPlace finds when the place was taken that ends after $2 others.
const sqlNextPlace = `SELECT r.at FROM reach r WHERE r.portfolio = $1 AND ` + sqlLastReach + ` ORDER BY r.at LIMIT 1 OFFSET $2`

// sqlLastReach is true for the last message to a recipient, whose time is that of the place.
const sqlLastReach = `NOT EXISTS (SELECT 1 FROM reach n
	WHERE n.key = r.key AND n.portfolio = r.portfolio AND (n.at, n.rid) > (r.at, r.rid))`

// limits says of each answer that a full tier limits when it may be asked for again.
func (c *addressees) limits(t *tx, answers []campaign.Granted) error {
	for _, f := range c.full {
		var at int64
		if err := t.do(row(&at, sqlNextPlace, f.tier.Portfolio, f.tier.Over())); err != nil && !errors.Is(err, pgx.ErrNoRows) {
			return err
		}
		answers[f.answer].Limit = c.people.Limit(*f.tier, at)
	}
	return nil
}

const (
	sqlReach = `INSERT INTO reach (key, portfolio, at, rid)
		SELECT w.key, w.portfolio, $4, w.rid FROM unnest($1::bigint[], $2::text[], $3::bigint[]) w (key, portfolio, rid) ORDER BY 1, 2, 4
		ON CONFLICT (key, portfolio, rid) DO UPDATE SET at = excluded.at`
	sqlSetTaken = `UPDATE portfolio p SET taken = w.n FROM unnest($1::text[], $2::bigint[]) w (id, n) WHERE p.id = w.id`
	sqlContact  = `INSERT INTO contact (key, rid, at, until, connection, capped)
		SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::text[], $6::boolean[]) ORDER BY 1, 2
		ON CONFLICT (key, rid) DO UPDATE SET at = excluded.at, until = excluded.until`
	sqlDeferFresh = `INSERT INTO outcome (rid, state, attempt, next_due, code, result_at)
		SELECT r, 1 /* deferred */, 0, due, why, $4 FROM unnest($1::bigint[], $2::bigint[], $3::text[]) w (r, due, why) ORDER BY r`
	sqlDeferAgain = `UPDATE outcome o SET next_due = w.due, code = w.why
		FROM unnest($1::bigint[], $2::bigint[], $3::text[]) w (r, due, why)
		WHERE o.rid = ANY($1) AND o.rid = w.r AND o.state = 1 /* deferred */`
)

// write returns the statements that write what the intents took. at is now by the clock of this
// process, in milliseconds.
func (c *addressees) write(at int64) (qs []*query) {
	if len(c.reach) > 0 {
		var keys, rids []int64
		var portfolios []string
		for _, r := range c.reach {
			keys, portfolios, rids = append(keys, r.Key), append(portfolios, r.Portfolio), append(rids, r.RID)
		}
		qs = append(qs, stmt(nil, sqlReach, keys, portfolios, rids, c.now))
	}
	var ids []string
	var taken []int64
	for _, id := range c.portfolios {
		if n := c.people.Used(id); n != c.taken[id] {
			ids, taken = append(ids, id), append(taken, max(0, n))
		}
	}
	if len(ids) > 0 {
		qs = append(qs, stmt(nil, sqlSetTaken, ids, taken))
	}
	if len(c.contact) > 0 {
		var keys, rids, ats, untils []int64
		var connections []string
		var capped []bool
		for _, one := range c.contact {
			keys, rids, ats, untils = append(keys, one.Key), append(rids, one.RID), append(ats, one.At), append(untils, one.Until())
			connections, capped = append(connections, ledger.PlainText(one.Connection)), append(capped, one.Capped)
		}
		qs = append(qs, stmt(nil, sqlContact, keys, rids, ats, untils, connections, capped))
	}
	if len(c.fresh) > 0 {
		rids, due, why := deferrals(c.fresh)
		qs = append(qs, stmt(nil, sqlDeferFresh, rids, due, why, at))
	}
	if len(c.late) > 0 {
		rids, due, why := deferrals(c.late)
		qs = append(qs, stmt(nil, sqlDeferAgain, rids, due, why))
	}
	return qs
}

// deferred are the row ids of the deliveries that wait.
func (c *addressees) deferred() []int64 {
	return slices.AppendSeq(slices.Collect(maps.Keys(c.fresh)), maps.Keys(c.late))
}

func deferrals(all map[int64]ledger.Deferral) (rids, due []int64, why []string) {
	for rid, wait := range all {
		rids, due, why = append(rids, rid), append(due, wait.At), append(why, wait.Why)
	}
	return rids, due, why
}
