// Package cloud speaks the wire of the platform's own Cloud API, so that a business number can be
// used without a service between. A [Client] sends, lists numbers and templates, stores files and
// subscribes an account to webhooks. It has the methods of the service's client that campaigns
// need, and returns the same types. docs/cloud.md has each rule with its source, and what was never
// confirmed: no call was made to the real API.
package cloud
