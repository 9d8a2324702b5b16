package webhooks

import "net/http"

// Rejection says why a request was not taken. The list is closed; it labels the metric.
type Rejection string

// The reasons, in the order in which a request meets them.
const (
	RejectedMethod      Rejection = "method"        // not a POST
	RejectedEncoding    Rejection = "encoding"      // a Content-Encoding: what is signed is what is sent
	RejectedTooLarge    Rejection = "too_large"     // longer than Options.MaxBody
	RejectedMemory      Rejection = "memory"        // too many long bodies at once
	RejectedSlow        Rejection = "slow"          // the body did not come within Options.Hold
	RejectedBroken      Rejection = "broken"        // the connection broke, or the body was shorter than it said
	RejectedSignature   Rejection = "signature"     // missing or wrong
	RejectedUndecodable Rejection = "undecodable"   // signed, but nothing that we know how to read
	RejectedFull        Rejection = "full"          // more waits than Options.MaxWaiting
	RejectedCommit      Rejection = "commit_failed" // the ledger did not take it
	RejectedHeld        Rejection = "held"          // not committed within Options.Hold; it may be yet
	RejectedStopping    Rejection = "stopping"      // the intake has stopped
	RejectedGone        Rejection = "gone"          // the sender left before the commit; it may be committed yet
)

// rejections gives the answer to each; the order is that of Counts.
var rejections = []struct {
	Rejection
	status int
}{
	{RejectedMethod, http.StatusMethodNotAllowed},
	{RejectedEncoding, http.StatusUnsupportedMediaType},
	{RejectedTooLarge, http.StatusRequestEntityTooLarge},
	{RejectedMemory, http.StatusServiceUnavailable},
	{RejectedSlow, http.StatusRequestTimeout},
	{RejectedBroken, http.StatusBadRequest},
	{RejectedSignature, http.StatusUnauthorized},
	{RejectedUndecodable, http.StatusBadRequest},
	{RejectedFull, http.StatusServiceUnavailable},
	{RejectedCommit, http.StatusServiceUnavailable},
	{RejectedHeld, http.StatusServiceUnavailable},
	{RejectedStopping, http.StatusServiceUnavailable},
	{RejectedGone, http.StatusServiceUnavailable},
}

func (r Rejection) index() int {
	for i := range rejections {
		if rejections[i].Rejection == r {
			return i
		}
	}
	panic("webhooks: no such rejection: " + string(r))
}
