// Package harness holds campaignd to its first promise with real processes: nobody gets
// the same run twice and nobody is lost, whenever the process dies (design section 5;
// reliability.md 1.5 and 1.7). It has tests only, and they run with the build tag mutants:
//
//	make harness
//	go test -tags mutants -count=1 -v ./internal/daemon/harness -args -seed 7 -kills 200
//
// The tests build cmd/campaignd once, play the messaging service in their own process
// (internal/sandbox on a loopback port, with faults), and start the binary as an operator
// would: files, commands, exit codes. A process ends in one of two ways: it sends itself
// SIGKILL at a named point (CAMPAIGND_CRASH, internal/mutant), or the harness sends it, at a
// random time or while the sandbox holds a request. What the commands report and audit then
// say is compared with what the sandbox accepted.
//
// # Where a process is killed
//
//	window                          how it is hit                                reliability.md 1.5
//	import chunk                    point import_chunk, rows written, no commit  C0
//	before the intent's commit      point intent_before_commit                   C2
//	between intent and POST         points intent_committed, before_post         C3
//	on the wire                     the sandbox has the request, undecided       C4
//	answer unread                   accepted and not answered; and the point     C5
//	                                answer_unread, headers read and body not
//	outcome uncommitted             points answer_read, outcome_uncommitted      C6
//	webhook uncommitted             point webhook_uncommitted, no 2xx yet        C11
//	anywhere                        a random time after the start or a POST
//
// # A cluster
//
//	make cluster
//
// TestCluster... start replicas of `campaignd serve` over a private PostgreSQL and a private Redis, with the
// service's webhooks spread over them. Replicas are killed, die at points and are stopped past their lease (C14);
// PostgreSQL ends without a shutdown, Redis is emptied and restarted, 60 faults in a run. The mistakes that only many
// replicas can make are planted one by one in scenes that must show them.
//
// A run fails when fewer than three kills fell into a window, or when a configured fault
// of the sandbox never fired: a harness that misses is worse than none.
package harness
