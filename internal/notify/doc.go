// Package notify sends what the ledger's outbox has to tell to the operator's own addresses, as
// signed webhooks in the form of Standard Webhooks (https://www.standardwebhooks.com), or as texts
// that Slack and services like it take.
//
// The transaction of an event writes its notifications, so that a process that dies loses none
// (campaign.NotificationLedger). Run takes a try by one conditional update, so that of N replicas
// one makes it. If a process dies between its request and the record of the answer, another
// one sends again. All tries have the same header webhook-id, by which a receiver knows the
// repetition.
package notify
