// Package sandbox emulates the messaging service from its document (docs/service.md), with faults
// on request. The command `campaignd sandbox`, the demo and the tests send to it. No other part of
// campaignd depends on it.
//
// It imports nothing of campaignd but its own packages and the table of operations
// (internal/operations), which is data. Its wire types are written from the document, and it
// refuses what the document does not name. Client and sandbox therefore share no
// mistake; the tests of both compare with the literal files in testdata/wire.
//
// Promises:
//
//   - The sandbox applies every rule of POST /api/v1/messages and gives every answer of the table
//     of errors, with the exact status, error and meta (docs/service.md#errors).
//   - Sandbox.Truth says what was accepted, which statuses were emitted, which webhooks were
//     answered 2xx, how many POSTs each pair of number and recipient saw, and the worst sliding
//     second of each number.
//   - Each fault has a share. A hash of the seed and of the keys of the fault decides whether it
//     fires, never a shared generator. Truth counts how often it fired.
//   - The sandbox runs in a testing/synctest bubble: it uses package time only and, with a
//     transport in memory (inprocess), no sockets. Every goroutine ends when Run and the requests
//     end.
//
// # The walk of one message
//
//	ServeHTTP        request id, https, trailing slash, bot agents, key
//	send             decode strictly, count the arrival, latency, faults before acceptance
//	shape, rules     the document's rules, then the platform's; the first that applies decides
//	accept           the record, the plan of its statuses
//	answer           faults after acceptance, then 200 with the messageId
//	shard            posts the webhooks when due, signed, in the order of each message
//
// A shard has the webhooks of some messages: one heap, one goroutine, one connection. The statuses
// of a message are therefore first posted in their order, unless a fault changes it. A retry does
// not delay the events after it.
//
// # Paths of the sandbox itself
//
// The paths under /sandbox/ control the sandbox (control.go lists them). They refuse a request with
// an Authorization header, so that no client of the service can use them by mistake.
//
// # The commerce platform
//
// The paths /2023-11/, /oauth/ and /pay/ belong to the commerce platform. Package shop answers
// them, from the section commerce of a scenario.
//
// # Where the document says "not shown"
//
// The sandbox follows docs/service.md#assumptions for the fields of the listings, the multipart
// upload, the registration of webhooks, the envelope of events and the signature. Where that page
// says nothing the sandbox chooses, and reply.go and package request mark the choice: the 401 body
// (unauthorized), an unknown JSON field (invalid_request), two content fields (multiple_content),
// an unknown path (not_found).
package sandbox
