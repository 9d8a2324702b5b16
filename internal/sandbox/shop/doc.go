// Package shop emulates the commerce platform from its document (commerce.md), for the sandbox
// that mounts it and for tests. It imports nothing of campaignd but packages of the sandbox, and
// shares no type with the client, so that both cannot have the same mistake.
//
// Promises:
//
//   - routes.go has one table that names each route, its right and, by its function, its body and
//     answer. Each other operation of the platform is refused with 404.
//   - The checks of a request run in the order credential, company, route, body. The five shapes of
//     an error are those of problem.go.
//   - Each collection is a list (package records): filters, sorts, includes, pages and the envelope
//     are the same code for all.
//   - One lock is held for a whole request: shared for GET, exclusive for the others. A request
//     therefore checks and takes, for example stock, in one step.
//   - Money is decimal, and a number in JSON.
//   - Generated customers and orders are computed from the seed and are not stored.
package shop
