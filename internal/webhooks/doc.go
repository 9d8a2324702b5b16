// Package webhooks receives the service's events: it verifies each request over
// its raw bytes, folds the events into what the ledger understands, and answers 2xx
// once the ledger has them.
//
// The daemon mounts the Intake on the public listener and owns its Run; the
// commands `run` and `demo` do the same. The service posts to it.
//
// What it promises (design section 5):
//
//   - A 2xx means that the event is durable (promise 5). Nothing is answered before the commit; when
//     the ledger cannot commit, or more waits than can be committed soon, the answer is 503 at once
//     and the service, which repeats for 8 h 36 min, brings the event again. Repeating is harmless: facts merge.
//   - Who says STOP is suppressed in the ledger before the 2xx (promise 4).
//   - Nothing is parsed before the signature holds, and a refusal says nothing to a forger.
//   - No request is held longer than 10 s, no event waits for a timer: a commit
//     takes whatever has gathered while the one before it was under way.
//
// A signed body that cannot be decoded is answered 400 and logged without its
// contents: there is nothing that could be stored for it, so a 2xx would be a lie, and
// each repetition gives an operator time to install a version that understands
// it. Events of a kind that nobody asked for are decoded, counted and answered 2xx;
// number and account events are handed to Options.Observe and are not stored, since what they
// announce is read again from the service.
//
//	request -> method, length -> raw body -> signature -> decode -> queue ─┐
//	                                                                      │ up to 512 events
//	2xx  <──────────────────────────── committed ── EventLedger.Apply <───┘
package webhooks
