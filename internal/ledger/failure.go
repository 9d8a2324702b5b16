package ledger

import (
	"cmp"
	"maps"
	"slices"
	"strconv"

	"campaignd/campaign"
	"campaignd/internal/messaging"
)

// Failures are the failed statuses of a transaction whose codes begin a hold: for each delivery
// and code the latest times.
type Failures map[failure]failed

// failed has the times of a failed message in milliseconds: its acceptance, 0 if it is not known,
// and the event.
type failed struct{ accepted, at int64 }

type failure struct {
	rid  int64
	code int
}

func (a failure) compare(b failure) int {
	return cmp.Or(cmp.Compare(a.rid, b.rid), cmp.Compare(a.code, b.code))
}

// Add adds a failed status of the delivery rid, unless its code begins no hold. accepted is when
// the service took the message.
func (f *Failures) Add(rid int64, code string, accepted, at int64) {
	n, ok := holdingCode(code)
	if !ok {
		return
	}
	if *f == nil {
		*f = Failures{}
	}
	of := failure{rid, n}
	old := (*f)[of]
	(*f)[of] = failed{max(old.accepted, accepted), max(old.at, at)}
}

// BeginsHold reports whether a failed status with this code begins a hold.
func BeginsHold(code string) bool {
	_, ok := holdingCode(code)
	return ok
}

// holdingCode reads the code of a failed status; false when it begins no hold.
func holdingCode(code string) (int, bool) {
	n, err := strconv.Atoi(code)
	if err != nil {
		return 0, false
	}
	switch messaging.Failed(n).Hold {
	case messaging.HoldNothing, messaging.HoldPayload:
		return 0, false
	}
	return n, true
}

// Rows returns the row ids of the deliveries, in order.
func (f Failures) Rows() (ids []int64) {
	for of := range f {
		ids = append(ids, of.rid)
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// SentFrom is what a hold can name of a delivery.
type SentFrom struct {
	RowID                                    int64
	Campaign, Template, Language, Connection string
}

// ScanSentFrom reads its fields in their order.
func ScanSentFrom(scan func(...any) error) (s SentFrom, err error) {
	err = scan(&s.RowID, &s.Campaign, &s.Template, &s.Language, &s.Connection)
	return s, err
}

// Holds returns the holds that the failures begin. from has their deliveries; origin returns what
// is known of a connection.
func (f Failures) Holds(from []SentFrom, origin func(connection string) campaign.Origin) (hs []campaign.Hold) {
	origins := map[int64]campaign.Origin{}
	for _, s := range from {
		o := campaign.Origin{}
		if origin != nil {
			o = origin(s.Connection)
		}
		o.Connection, o.Template, o.Language = s.Connection, s.Template, s.Language
		o.Run = campaign.Run{No: RunOf(s.RowID), Campaign: s.Campaign}.ID()
		origins[s.RowID] = o
	}
	type cause struct {
		origin campaign.Origin
		code   int
	}
	latest := map[cause]failed{}
	var causes []cause
	for _, of := range slices.SortedFunc(maps.Keys(f), failure.compare) {
		c := cause{origins[of.rid], of.code}
		old, known := latest[c]
		if !known {
			causes = append(causes, c)
		}
		latest[c] = failed{max(old.accepted, f[of].accepted), max(old.at, f[of].at)}
	}
	for _, c := range causes {
		if h, ok := campaign.FailureHold(c.code, c.origin, TimeOf(latest[c].accepted), TimeOf(latest[c].at)); ok {
			hs = append(hs, h)
		}
	}
	return hs
}
