// Package drops takes lists that appear in watched buckets and folders, and launches each once.
//
// internal/daemon calls it: `serve` runs a Watcher beside its engine. It promises that any number
// of processes, killed at any time, take each version of a file, and each content of a campaign,
// once; that a file which is still being written is not taken; and that no file of another is
// overwritten.
//
//	inbox/list.csv --claim--> spool --launch--> run
//	      |                                      |
//	      +--move--> done/list.csv               +--> done/list.csv.accepted.json, .rejected.csv
//	      +--move--> rejected/list.csv           +--> done/list.csv.report.csv, .report.json
//
// The ledger decides: its unique keys are the claim (campaign.DropLedger). A job of the ledger lets
// one process at a time work on a file; each step may be repeated, so a process that dies at any
// instant is replaced by the next one.
package drops
