package area

import (
	"encoding/json"
	"fmt"
	"time"
)

// campaignStates are the states of a recipient. Each recipient is in exactly one.
var campaignStates = []string{"pending", "accepted", "sent", "delivered", "read", "failed", "refused"}

// state is the latest state of a recipient, with the platform's code of a failure.
func (a *Areas) state(r *campaignRecipient) (state string, code int) {
	switch {
	case !r.done:
		return "pending", 0
	case r.outcome.Refusal != nil:
		if m := r.outcome.Refusal.Meta; m != nil {
			code = m.Code
		}
		return "refused", code
	}
	return a.MessageState(r.outcome.MessageID)
}

// sendSome sends to one recipient and plans the next.
func (a *Areas) sendSome(k *campaign, now time.Time) {
	if k.status != "running" {
		return
	}
	r := k.recipients[k.next]
	r.outcome, r.done = a.Send(k.connection, a.messageOf(k, r)), true
	if k.next++; k.next == len(k.recipients) {
		k.status = "completed"
		return
	}
	a.planSend(k, now)
}

// planSend gives the next recipient of a campaign the next free slot of its number, which all
// campaigns of the number share.
func (a *Areas) planSend(k *campaign, now time.Time) {
	id := k.connection.ID
	if now.Before(a.slots[id]) {
		now = a.slots[id]
	}
	a.slots[id] = now.Add(time.Second / time.Duration(a.Pace(k.connection)))
	a.At(now, func(now time.Time) { a.sendSome(k, now) })
}

// messageOf is the body of POST /messages for a recipient.
func (a *Areas) messageOf(k *campaign, r *campaignRecipient) []byte {
	template := map[string]any{"name": k.template.Name, "language": k.template.Language}
	if r.Body != nil {
		template["body"] = r.Body
	}
	if r.OTP != "" {
		template["otp"] = r.OTP
	}
	if len(r.Buttons) > 0 {
		template["buttons"] = r.Buttons
	}
	if len(k.template.Header) > 0 {
		template["header"] = k.template.Header
	}
	raw, err := json.Marshal(map[string]any{"connectionId": k.connection.ID, "to": r.To, "template": template})
	if err != nil {
		panic(fmt.Sprintf("sandbox: a recipient that was decoded cannot be encoded: %v", err))
	}
	return raw
}
