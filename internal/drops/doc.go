// Package drops takes lists that appear in watched buckets and folders, and launches each once.
//
// internal/daemon calls it: `serve` runs a Watcher beside its engine. Any number of processes may
// watch one folder, and each may be killed at any time. The package promises:
//
//   - Each version of a file is taken once, and each content once for a campaign.
//
//   - A file that is still being written is not taken.
//
//   - No file of another program is overwritten.
//
//     inbox/list.csv --claim--> spool --launch--> run
//     |                                      |
//     +--move--> done/list.csv               +--> done/list.csv.accepted.json, .rejected.csv
//     +--move--> rejected/list.csv           +--> done/list.csv.report.csv, .html, .json
//
// The ledger decides who claims a file, by its unique constraints (campaign.DropLedger). A job of
// the ledger lets one process at a time work on a file. Each step may be repeated, so that another
// process can go on at any instant at which one dies.
package drops
