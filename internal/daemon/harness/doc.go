// Package harness tests the first promise of campaignd with real processes: no recipient gets the
// same run twice and no row is lost, whenever the process dies (docs/protocol.md#invariants). It
// has tests only, and they run with the build tag mutants:
//
//	make harness
//	go test -tags mutants -count=1 -v ./internal/daemon/harness -args -seed 7 -kills 200
//
// The tests build cmd/campaignd once, run the messaging service in their own process
// (internal/sandbox on a loopback port, with faults), and start the binary as an operator would:
// files, commands, exit codes. A process ends in one of two ways: it sends itself SIGKILL at a
// named point (CAMPAIGND_CRASH, internal/mutant), or the harness sends it, at a random time or
// while the sandbox holds a request. The output of the commands report and audit is then compared
// with the messages that the sandbox accepted.
//
// # Where a process is killed
//
// The numbers are those of docs/protocol.md#crash-points.
//
//	window                          how it is hit                                crash point
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
// The tests TestCluster... start replicas of `campaignd serve` over a private PostgreSQL and a
// private Redis, with the service's webhooks spread over them. Replicas are killed, die at crash
// points, and are stopped for longer than their lease (C14); PostgreSQL ends without a shutdown,
// Redis is emptied and restarted: 60 faults in a run. The mutations that only several replicas can
// show are applied one by one, each under the faults that show it (docs/protocol.md#mutations).
//
// # A faulty service
//
// In a scene, a number, a client, a template or the list of numbers has a fault while runs send, or
// the operator ends a run. The test compares when and over which number the sandbox got requests,
// and what the commands holds, why, runs, report and audit say. On a machine that is not busy the
// pace must be right within 5 %.
//
// # What a run must prove
//
// A run fails when fewer than three kills fell into a window, or when a configured fault of the
// sandbox never fired, because the run would prove too little.
package harness
