package portable

import (
	"cmp"
	"context"
	"slices"

	"campaignd/campaign"
	"campaignd/internal/ledger"
	"campaignd/recipients"
)

const (
	sqlPersonParts = `SELECT s.id, coalesce(p.phase, 0),
			(SELECT k.keys FROM key_page k WHERE k.part = s.id AND k.lo <= $2 ORDER BY k.lo DESC LIMIT 1),
			(SELECT k.keys FROM key_page k WHERE k.part = s.id AND k.lo <= $3 AND $3 <> $2 ORDER BY k.lo DESC LIMIT 1)
		FROM segment s LEFT JOIN key_part p ON p.part = s.id
		WHERE s.id & 255 = 0 AND s.id > 0 AND s.id < $1 ORDER BY s.id DESC LIMIT $4`
	// personParts is how many parts one query looks at.
	personParts = 64

	sqlUnkeptPart = `SELECT s.id FROM segment s JOIN run r ON r.no = s.run LEFT JOIN key_part p ON p.part = s.id
		WHERE s.id & 255 = 0 AND s.id > 0 AND coalesce(p.phase, 0) = 0 AND r.state <> 'importing'
			AND NOT EXISTS (SELECT 1 FROM retired t WHERE t.segment = s.id) ORDER BY s.id DESC LIMIT 1`
	sqlBeginPart  = `INSERT INTO key_part (part) VALUES ($1) ON CONFLICT DO NOTHING`
	sqlErasedPart = `SELECT erased FROM key_part WHERE part = $1 AND phase = 0`
	// The update locks the part, so that an erasure comes before it or finds the pages.
	sqlKeepPart   = `UPDATE key_part SET phase = $3 WHERE part = $1 AND phase = 0 AND erased = $2`
	sqlInsertPage = `INSERT INTO key_page (part, lo, keys) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING`
	sqlPartKeys   = `SELECT coalesce(string_agg(key || ' ' || (rid & 4294967295), ','), '') FROM delivery
		WHERE rid >= $1 AND rid < $2 AND key > 0`
	sqlTellErased  = `UPDATE key_part SET erased = erased + 1 WHERE part = $1`
	sqlPageOf      = `SELECT lo, keys FROM key_page WHERE part = $1 AND lo <= $2 ORDER BY lo DESC LIMIT 1`
	sqlChangePage  = `UPDATE key_page SET keys = $3 WHERE part = $1 AND lo = $2`
	sqlForgetPages = `DELETE FROM key_page WHERE part = $1`
	sqlForgetPart  = `INSERT INTO key_part (part, phase) VALUES ($1, 2) ON CONFLICT (part) DO UPDATE SET phase = 2`
)

// PersonParts implements campaign.PersonLedger.
func (l *Ledger) PersonParts(ctx context.Context, key, before int64) ([]campaign.PersonPart, error) {
	other := cmp.Or(recipients.Other(key), key)
	return list(ctx, l.db, Reports, func(scan Scan) (p campaign.PersonPart, err error) {
		var phase int64
		var pages [2][]byte
		if err := scan(&p.ID, &phase, &pages[0], &pages[1]); err != nil {
			return p, err
		}
		p.Run, p.From, p.To = ledger.PartRows(p.ID)
		if p.Unread = phase != 1; p.Unread { // some of its pages may be there
			return p, nil
		}
		for _, page := range pages {
			rows, err := ledger.ReadKeyPage(page)
			if err != nil {
				return p, err
			}
			for _, r := range rows {
				if r.Key == key || r.Key == other {
					p.Seqs = append(p.Seqs, p.From+r.Row)
				}
			}
		}
		slices.Sort(p.Seqs)
		p.Seqs = slices.Compact(p.Seqs)
		return p, nil
	}, sqlPersonParts, cmp.Or(before, 1<<62), key, other, int64(personParts))
}

// pagesAtOnce is how many pages one transaction keeps, some 400 kB.
const pagesAtOnce = 64

// KeepNumbers implements campaign.PersonLedger. An erasure counts itself in the part before it
// erases a row, and takes the number off its page: what was read before it is not kept. KeepNumbers
// counts itself there too, so that a call that began before it keeps no further page. Nobody reads
// the pages before the last one is kept.
func (l *Ledger) KeepNumbers(ctx context.Context) (kept bool, err error) {
	if l.options.ReadOnly {
		return false, nil
	}
	var part, count int64
	if found, err := l.row(ctx, Reports, []any{&part}, sqlUnkeptPart); err != nil || !found {
		return false, err
	}
	if _, err := l.exec(ctx, Reports, sqlBeginPart, part); err != nil {
		return false, err
	}
	if err := l.db.Passed(ctx); err != nil { // erasures that did not see the part
		return false, err
	}
	if err := l.db.Change(ctx, Reports, func(t Tx) error {
		if _, err := t.Exec(sqlTellErased, part); err != nil {
			return err
		}
		if kept, err = one(t.Each, []any{&count}, sqlErasedPart, part); err != nil || !kept {
			return err
		}
		_, err = t.Exec(sqlForgetPages, part) // of a call that did not come to its end
		return err
	}); err != nil || !kept {
		return false, err
	}
	keys, err := l.partKeys(ctx, part)
	for more := true; more && kept && err == nil; {
		var pages []ledger.KeyPage
		if pages, more, err = keys.Pages(pagesAtOnce); err == nil {
			kept, err = l.keepPages(ctx, part, count, pages, !more)
		}
	}
	return kept && err == nil, err
}

// partKeys reads the numbers of a part.
func (l *Ledger) partKeys(ctx context.Context, part int64) (*ledger.PartKeys, error) {
	keys := &ledger.PartKeys{}
	no, from, to := ledger.PartRows(part)
	for seq := from; seq < to; seq += campaign.SegmentSize {
		var text string
		first, last := ledger.RowID(no, seq), ledger.RowID(no, seq+campaign.SegmentSize-1)
		if _, err := l.row(ctx, Reports, []any{&text}, sqlPartKeys, first, last+1); err != nil {
			return nil, err
		}
		if err := keys.Add(text); err != nil {
			return nil, err
		}
	}
	return keys, nil
}

// keepPages stores pages of a part, unless somebody has counted there since count was read. With
// last, the numbers of the part are kept.
func (l *Ledger) keepPages(ctx context.Context, part, count int64, pages []ledger.KeyPage, last bool) (kept bool, err error) {
	phase := int64(0)
	if last {
		phase = 1
	}
	err = l.db.Change(ctx, Reports, func(t Tx) error {
		n, err := t.Exec(sqlKeepPart, part, count, phase)
		kept = n > 0
		if err != nil || !kept {
			return err
		}
		for _, p := range pages {
			if _, err := t.Exec(sqlInsertPage, part, p.Lo, p.Keys); err != nil {
				return err
			}
		}
		return nil
	})
	return kept, err
}

// tellErased counts an erasure in the parts of the rows, in order.
func tellErased(t Tx, rids []int64) error {
	var parts []int64
	for _, rid := range rids {
		parts = append(parts, ledger.PartOf(ledger.SegmentOf(rid)))
	}
	for _, part := range slices.Compact(parts) {
		if _, err := t.Exec(sqlTellErased, part); err != nil {
			return err
		}
	}
	return nil
}

// forgetKey takes a number off its page of the part of a row.
func forgetKey(t Tx, rid, key int64) error {
	part := ledger.PartOf(ledger.SegmentOf(rid))
	var lo int64
	var keys []byte
	if found, err := one(t.Each, []any{&lo, &keys}, sqlPageOf, part, key); err != nil || !found {
		return err
	}
	left, err := ledger.WithoutKey(keys, key)
	if err != nil || len(left) == len(keys) {
		return err
	}
	_, err = t.Exec(sqlChangePage, part, lo, left)
	return err
}

// forgetPart deletes the numbers of the part of a segment whose rows retention deletes.
func forgetPart(t Tx, segment int64) error {
	part := ledger.PartOf(segment)
	if _, err := t.Exec(sqlForgetPart, part); err != nil {
		return err
	}
	_, err := t.Exec(sqlForgetPages, part)
	return err
}
