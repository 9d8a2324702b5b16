// Package plan holds the calendar rules of campaigns as pure functions of now: when a
// window is open (Window), when a cron schedule fires (Cron), what happens to a firing
// that was missed (Misfire), what a plan allows in a month (Allowance), what a number may send on a
// day of its warm-up (Ramp), how runs share a number (Shares), and when runs will have been sent
// (Situation.Forecast).
//
// The senders, preflight and the commands call it. It promises that equal arguments give equal
// answers on every replica: it reads no clock, no host time zone and no database. Local hours
// follow the IANA zone on the actual date. An unknown zone is an error when the campaign is read; a
// sender that does not know it uses the campaign's zone and warns. Programs that must run on
// machines without zone files import time/tzdata.
package plan
