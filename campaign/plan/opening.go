package plan

import "time"

// Opening is how much of a list may be sent at a time, and when the rest may be.
type Opening struct {
	Open   int64          // deliveries whose window is open
	Closed int64          // deliveries whose window is closed
	Closes time.Time      // the first closing of an open window; zero: none closes
	Opens  time.Time      // the first opening of a closed window; zero: none opens within a year
	Zone   *time.Location // of Opens, else of Closes; nil without either
}

// OpeningAt says which groups may be sent at now within the window (nil: always open).
func OpeningAt(now time.Time, window *Window, groups ...Group) Opening {
	var o Opening
	for _, g := range groups {
		open, changes := window.Open(now, g.Zones...)
		zones := g.Zones
		if window != nil && !window.recipient {
			zones = window.zone
		}
		var zone *time.Location
		if len(zones) > 0 {
			zone = zones[0]
		}
		if !open {
			o.Closed += g.Remaining
			if !changes.IsZero() && (o.Opens.IsZero() || changes.Before(o.Opens)) {
				o.Opens, o.Zone = changes, zone
			}
			continue
		}
		o.Open += g.Remaining
		if !changes.IsZero() && (o.Closes.IsZero() || changes.Before(o.Closes)) {
			o.Closes = changes
			if o.Opens.IsZero() {
				o.Zone = zone
			}
		}
	}
	return o
}
