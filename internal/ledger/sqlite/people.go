package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"time"

	"campaignd/campaign"
	"campaignd/internal/ledger"
	"campaignd/recipients"
)

const (
	sqlCountFree = `SELECT count(DISTINCT r.key) FROM reach r WHERE r.portfolio = ?1 AND r.at <= ?2`
	sqlCountLate = `SELECT count(DISTINCT r.key) FROM reach r CROSS JOIN reach n ON n.key = r.key AND n.portfolio = r.portfolio AND +n.at > ?2
		WHERE r.portfolio = ?1 AND r.at <= ?2`
	sqlFreePlaces = `DELETE FROM reach WHERE portfolio = ?1 AND at <= ?2`
	sqlTaken      = `SELECT coalesce((SELECT taken FROM portfolio WHERE id = ?1), 0),
		EXISTS (SELECT 1 FROM reach r WHERE r.portfolio = ?1 AND r.at <= ?2)`
	sqlSetTaken = `INSERT INTO portfolio (id, taken) VALUES (?1, ?2) ON CONFLICT (id) DO UPDATE SET taken = ?2`
	sqlPlacesOf = `SELECT d.rid, d.key, EXISTS (SELECT 1 FROM reach r WHERE r.key = d.key AND r.portfolio = ?3),
			EXISTS (SELECT 1 FROM inbound i WHERE i.key = d.key AND i.connection = ?4 AND i.at > ?5)
		FROM delivery d WHERE d.rid >= ?1 AND d.rid < ?2`
	sqlContacts = `SELECT d.rid, d.key, coalesce(c.rid, 0), coalesce(c.at, 0), coalesce(c.connection, ''), coalesce(c.capped, 0)
		FROM delivery d LEFT JOIN contact c ON c.key = d.key AND c.until > ?3 WHERE d.rid >= ?1 AND d.rid < ?2`
	sqlContactsOf = `SELECT key, rid, at, connection, capped FROM contact WHERE key = ? AND until > ?`
)

// people reads what an intent needs to know of its recipients, and their keys.
func (t *tx) people(in *campaign.Intent, now int64) (p *ledger.People, keys map[int64]int64, err error) {
	if !ledger.CountsPeople(in) {
		return nil, nil, nil
	}
	p, keys = ledger.NewPeople(now), map[int64]int64{}
	portfolio := ledger.Portfolio(in)
	if in.Tier.Places > 0 {
		taken, err := t.freePlaces(portfolio, now)
		if err != nil {
			return nil, nil, err
		}
		p.Taken(portfolio, taken)
	}
	read := func(first, end int64) error {
		if in.Tier.Places > 0 {
			since := now - ledger.InboundFor.Milliseconds()
			if err := t.each(sqlPlacesOf, args(first, end, portfolio, in.Connection, since), func(scan scanFunc) error {
				var id, key int64
				var reached, inbound bool
				err := scan(&id, &key, &reached, &inbound)
				if keys[id] = key; reached {
					p.Reach(portfolio, key)
				}
				if inbound {
					p.Inbound(in.Connection, key)
				}
				return err
			}); err != nil {
				return err
			}
		}
		if in.Cap == nil && !in.Pair {
			return nil
		}
		return t.each(sqlContacts, args(first, end, now), func(scan scanFunc) error {
			var id int64
			var c ledger.Contact
			err := scan(&id, &c.Key, &c.RID, &c.At, &c.Connection, &c.Capped)
			if keys[id] = c.Key; c.RID != 0 {
				p.Contact(c)
			}
			return err
		})
	}
	if in.To > in.From {
		err = read(ledger.RowID(in.Lease.Run, in.From), ledger.RowID(in.Lease.Run, in.To))
	}
	for _, r := range in.Retries {
		if id := ledger.RowID(in.Lease.Run, r.Seq); err == nil {
			err = read(id, id+1)
		}
	}
	for _, key := range keys {
		if other := recipients.Other(key); other != 0 && err == nil && (in.Cap != nil || in.Pair) {
			err = t.each(sqlContactsOf, args(other, now), func(scan scanFunc) error {
				c, err := ledger.ScanContact(scan)
				p.Contact(c)
				return err
			})
		}
	}
	return p, keys, err
}

// freePlaces frees the places of a portfolio whose time is over, and returns how many are taken.
func (t *tx) freePlaces(portfolio string, now int64) (taken int64, err error) {
	var people, late int64
	var some bool
	a := args(portfolio, now-campaign.ReachFor.Milliseconds())
	if err := t.row(sqlTaken, a, &taken, &some); err != nil || !some {
		return taken, err
	}
	if err := t.row(sqlCountFree, a, &people); err != nil {
		return 0, err
	}
	if err := t.row(sqlCountLate, a, &late); err != nil {
		return 0, err
	}
	if _, err := t.exec(sqlFreePlaces, a...); err != nil {
		return 0, err
	}
	taken = max(0, taken-(people-late))
	_, err = t.exec(sqlSetTaken, portfolio, taken)
	return taken, err
}

const (
	sqlCountReached = `INSERT INTO reach (key, portfolio, at, rid)
		SELECT d.key, ?1, o.result_at, o.rid FROM run r
		CROSS JOIN segment s ON s.id >= r.no << 32 AND s.id < (r.no + 1) << 32 AND (s.connection = ?2 OR s.moved > 0)
		CROSS JOIN outcome o ON o.rid >= (s.run << 32) + s.lo AND o.rid < (s.run << 32) + s.hi
		CROSS JOIN delivery d ON d.rid = o.rid
		WHERE (r.ended_at = 0 OR r.ended_at > ?3) AND (o.connection = ?2 OR o.connection = '' AND s.connection = ?2)
		AND o.state IN (3, 4, 5) /* perhaps sent */
		AND o.result_at > ?3 AND d.key <> 0
		ON CONFLICT (key, portfolio, rid) DO NOTHING`
	sqlRecount = `INSERT INTO portfolio (id, taken) SELECT ?1, count(DISTINCT key) FROM reach WHERE portfolio = ?1
		ON CONFLICT (id) DO UPDATE SET taken = excluded.taken`
)

// countReached counts whom the connections of intents reached within ledger.CountedFor, once.
func (l *Ledger) countReached(ctx context.Context, in []campaign.Intent) error {
	for _, m := range l.tiers.Uncounted(in) {
		err := l.submit(ctx, &op{urgency: results, rows: campaign.SegmentSize, run: func(t *tx) error {
			if _, err := t.exec(sqlCountReached, m.Portfolio, m.Connection, ledger.Millis(time.Now().Add(-ledger.CountedFor))); err != nil {
				return err
			}
			_, err := t.exec(sqlRecount, m.Portfolio)
			return err
		}})
		if err != nil {
			return err
		}
		l.tiers.Counted(m)
	}
	return nil
}

// sqlNextPlace finds when the place was taken that ends after ?2 others.
const sqlNextPlace = `SELECT r.at FROM reach r WHERE r.portfolio = ?1 AND ` + sqlLastReach + ` ORDER BY r.at LIMIT 1 OFFSET ?2`

// sqlLastReach is true for the last message to a recipient, whose time is that of the place. The
// plus sign, also in sqlCountLate, keeps SQLite from the index of times, with which each row read
// all later ones: 8 s of a processor for 19,000 people, 9 ms with the primary key.
const sqlLastReach = `NOT EXISTS (SELECT 1 FROM reach n
	WHERE n.key = r.key AND n.portfolio = r.portfolio AND (+n.at, n.rid) > (r.at, r.rid))`

// full says what limits an intent whose tier is full.
func (t *tx) full(p *ledger.People, f *ledger.Full) (campaign.Limit, error) {
	var at int64
	err := t.row(sqlNextPlace, args(f.Portfolio, f.Over()), &at)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return p.Limit(*f, at), err
}

// The rows of one statement are deliveries that follow each other, so that most groups need one.
const (
	sqlReach = `INSERT INTO reach (key, portfolio, at, rid) SELECT key, ?3, ?4, rid FROM delivery WHERE rid >= ?1 AND rid < ?2
		ON CONFLICT (key, portfolio, rid) DO UPDATE SET at = ?4`
	sqlContact = `INSERT INTO contact (key, rid, at, until, connection, capped)
		SELECT key, rid, ?3, ?4, ?5, ?6 FROM delivery WHERE rid >= ?1 AND rid < ?2
		ON CONFLICT (key, rid) DO UPDATE SET at = ?3, until = ?4`
	sqlDeferFresh = `INSERT INTO outcome (rid, state, attempt, next_due, code, result_at) VALUES (?, 1 /* deferred */, 0, ?, ?, ?)`
	sqlDeferAgain = `UPDATE outcome SET next_due = ?, code = ? WHERE rid = ? AND state = 1 /* deferred */`
)

// charge writes what an intent took of the limits that count people, and whom it made wait.
func (t *tx) charge(in *campaign.Intent, now int64, d *ledger.Decision, p *ledger.People) error {
	for seq, wait := range d.Defer {
		var err error
		id := ledger.RowID(in.Lease.Run, seq)
		if t.recount(id); seq >= in.From {
			_, err = t.exec(sqlDeferFresh, id, wait.At, wait.Why, now)
		} else {
			_, err = t.exec(sqlDeferAgain, wait.At, wait.Why, id)
		}
		if err != nil {
			return err
		}
	}
	if p == nil {
		return nil
	}
	for _, r := range runsOf(d.Reached, func(r ledger.Reached) int64 { return r.RID }) {
		if _, err := t.exec(sqlReach, r.first, r.end, ledger.Portfolio(in), p.Now); err != nil {
			return err
		}
	}
	if slices.ContainsFunc(d.Reached, func(r ledger.Reached) bool { return r.New }) {
		if _, err := t.exec(sqlSetTaken, ledger.Portfolio(in), p.Used(ledger.Portfolio(in))); err != nil {
			return err
		}
	}
	for _, r := range runsOf(d.Contacts, func(c ledger.Contact) int64 { return c.RID }) {
		c := d.Contacts[0] // all are of the same instant, connection and run
		if _, err := t.exec(sqlContact, r.first, r.end, c.At, c.Until(), c.Connection, c.Capped); err != nil {
			return err
		}
	}
	return nil
}

// span is the row ids [first, end).
type span struct{ first, end int64 }

// runsOf joins row ids that follow each other.
func runsOf[T any](all []T, rid func(T) int64) (spans []span) {
	for _, one := range all {
		id := rid(one)
		if n := len(spans); n > 0 && spans[n-1].end == id {
			spans[n-1].end++
			continue
		}
		spans = append(spans, span{id, id + 1})
	}
	return spans
}
