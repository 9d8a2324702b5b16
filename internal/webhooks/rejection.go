package webhooks

import "net/http"

// Rejection says why a request was not taken. The list is closed and labels the metric.
type Rejection string

// The reasons, in the order of the checks.
const (
	RejectedMethod      Rejection = "method"        // not a POST
	RejectedEncoding    Rejection = "encoding"      // a Content-Encoding: the signature covers the bytes as they are sent
	RejectedTooLarge    Rejection = "too_large"     // longer than messaging.MaxBody
	RejectedMemory      Rejection = "memory"        // too many long bodies at once
	RejectedSlow        Rejection = "slow"          // the body did not come within answerTime
	RejectedBroken      Rejection = "broken"        // the connection broke, or the body was shorter than it said
	RejectedSignature   Rejection = "signature"     // missing or wrong
	RejectedUndecodable Rejection = "undecodable"   // signed, but not decodable
	RejectedUnlisted    Rejection = "unlisted"      // it is not known yet whether the secret vouches for a number
	RejectedFull        Rejection = "full"          // more than maxWaiting events wait
	RejectedCommit      Rejection = "commit_failed" // the ledger did not commit
	RejectedLate        Rejection = "held"          // not committed within answerTime; the commit may still follow
	RejectedStopping    Rejection = "stopping"      // the intake is stopping or has stopped
	RejectedGone        Rejection = "gone"          // the sender left before the commit; the commit may still follow
)

// rejections gives the status of the answer to each Rejection, in the order of the checks.
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
	{RejectedUnlisted, http.StatusServiceUnavailable},
	{RejectedFull, http.StatusServiceUnavailable},
	{RejectedCommit, http.StatusServiceUnavailable},
	{RejectedLate, http.StatusServiceUnavailable},
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
