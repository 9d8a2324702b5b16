// Package purchases takes the orders of the commerce platform into the ledger, and matches them
// with the deliveries of runs (docs/commerce.md#conversions). internal/daemon runs one Keeper in
// each process that sends; one replica at a time does the work.
//
// A Keeper asks for each order that an event named, and reads all orders that changed since its
// last poll, so an event that is lost costs time and no order. All of it may be repeated and
// interrupted anywhere: an order is stored by its id, and the newest change wins.
package purchases
