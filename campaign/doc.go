// Package campaign is the domain: what a campaign is, what a run of it is, what
// may happen to each delivery, and the durable record (Ledger) that the rest of
// campaignd is built around.
//
// It is used by everything above it: the sending side (campaign/sender), the
// webhook intake, the reports and the commands. It promises that every row of a
// list has exactly one delivery, and that a delivery only ever moves along the
// edges of docs/states.md.
//
// The walk of one recipient: recipients.Read yields row 44, Import turns it into
// a Delivery and streams it into the Ledger, a lane leases its segment, states
// the intent, posts it, records the outcome; the service's webhooks move its
// status forward; reporting prints its line.
package campaign
