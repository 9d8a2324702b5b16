package sender

import (
	"errors"
	"time"

	"campaignd/campaign"
	"campaignd/internal/messaging"
)

// errWithdrawn ends a request that must not leave any more.
var errWithdrawn = errors.New("withdrawn before its first byte")

// unposted reports whether a request ended because its attempt must not be posted any more: it was
// withdrawn, or too late for its slot. Another attempt follows.
func unposted(e *messaging.Error) bool {
	return e.Proof == messaging.NotSent && (errors.Is(e, errWithdrawn) || errors.Is(e, messaging.ErrLate))
}

// leaving returns the function that is called just before a request is written. Making the
// connection may have taken seconds: if the attempt must no longer be posted, the function returns
// errWithdrawn. Its last act is the note, which may take seconds too; the client looks at the age
// of the slot after it (messaging.Message.Until).
func (p *poster) leaving(a *attempt) func() error {
	return func() error {
		if p.withdrawn(a, time.Now()) {
			return errWithdrawn
		}
		return p.note(a)
	}
}

// note writes an attempt into the wire log, if there is one.
func (p *poster) note(a *attempt) error {
	if p.e.o.Wire == nil {
		return nil
	}
	entry, err := p.e.o.Wire.Note(campaign.Post{Run: a.delivery.Run, Seq: a.delivery.Seq, Attempt: a.nth}, a.segment.claimed.Epoch)
	a.entry.Store(int64(entry) + 1)
	return err
}

// unnote removes an attempt from the wire log, because nothing of its request was written.
func (p *poster) unnote(a *attempt) {
	if entry := a.entry.Load(); entry > 0 && p.e.o.Wire.Unposted(int(entry)-1) {
		a.entry.Store(0)
	}
}

// mostLate is how often an attempt is queued again after it was too late for its slot. On a busy
// machine up to a fifth of them are; one that goes on being late waits in the ledger.
const mostLate = 3

// again queues an attempt that was too late for its slot: it waits for another slot, as before. Its
// intent stays good, because nothing was written. It reports false if the wire log still has its
// note, or if it was late mostLate times.
func (p *poster) again(a *attempt) bool {
	if a.entry.Load() != 0 || a.late == mostLate {
		return false
	}
	a.late++
	if a.unsent != nil {
		a.unsent.Store(true)
	}
	p.queue.push([]*attempt{a})
	return true
}

// notPosted is the fact that an attempt was not posted: the delivery is queued again.
func notPosted(now time.Time) campaign.Result {
	return campaign.Result{Kind: campaign.ResultDeferred, At: now, NotBefore: now, Code: "held"}
}

// giveBack records that an attempt was not posted, and why. Its run gets the part of the number
// back that the attempt would have used.
func (p *poster) giveBack(a *attempt, why campaign.Result) {
	p.queue.giveBack(a.segment.run)
	p.e.rec.record(p.number, a, why)
}
