// Package sender sends: it leases segments of runs, commits the intent to post a group of
// deliveries, posts each in a slot of the limiter, records what the answers proved, and ends the
// doubts that they left.
//
// internal/daemon runs one Engine per process. The engine has one worker per connection; a lane is
// the part of one run that a worker sends. Together with the ledger the package promises that
// nobody gets the message of a run twice and nobody is lost (docs/protocol.md#invariants):
//
//	claimer    claim segment (epoch+1) ── recover: below the mark without outcome → doubt
//	           │
//	           ▼              one transaction, suppressions and the run's wanted state read inside
//	planner    compose a group ── Intend(mark lo→hi) ──► queue of attempts
//	           ▲                                         │ the next slot of the limiter
//	poster     │                                         ▼
//	           │                                         POST ── classify the answer
//	claimer    park, skip, resolve                       │
//	recorder   └─────────────────────── Record(results) ◄┘
//
// A delivery is posted only after the sender knows that its intent is committed. No attempt is
// posted twice: attempts are in memory only, and after a death recovery writes doubts and posts
// nothing.
//
// A worker has a planner, which fills the queue, a poster, which empties it, and a renewer of the
// leases. They share the number and the queue. planner.step is the first half of a delivery's walk,
// poster.use and poster.send are the second. The planner has parts with a state of
// their own: claimer owns the number's segments, fairQueue divides the number among runs, units has
// the units of quotas, waits tells which limit or hold stops a lane, breakerTest is the right to
// test a half-open breaker, and lanes are what each step found out, for `why`.
//
// Goroutines: Engine.Run owns the recorder, the workers, and the readings of holds and of begun
// segments; a worker owns its planner, its poster and its renewer; the poster owns the posts in
// flight. Each is waited for.
package sender
