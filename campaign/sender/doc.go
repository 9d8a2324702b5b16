// Package sender sends: it leases segments of runs, states the intent to post a group of
// deliveries, posts each at an instant the limiter gave, records what the answers proved, and
// resolves what they did not.
//
// internal/daemon runs one Engine per process. The engine keeps one worker per connection; a lane
// is what a worker holds of one run. The package promises, with the ledger, that nobody gets the
// same run twice and nobody is lost (docs/protocol.md#invariants):
//
//	claimer    claim segment (epoch+1) ── recover: below the mark without outcome → doubt
//	           │
//	           ▼              one transaction, suppressions and the run's wanted state read inside
//	planner    compose a group ── Intend(mark lo→hi) ──► queue of attempts
//	           ▲                                         │ the next slot of the limiter
//	poster     │                                         ▼
//	           │                                         POST ── classify the answer
//	claimer    park, drop, resolve                       │
//	recorder   └─────────────────────── Record(results) ◄┘
//
// Nothing is posted whose intent is not known to be committed, and no attempt is posted twice: an
// attempt lives in memory only, a death forgets it, and recovery writes doubts, never work.
//
// A worker has three parts beside what is known of its number: the planner fills the queue, the
// poster empties it, the renewer keeps the leases alive. planner.step is the first half of a
// delivery's walk, poster.use and poster.send are the second. The planner has parts with a state of
// their own: claimer owns the number's segments, fairQueue divides the number among runs, units has
// the units of quotas, waits tells which limit or hold stops a lane, breakerTest is the right to
// test a half-open breaker, and lanes are what each step found out, for `why`.
//
// Goroutines: Engine.Run owns the recorder, the workers, and the readings of holds and of begun
// segments; a worker owns its planner, its poster and its renewer; the poster owns the posts in
// flight. Each is waited for.
package sender
