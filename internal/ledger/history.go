package ledger

import "campaignd/campaign"

// ScanHistoryEntry reads at, kind, value, id and detail.
func ScanHistoryEntry(scan func(...any) error) (e campaign.HistoryEntry, err error) {
	var at int64
	err = scan(&at, &e.Kind, &e.Value, &e.ID, &e.Detail)
	e.At = TimeOf(at)
	return e, err
}

// ScanLanePoint reads at, connection, owner, what limits the lane, and its rate.
func ScanLanePoint(scan func(...any) error) (p campaign.LanePoint, err error) {
	var at int64
	err = scan(&at, &p.Connection, &p.Owner, &p.LimitedBy, &p.Rate)
	p.At = TimeOf(at)
	return p, err
}
