package ledger

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/reception"
	"campaignd/internal/sentence"
)

// Holds are the stored holds of some scopes and ids, as one transaction reads and changes them.
// The zero value is empty. Both backends merge with it.
//
// A row without a reason is the marker of its scope and id: its since is when an event last lifted
// them, its lifted when an operator last did (campaign.LastLifts). It stops nothing and is never
// listed.
type Holds struct {
	Began []campaign.Hold // stop something now, and did not before
	Ended []campaign.Hold // stopped something, or probed, and do not any more

	rows    map[holdKey]campaign.Hold
	changed map[holdKey]bool
}

// holdKey is the key of a row.
type holdKey struct {
	scope      campaign.HoldScope
	id, reason string
}

func keyOf(h campaign.Hold) holdKey { return holdKey{h.Scope, h.ID, h.Reason} }

// Read takes a stored row. Add and Lift need every row of their scope and id.
func (s *Holds) Read(h campaign.Hold) {
	if s.rows == nil {
		s.rows, s.changed = map[holdKey]campaign.Hold{}, map[holdKey]bool{}
	}
	s.rows[keyOf(h)] = h
}

// write is Read of a row that differs from the stored one.
func (s *Holds) write(h campaign.Hold) {
	s.Read(h)
	s.changed[keyOf(h)] = true
}

func (s *Holds) lastLifts(scope campaign.HoldScope, id string) campaign.LastLifts {
	m := s.rows[holdKey{scope, id, ""}]
	return campaign.LastLifts{Event: m.Since, Operator: m.Lifted}
}

// Add merges a hold that is reported at now, which is clock by the ledger's clock
// (campaign.Hold.Renew). The hold of an event without a time, or of one after clock, begins at
// clock and counts as newer than every lift: otherwise a clock that is behind would lose it, and
// one that is ahead would make a hold that no event ends for a while.
func (s *Holds) Add(h campaign.Hold, now, clock time.Time) {
	if h.Source == campaign.HoldByEvent || h.Source == campaign.HoldByStatus {
		now = clock // the times of the platform are not compared with those of a process
	}
	h.Since, h.Until, h.Detail = stored(h.Since), stored(h.Until), sentence.Clip(h.Detail, campaign.MaxDetail)
	old := s.rows[keyOf(h)]
	lifts := s.lastLifts(h.Scope, h.ID)
	if h.Source == campaign.HoldByEvent && (h.Since.IsZero() || h.Since.After(clock)) {
		last := lifts.With(old.LiftedBy, old.Lifted)
		h.Since = stored(clock)
		for _, lifted := range []time.Time{last.Event, last.Operator} {
			if !h.Since.After(lifted) {
				h.Since = lifted.Add(time.Millisecond)
			}
		}
	}
	next, ok := old.Renew(h, lifts, now)
	next.Until = stored(next.Until)
	if !ok {
		s.noteEdit(old, h)
	}
	if !ok || next == old || (old.Scope == "" || !old.InForce(now)) && s.told(next, now) {
		return
	}
	s.write(next)
	if !old.InForce(now) || old.Scope == "" {
		s.Began = append(s.Began, next)
	}
}

// noteEdit stores an edit of a template that was reported after its approval, as a hold that has
// ended: later follow-ups ask for it. old is the hold of the edit before.
func (s *Holds) noteEdit(old, edit campaign.Hold) {
	if edit.Scope != campaign.HoldTemplate || edit.Reason != campaign.TemplateInReview || edit.Source != campaign.HoldByEvent ||
		old.Scope != "" && (old.Lifted.IsZero() || !edit.Since.After(reception.Later(old.Since, old.Latest))) {
		return
	}
	lifts := s.lastLifts(edit.Scope, edit.ID).With(old.LiftedBy, old.Lifted)
	edit.Latest, edit.Count = edit.Since, 1
	if edit.Lifted, edit.LiftedBy = lifts.Event, campaign.HoldByEvent; lifts.Operator.After(lifts.Event) {
		edit.Lifted, edit.LiftedBy = lifts.Operator, campaign.HoldByOperator
	}
	s.write(edit)
}

// told reports whether another hold of the same template tells of the same pause as h: the event of
// the platform and the refusals of what was under way. One is enough, whichever came first, because
// an event that approves the template ends both. A hold that ends too early begins again with the
// next refusal. An edit is more than the pause before it: later follow-ups ask for it.
func (s *Holds) told(h campaign.Hold, now time.Time) bool {
	same := func(h campaign.Hold) bool {
		return h.Source != campaign.HoldByOperator && h.Source != campaign.HoldByBreaker && h.Until.IsZero()
	}
	if h.Scope != campaign.HoldTemplate || h.Manual || h.Reason == campaign.TemplateInReview || !same(h) {
		return false
	}
	for key, other := range s.rows {
		if key.scope == h.Scope && key.id == h.ID && key.reason != "" && same(other) && other.InForce(now) {
			return true
		}
	}
	return false
}

// Lift ends the holds that l ends at now (campaign.Lift.Ends). If it names no reason, it also
// marks its scope and id, unless it is a breaker's.
func (s *Holds) Lift(l campaign.Lift, now time.Time) {
	l.At = stored(l.At)
	if l.At.IsZero() {
		return
	}
	for _, key := range slices.SortedFunc(maps.Keys(s.rows), holdKey.compare) {
		h := s.rows[key]
		if key.reason == "" || !l.Ends(h) {
			continue
		}
		acted := h.InForce(now) || h.Probing(now)
		h.Lifted, h.LiftedBy, h.LiftedWho = l.At, l.By, l.Who
		s.write(h)
		if acted {
			s.Ended = append(s.Ended, h)
		}
	}
	if l.Reason != "" {
		return
	}
	old := s.lastLifts(l.Scope, l.ID)
	if lifts := old.With(l.By, l.At); lifts != old {
		s.write(campaign.Hold{Scope: l.Scope, ID: l.ID, Since: lifts.Event, Lifted: lifts.Operator})
	}
}

// Changed returns the rows to write, by their keys.
func (s *Holds) Changed() (rows []campaign.Hold) {
	for _, key := range slices.SortedFunc(maps.Keys(s.changed), holdKey.compare) {
		rows = append(rows, s.rows[key])
	}
	return rows
}

func (a holdKey) compare(b holdKey) int {
	return cmp.Or(cmp.Compare(a.scope, b.scope), cmp.Compare(a.id, b.id), cmp.Compare(a.reason, b.reason))
}

// stored is the time as a ledger returns it: in milliseconds.
func stored(t time.Time) time.Time { return TimeOf(Millis(t)) }

// Listed returns the rows that Holds of a ledger returns at now.
func Listed(rows []campaign.Hold, ended bool, now time.Time) (found []campaign.Hold) {
	for _, h := range rows {
		if h.Reason != "" && (ended || h.InForce(now) || h.Probing(now)) {
			found = append(found, h)
		}
	}
	return found
}

// ScanHold reads the columns of a hold in the order of its scan call, times in milliseconds.
func ScanHold(scan func(...any) error) (h campaign.Hold, err error) {
	var since, latest, until, lifted int64
	err = scan(&h.Scope, &h.ID, &h.Reason, &h.Detail, &h.Source, &since, &latest, &until, &h.Manual, &h.Count, &lifted, &h.LiftedBy,
		&h.Who, &h.LiftedWho)
	h.Since, h.Latest, h.Until, h.Lifted = TimeOf(since), TimeOf(latest), TimeOf(until), TimeOf(lifted)
	return h, err
}

// CheckHolds refuses holds and lifts that no backend stores: of an unknown scope, of no id, of no
// reason or of an unknown source.
func CheckHolds(hs []campaign.Hold, ls []campaign.Lift) error {
	check := func(scope campaign.HoldScope, id string, by campaign.HoldSource) error {
		switch {
		case !slices.Contains(campaign.HoldScopes, scope):
			return fmt.Errorf("hold scope %q: want one of %v", scope, campaign.HoldScopes)
		case id == "":
			return fmt.Errorf("hold of a %s: want an id, or %q for all", scope, campaign.HoldAny)
		case !slices.Contains(campaign.HoldSources, by):
			return fmt.Errorf("hold source %q: want one of %v", by, campaign.HoldSources)
		}
		return nil
	}
	for _, h := range hs {
		if err := check(h.Scope, h.ID, h.Source); err != nil {
			return err
		}
		if h.Reason == "" {
			return fmt.Errorf("hold of %s %s: want a reason", h.Scope, h.ID)
		}
	}
	for _, l := range ls {
		if err := check(l.Scope, l.ID, l.By); err != nil {
			return err
		}
	}
	return nil
}

// HoldIDs returns the ids of all holds that can stop the origin, whatever their scope.
func HoldIDs(o campaign.Origin) []string {
	ids := []string{campaign.HoldAny, campaign.TemplateID(o.Account, o.Template, o.Language), campaign.TemplateID("", o.Template, o.Language)}
	for _, id := range []string{o.Key, o.Company, o.Account, o.Portfolio, o.Connection, o.Run} {
		if id != "" {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// IntentOrigin is the origin that an intent is compared with: its connection is known in any case.
func IntentOrigin(in *campaign.Intent) campaign.Origin {
	o := in.Origin
	o.Connection = cmp.Or(o.Connection, in.Connection)
	return o
}

// aMoment is the least difference of two clocks that counts.
const aMoment = time.Second

// ByClock returns holds and lifts with the times of clock, the ledger's, where they have times of
// this process, whose clock says now: when a request was refused, and when an operator lifted a
// hold. Events have times of the platform.
func ByClock(hs []campaign.Hold, ls []campaign.Lift, clock, now time.Time) ([]campaign.Hold, []campaign.Lift) {
	apart := clock.Sub(now)
	if apart.Abs() < aMoment {
		return hs, ls
	}
	hs, ls = slices.Clone(hs), slices.Clone(ls)
	for i := range hs {
		if hs[i].Source == campaign.HoldByRefusal {
			hs[i].Since = hs[i].Since.Add(apart)
		}
	}
	for i := range ls {
		if ls[i].By == campaign.HoldByOperator {
			ls[i].At = ls[i].At.Add(apart)
		}
	}
	return hs, ls
}
