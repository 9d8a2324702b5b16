// Package messaging is what every connector to a messaging service needs: the words (Message,
// Receipt, Event, and the records of connections, numbers and templates) and the proof of what an
// exchange did. A connector is a package below it that knows one service's own wire.
//
// An Exchange makes the requests and knows what was written; it never repeats one and follows no
// redirect. The table of codes says once what an answer means: an Error says what the exchange
// proves about the message and what to do. No caller decides by an HTTP status what became of a
// message. The senders, the preflight and the webhook intake use these words only.
package messaging
