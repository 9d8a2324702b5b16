// Package service speaks the wire protocol of the messaging service (docs/service.md): the send
// request and its answer, the listings that campaignd needs, the registration of webhooks and the
// form of its events. The process makes one Client for all that it sends and asks, and the webhook
// intake decodes with EventDecoder.
//
// Where the document of the service shows nothing, Assumed has the assumptions that a configuration
// can replace.
package service
