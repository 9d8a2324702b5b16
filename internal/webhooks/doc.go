// Package webhooks receives the service's webhooks. It verifies the signature of each request over
// the raw bytes, turns the events into facts for the ledger, and answers 2xx when the ledger has
// stored them.
//
// internal/daemon serves the Intake on its public listener and calls Run. The service posts to the
// listener.
//
// Promises (docs/protocol.md#webhook-intake):
//
//   - A 2xx means that the events are durable. The Intake answers nothing before the commit. If the
//     ledger cannot commit, or too many events wait, it answers 503 at once. The service repeats a
//     delivery for 8 h 36 min, so the events come again. A repetition does no harm: facts merge.
//   - A recipient who writes STOP is suppressed in the ledger before the 2xx.
//   - Nothing is parsed before the signature is verified. The answer to a wrong signature has no
//     body, so that a forger learns nothing from it.
//   - Each request is answered within 10 s. No event waits until a batch is full: each commit
//     takes the events that came during the commit before.
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
