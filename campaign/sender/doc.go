// Package sender sends: it leases segments of runs, states the intent to post a
// group of deliveries, posts each at an instant the limiter gave, records what
// the answers proved, and resolves what they did not.
//
// internal/daemon runs one Engine per process. The engine keeps one pacer per
// connection; a lane is what a pacer holds of one run. It promises, with the
// ledger, that nobody gets the same run twice and nobody is lost
// (design section 5; reliability.md 1.3 to 1.6 has the proof):
//
//	claim segment (epoch+1) ── recover: below the mark without outcome → doubt
//	    │
//	    ▼                 one transaction, suppressions and the run's wanted state read inside
//	plan group ─► round ─► Intend(mark lo→hi) ──► queue of shots
//	    ▲                                            │ the next slot of the limiter
//	    │                                            ▼
//	park, drop, resolve ◄── results, ≤ 20 ms or 256 ◄── POST
//
// Nothing is posted whose intent is not known to be committed, and no shot is
// posted twice: a shot lives in memory only, a death forgets it, and recovery
// writes doubts, never work.
//
// Numbers that have room at the same time share a round: one transaction of intents.
//
// Goroutines: Engine.Run owns the recorder and the pacers; a pacer owns its
// planner, its poster, its renewer and the posts in flight. Each is waited for.
package sender
