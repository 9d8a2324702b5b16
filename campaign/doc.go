// Package campaign is the domain: what a run of a campaign is, what can happen to each delivery,
// what may hold it up, and the durable record (Ledger) on which the rest of campaignd is built.
//
// Everything above uses it. Package campaign/file reads campaign files, campaign/launch imports
// lists, campaign/control does what an operator asks of a run, campaign/sender sends. It promises
// that every row of a list has exactly one delivery, and that a delivery only moves along the edges
// of docs/states.md#a-delivery.
//
// The walk of one recipient: recipients.Reader yields row 44; launch.Import turns it into a
// Delivery and writes it to the Ledger; a sender leases its segment, commits the intent, posts the
// message and records the outcome; the service's webhooks move its status forward; reporting prints
// its line (docs/architecture.md#the-walk-of-one-recipient).
package campaign
