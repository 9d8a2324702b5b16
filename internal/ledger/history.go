package ledger

import "campaignd/campaign"

// ScanHistoryEntry reads at, kind, value, id, detail, source, who, why and until.
func ScanHistoryEntry(scan func(...any) error) (e campaign.HistoryEntry, err error) {
	var at, until int64
	err = scan(&at, &e.Kind, &e.Value, &e.ID, &e.Detail, &e.Source, &e.Who, &e.Why, &until)
	e.At, e.Until = TimeOf(at), TimeOf(until)
	return e, err
}

// ScanLanePoint reads at, connection, owner, what limits the lane, and its rate.
func ScanLanePoint(scan func(...any) error) (p campaign.LanePoint, err error) {
	var at int64
	err = scan(&at, &p.Connection, &p.Owner, &p.LimitedBy, &p.Rate)
	p.At = TimeOf(at)
	return p, err
}
