// Package messaging speaks the wire protocol of the messaging service (docs/service.md): the send
// request and its answer, the listings that campaignd needs, the bodies of webhooks and their
// signatures.
//
// The senders send with it, the preflight reads templates and numbers with it, and the webhook
// intake decodes with it.
//
// It classifies each exchange once: an Error says what the exchange proves about the message and
// what to do. No caller decides by an HTTP status what became of a message. It never repeats a POST
// and follows no redirect.
package messaging
