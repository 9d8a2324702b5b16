package ledgertest

import (
	"fmt"
	"slices"
	"time"

	"campaignd/campaign"
)

// undelivered is a status failed with 131026, and the suppression that an intake makes of it.
func undelivered(id string, seq int64, when time.Time) campaign.Events {
	e := failure(id, "131026", when)
	e.Recipient = key(seq)
	return campaign.Events{Statuses: []campaign.StatusEvent{e}, Suppressions: []campaign.Suppression{
		campaign.NewSuppression(key(seq), "", campaign.ScopeUnreachable, "failed:131026", when).
			Proven(campaign.Proof{Connection: "conn_1", Message: id})}}
}

// reached is a status of a message.
func reached(id string, seq int64, s campaign.Status, when time.Time) campaign.Events {
	return campaign.Events{Statuses: []campaign.StatusEvent{event(id, key(seq), s, when)}}
}

// both is one batch of two.
func both(a, b campaign.Events) campaign.Events {
	return campaign.Events{Statuses: slices.Concat(a.Statuses, b.Statuses), Suppressions: slices.Concat(a.Suppressions, b.Suppressions)}
}

// A message that was delivered or read proves that its number is reachable, although it failed on
// another device.
var reachablePromises = []promise{
	{"ADeliveredMessageIsProofOfItsNumber", func(f *fixture) {
		r, l := f.begun(100, 40)
		seq := int64(0)
		for _, s := range []campaign.Status{campaign.Delivered, campaign.Read} {
			for _, when := range [][2]int{{10, 20}, {20, 10}} { // failed, then delivered by their own times, or the reverse
				for _, early := range []bool{false, true} { // before the receipt is recorded
					id := func() string { return messageID(r.No, seq) }
					failed := func() campaign.Events { return undelivered(id(), seq, at(when[0])) }
					delivered := func() campaign.Events { return reached(id(), seq, s, at(when[1])) }
					for name, batches := range map[string][]func() campaign.Events{
						"failed first":    {failed, delivered},
						"delivered first": {delivered, failed},
						"in one batch":    {func() campaign.Events { return both(failed(), delivered()) }},
						"failed again":    {failed, delivered, failed},
						"delivered again": {delivered, delivered, failed, delivered},
					} {
						if !early {
							f.record(acceptance(l, seq))
						}
						for _, batch := range batches {
							f.done(f.l.Apply(f.ctx, batch()))
						}
						f.hasSuppressed(0, "%s and failed, %s, at %v, early %v", s, name, when, early)
						if early {
							f.record(acceptance(l, seq))
						}
						f.hasSuppressed(0, "%s and failed, %s, at %v, early %v, and recorded", s, name, when, early)
						if got := f.lines(r.No)[seq].Status; got != s {
							f.Errorf("%s and failed, %s: shown as %s; want %s", s, name, got, s)
						}
						seq++
					}
				}
			}
		}
	}},
	{"AStatusThatWaitedIsProofOfItsNumber", func(f *fixture) {
		r, l := f.begun(4, 4)
		id := messageID(r.No, 0)
		f.done(f.l.Apply(f.ctx, undelivered(id, 0, at(10))))
		f.record(acceptance(l, 0)) // takes the status that waited
		f.done(f.l.Apply(f.ctx, reached(id, 0, campaign.Delivered, at(11))))
		f.hasSuppressed(0, "a failure that waited, then a delivery")
		id = messageID(r.No, 1)
		f.done(f.l.Apply(f.ctx, reached(id, 1, campaign.Delivered, at(11))))
		f.record(acceptance(l, 1))
		f.done(f.l.Apply(f.ctx, undelivered(id, 1, at(12))))
		f.hasSuppressed(0, "a delivery that waited, then a failure")
	}},
	{"AnotherFailedMessageIsStillAProof", func(f *fixture) {
		r, l := f.begun(9, 9)
		for seq := range int64(9) {
			f.record(acceptance(l, seq))
		}
		suppress := func(seq int64, source string, second int) {
			f.done(f.l.Suppress(f.ctx, []campaign.Suppression{
				campaign.NewSuppression(key(seq), "", campaign.ScopeUnreachable, source, at(second))}))
		}
		apply := func(all ...campaign.Events) {
			for _, e := range all {
				f.done(f.l.Apply(f.ctx, e))
			}
		}
		m := func(seq int64) string { return messageID(r.No, seq) }
		apply(undelivered(m(0), 0, at(10)), reached(m(0), 0, campaign.Sent, at(11)))
		suppress(1, "operator", 5)
		suppress(2, "import", 5)
		suppress(3, "failed:131026", 30) // a later message
		suppress(4, "refused:131026", 5)
		for seq := int64(1); seq < 5; seq++ {
			apply(undelivered(m(seq), seq, at(10)), reached(m(seq), seq, campaign.Delivered, at(20)))
		}
		apply(reached(m(5), 5, campaign.Delivered, at(20)), undelivered(m(6), 6, at(10)))
		opted := failure(m(7), "131050", at(10))
		opted.Recipient = key(7)
		apply(campaign.Events{Statuses: []campaign.StatusEvent{opted}, Suppressions: []campaign.Suppression{
			campaign.NewSuppression(key(7), "", campaign.ScopeMarketing, "failed:131050", at(10)).Proven(campaign.Proof{Message: m(7)})}},
			reached(m(7), 7, campaign.Delivered, at(20)))
		var got string
		for _, s := range f.suppressed() {
			got += fmt.Sprintf("%d %s; ", s.Key-key(0), s.Source)
		}
		if want := "0 failed:131026; 1 operator; 2 import; 3 failed:131026; 4 refused:131026; 6 failed:131026; 7 failed:131050; "; got != want {
			f.Errorf("suppressed: %s; want %s", got, want)
		}
	}},
}
