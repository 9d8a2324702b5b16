// Package sandbox is the messaging service emulated from its document (seed 000),
// with faults on request. The command `campaignd sandbox`, the demo and the tests
// send to it; nothing that campaignd does in earnest depends on it.
//
// It imports nothing of campaignd. Its wire types are its own, written from the
// document, and it refuses what the document does not name, so that client and
// sandbox cannot agree on a mistake; both are held to the literal files in
// testdata/wire.
//
// It promises:
//
//   - every rule of POST /api/v1/messages and every answer of the document's table of
//     errors, with the exact status, error and meta;
//   - the truth: what it accepted, which statuses it emitted, which webhooks were
//     answered 2xx, how many POSTs each pair of number and recipient saw, and the worst
//     sliding second of each number (Sandbox.Truth);
//   - that each fault is a share, decided by a hash of the seed and of what the fault is
//     about (never by a shared generator), and counts how often it fired;
//   - that it runs in a testing/synctest bubble: package time only, no real sockets with
//     a Transport in memory, and every goroutine ends when Run and the requests end.
//
// # The walk of one message
//
//	ServeHTTP        request id, https, trailing slash, bot agents, key
//	send             decode strictly, count the arrival, latency, faults before acceptance
//	shape, rules     the document's rules in order, then the platform's; the first that applies is the answer
//	accept           the record, the plan of its statuses
//	answer           faults after acceptance, then 200 with the messageId
//	shard            posts the webhooks when due, signed, in the order of each message
//
// A shard owns the webhooks of some messages: one heap, one goroutine, one connection.
// The first posting of a message's statuses therefore keeps their order, except where a
// fault says otherwise; a retry never holds up what comes after it.
//
// # Paths that are not the service
//
// Everything under /sandbox/ is the sandbox's own control path (control.go lists it). It
// refuses requests that carry an Authorization header, so that no client of the service
// can come to depend on it.
//
// # Where the document says "not shown"
//
// The sandbox follows design section 9: fields of the listings, multipart upload,
// webhook registration, event envelope, signature. What design leaves open too
// (401 body: unauthorized; unknown JSON field: invalid_request; two content fields:
// multiple_content; unknown path: not_found) is chosen here and marked at its line.
package sandbox
