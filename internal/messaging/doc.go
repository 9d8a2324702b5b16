// Package messaging speaks the messaging service's wire protocol (seed 000): the
// send request and its answer, the listings campaignd needs, webhook bodies and
// their signatures.
//
// The lanes send with it, preflight reads templates and numbers with it, the
// webhook intake decodes with it. It promises that each exchange is classified once,
// here: Error tells what the exchange proves about the message and what to do; nobody
// above re-reads HTTP status codes. It never repeats a POST and follows no redirect.
package messaging
