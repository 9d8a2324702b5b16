// Package launch brings a campaign and a list to a run that is ready: preflight, import, upload of
// the header, the choice of a canary, and follow-ups of rows that failed. It compares a list with
// the lists of earlier runs, reads suppression lists, and judges a canary and the opt-outs of a
// run.
//
// The commands, the schedule, the watched folders and the API call it. It promises that a launch
// may be interrupted anywhere and repeated, that a list has one run, and that every row of a list
// becomes exactly one delivery.
package launch
