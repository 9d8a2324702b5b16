package ledger

import (
	"slices"
	"strconv"

	"campaignd/campaign"
	"campaignd/recipients"
)

// Pseudonym replaces the key of an erased number: a keyed hash below 0, where no number has its
// key. A reader of the ledger can find the number by trying all numbers, because the ledger has
// the key of the hash.
func (k HashKey) Pseudonym(key int64) int64 {
	return -1 - int64(k.sum("erased "+strconv.FormatInt(key, 10))>>1)
}

// Pseudonyms returns the pseudonyms of keys, and the key of each pseudonym.
func (k HashKey) Pseudonyms(keys []int64) (all []int64, of map[int64]int64) {
	of = make(map[int64]int64, len(keys))
	for _, key := range keys {
		if key > 0 {
			p := k.Pseudonym(key)
			all, of[p] = append(all, p), key
		}
	}
	return all, of
}

// Stored returns the keys under which the ledger may have a number: two, or four if it has two
// spellings. The second half are pseudonyms.
func (k HashKey) Stored(key int64) []int64 {
	keys := recipients.Spelled([]int64{key})
	pseudonyms, _ := k.Pseudonyms(keys)
	return append(keys, pseudonyms...)
}

// Forgotten returns a copy of rows that does not name erased numbers. erased are keys whose
// pseudonyms are suppressed. Such a row gets no outcome here, because an outcome above the mark
// would keep its segment open; the intent skips it.
func (k HashKey) Forgotten(rows []campaign.Delivery, erased Erased) []campaign.Delivery {
	rows = slices.Clone(rows)
	for i := range rows {
		d := &rows[i]
		if key := erased.as(d.Key); key > 0 {
			d.Key = k.Pseudonym(key)
		}
		if d.Key < 0 { // also a row of an earlier run
			d.To, d.Cells, d.Note = campaign.ErasedNumber, nil, ""
		}
	}
	return rows
}

// KeysOf are the keys of rows with a number.
func KeysOf(rows []campaign.Delivery) (keys []int64) {
	for i := range rows {
		if rows[i].Key > 0 {
			keys = append(keys, rows[i].Key)
		}
	}
	return keys
}

// Erased are the erased numbers. The value is true if nothing of the number is under way any more.
type Erased map[int64]bool

// Has reports whether a number was erased, in either spelling.
func (e Erased) Has(key int64) bool { return e.as(key) > 0 }

// Over reports whether a number was erased and nothing of it is under way.
func (e Erased) Over(key int64) bool {
	over := func(key int64) bool { done, erased := e[key]; return done || !erased }
	return e.Has(key) && over(key) && over(recipients.Other(key))
}

// as returns the spelling in which a number was erased, 0 if it was not. An erasure of an earlier
// version named one spelling.
func (e Erased) as(key int64) int64 {
	if len(e) == 0 {
		return 0
	}
	for _, key := range []int64{key, recipients.Other(key)} {
		if _, erased := e[key]; erased {
			return key
		}
	}
	return 0
}

// NewErased finds the erased numbers among the suppressed keys. A number was erased if its
// pseudonym is suppressed; something of it is under way if the number itself is suppressed too. of
// is the map that Pseudonyms returned.
func NewErased(found []int64, of map[int64]int64) Erased {
	var e Erased
	for _, p := range found {
		if key := of[p]; key != 0 {
			if e == nil {
				e = make(Erased, len(found))
			}
			e[key] = !slices.Contains(found, key)
		}
	}
	return e
}

// Unerased returns the events without those that would store an erased number. Statuses are
// separate, because those of known messages store none.
func Unerased(e campaign.Events, erased Erased) campaign.Events {
	if len(erased) == 0 {
		return e
	}
	e.Suppressions, e.Lifted = UnerasedOf(e.Suppressions, erased), UnerasedOf(e.Lifted, erased)
	e.Moved = slices.DeleteFunc(slices.Clone(e.Moved), func(m campaign.Move) bool { return erased.Has(m.From) || erased.Has(m.To) })
	e.Inbound = slices.DeleteFunc(slices.Clone(e.Inbound), func(i campaign.Inbound) bool { return erased.Has(i.Key) })
	e.Replies = slices.DeleteFunc(slices.Clone(e.Replies), func(r campaign.Reply) bool { return erased.Has(r.Key) })
	return e
}

// UnerasedOf returns the suppressions of numbers that were not erased: the others are suppressed
// already.
func UnerasedOf(all []campaign.Suppression, erased Erased) []campaign.Suppression {
	if len(erased) == 0 {
		return all
	}
	return slices.DeleteFunc(slices.Clone(all), func(s campaign.Suppression) bool { return erased.Has(s.Key) })
}

// KeysOfEvents are the keys of numbers that events would store beside statuses.
func KeysOfEvents(e *campaign.Events) (keys []int64) {
	for _, all := range [][]campaign.Suppression{e.Suppressions, e.Lifted} {
		for i := range all {
			keys = append(keys, all[i].Key)
		}
	}
	for _, m := range e.Moved {
		keys = append(keys, m.From, m.To)
	}
	for _, i := range e.Inbound {
		keys = append(keys, i.Key)
	}
	for _, r := range e.Replies {
		keys = append(keys, r.Key)
	}
	return keys
}

// ErasePage is how many deliveries one query of Erase looks at. No index finds a number, because it
// would take 34 MB for each million rows.
const ErasePage = 100_000

// EraseRows erases the deliveries of a number, page by page. page finds those among the ErasePage
// deliveries behind a row id, and then the last of the page, as a row id below 0. erase erases
// those that are not under way, and counts the others.
func EraseRows(
	page func(after int64) ([]int64, error), erase func(rids []int64) (underWay int64, err error),
) (done campaign.Erased, err error) {
	for after := int64(0); ; {
		found, err := page(after)
		if err != nil || len(found) == 0 {
			return done, err
		}
		last := len(found) - 1
		after, found = -found[last], found[:last]
		if len(found) == 0 {
			continue
		}
		underWay, err := erase(found)
		if err != nil {
			return done, err
		}
		done.UnderWay += underWay
		done.Rows += int64(len(found)) - underWay
	}
}

// Erasures are the suppressions that Erase writes first: the pseudonym, and the number itself until
// no delivery has it any more, of these keys.
func (k HashKey) Erasures(keys []int64) (all []campaign.Suppression) {
	for _, key := range keys {
		for _, key := range []int64{k.Pseudonym(key), key} {
			all = append(all, campaign.Suppression{Key: key, Scope: campaign.ScopeAll, Source: campaign.SourceErasure})
		}
	}
	return all
}

// Removal names suppressions of a key that Unsuppress deletes: those with the scope as stored, and
// with Every those of each company, too.
type Removal struct {
	Key   int64
	Scope string
	Every bool
}

// Removals returns what Unsuppress deletes for s. A suppression of all messages of all companies
// may also be that of an erased number, whose key is its pseudonym.
func (k HashKey) Removals(s campaign.Suppression) []Removal {
	var all []Removal
	for _, key := range recipients.Spelled([]int64{s.Key}) {
		all = append(all, Removal{key, s.ScopeText(), s.Company == ""})
		if key > 0 && s.Scope == campaign.ScopeAll && s.Company == "" {
			all = append(all, Removal{Key: k.Pseudonym(key), Scope: string(s.Scope)})
		}
	}
	return all
}
