// Package request reads the send request, the body of POST /api/v1/messages, and judges it alone:
// its form by the document, its content by the platform's rules. Package sandbox calls it for each
// send, and applies the rules that need the state of the account.
//
// A member that the document does not name in exactly this spelling is refused, and so is one that
// is given twice. A template in the platform's own form, of raw content or of the Cloud API,
// becomes the document's, so that the same rules judge it.
package request
