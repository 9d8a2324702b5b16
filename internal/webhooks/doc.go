// Package webhooks receives the service's webhooks. It verifies the signature of each request over
// the raw bytes, turns the events into facts for the ledger, and answers 2xx when the ledger has
// stored them.
//
// The daemon mounts the Intake on its public listener and owns its Run; the commands `run` and
// `demo` do the same. The service posts to it.
//
// Promises (docs/protocol.md#webhook-intake):
//
//   - A 2xx means that the events are durable. The Intake answers nothing before the commit. If the
//     ledger cannot commit, or too many events wait, it answers 503 at once. The service repeats a
//     delivery for 8 h 36 min, so the events come again. A repetition does no harm: facts merge.
//   - A recipient who writes STOP is suppressed in the ledger before the 2xx.
//   - Nothing is parsed before the signature is verified. A refusal tells a forger nothing.
//   - Each request is answered within 10 s. There is no batching delay: each commit takes the
//     events that came during the last one.
//
// The Intake answers 400 to a signed body that it cannot decode, and logs it without its contents.
// A 2xx would be false, because nothing was stored. The service repeats the delivery, which gives
// the operator time to install a version that can read it. Events of an unknown kind are counted
// and answered 2xx. Template, number and account events begin and end holds
// (docs/protocol.md#holds); those that do neither are logged.
//
//	request -> method, length -> raw body -> signature -> decode -> queue ─┐
//	                                                                      │ up to 512 events
//	2xx  <──────────────────────────── committed ── EventLedger.Apply <───┘
package webhooks
