// Package conversion says what a campaign brought: which orders are attributed to which message
// (docs/commerce.md#attribution), their sums, and the lift against the people who were held out
// (docs/commerce.md#lift).
//
// The ledger stores orders, and beside each order the deliveries to the person who placed it. The
// reports fold both with a Tally. Everything here is arithmetic on what was read: no clock, no
// database.
package conversion
