package area

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"
)

// recipientState is the latest state of a recipient. Each recipient is in exactly one.
type recipientState uint8

// The states of a recipient. A status never leads to an earlier one: a message that failed on one
// device stays failed (docs/service.md#statuses).
const (
	pending recipientState = iota
	accepted
	sent
	delivered
	read
	failed
	refused
	recipientStates // their number
)

var stateNames = [recipientStates]string{"pending", "accepted", "sent", "delivered", "read", "failed", "refused"}

func (s recipientState) String() string { return stateNames[s] }

// Outcome is what became of the send to a recipient.
type Outcome struct {
	MessageID string
	Refusal   *Refusal // nil: accepted
	Later     []Later
}

// Later is a status that an accepted message will have.
type Later struct {
	Name string // sent, delivered, read or failed
	At   time.Time
	Code int // the platform's, of failed
}

// move changes the state of a recipient, and counts it there.
func (k *campaign) move(r *campaignRecipient, to recipientState, code int) {
	k.counts[r.state]--
	r.state, r.code = to, code
	k.counts[to]++
}

// sendSome sends to one recipient and plans the next.
func (a *Areas) sendSome(k *campaign, now time.Time) {
	if k.status != "running" {
		return
	}
	r := k.recipients[k.next]
	a.record(k, r, a.Send(k.connection, a.messageOf(k, r)))
	if k.next++; k.next == len(k.recipients) {
		k.status = "completed"
		return
	}
	a.planSend(k, now)
}

// record takes what became of a send. It plans the changes by the statuses, so that a campaign
// always knows its counts.
func (a *Areas) record(k *campaign, r *campaignRecipient, out Outcome) {
	if ref := out.Refusal; ref != nil {
		r.error = ref.Code
		k.move(r, refused, 0)
		if ref.Meta != nil {
			r.code = ref.Meta.Code
		}
		return
	}
	r.messageID = out.MessageID
	k.move(r, accepted, 0)
	for _, l := range out.Later {
		to := recipientState(slices.Index(stateNames[:], l.Name))
		a.At(l.At, func(time.Time) {
			if to > r.state {
				k.move(r, to, l.Code)
			}
		})
	}
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
