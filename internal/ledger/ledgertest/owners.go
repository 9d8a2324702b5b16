package ledgertest

import (
	"fmt"

	"campaignd/campaign"

	"github.com/google/go-cmp/cmp"
)

// Platform is ledger.Options.Platform of the ledgers that Run opens: two connections of the Cloud
// API.
func Platform() []string { return []string{"cloud_1", "cloud_2"} }

// sentOver makes a run whose n messages were posted over a connection.
func (f *fixture) sentOver(connection string, n int64) (campaign.Run, campaign.Lease) {
	f.Helper()
	r := f.imported(n)
	ls := f.by(connection, r.No)
	if len(ls) != 1 {
		f.Fatalf("claimed %d segments over %s, want 1", len(ls), connection)
	}
	f.intend(over(connection, intent(ls[0], 0, n)))
	return r, ls[0]
}

// acceptedOver records the acceptance of a message that was posted over a connection.
func (f *fixture) acceptedOver(connection string, l campaign.Lease, seq int64) {
	f.Helper()
	a := acceptance(l, seq)
	a.Connection = connection
	f.record(a)
}

// from is an event of a connection.
func from(connection string, e campaign.StatusEvent) campaign.StatusEvent {
	e.Connection = connection
	return e
}

// strangers are connections, by the connection of a message, whose events are not about it.
var strangers = map[string][]string{
	"cloud_1": {"cloud_2", "conn_1", ""},
	"conn_1":  {"cloud_2"},
}

var ownerPromises = []promise{
	{"AStatusIsOfItsOwnConnection", func(f *fixture) {
		for sent, others := range strangers {
			r, l := f.sentOver(sent, 1)
			f.acceptedOver(sent, l, 0)
			id := messageID(r.No, 0)
			for _, other := range others {
				fails := from(other, event(id, key(0), campaign.Failed, at(2)))
				fails.Code = "131026"
				f.apply(fails, priced(from(other, event(id, key(0), campaign.Delivered, at(3))), "regular/utility"))
				f.sweep()
				f.status(r.No, 0, campaign.Accepted)
			}
			f.apply(priced(from(sent, event(id, key(0), campaign.Read, at(4))), "regular/marketing"))
			f.status(r.No, 0, campaign.Read)
			if p := f.prices(r.No); len(p) != 1 || sent == "cloud_1" && p[0].Price != "regular/marketing" {
				f.Errorf("over %s: got the prices %+v, want the one of its own event", sent, p)
			}
			f.sound(r.No)
		}
	}},
	// The event comes before the receipt.
	{"AnOrphanIsOfItsOwnConnection", func(f *fixture) {
		for sent, others := range strangers {
			r, l := f.sentOver(sent, 2)
			id := func(seq int64) string { return messageID(r.No, seq) }
			for _, other := range others {
				f.apply(from(other, event(id(0), key(0), campaign.Delivered, at(2))))
			}
			f.apply(from(sent, event(id(1), key(1), campaign.Delivered, at(2))))
			f.acceptedOver(sent, l, 0)
			f.acceptedOver(sent, l, 1)
			f.sweep()
			f.status(r.No, 0, campaign.Accepted)
			f.status(r.No, 1, campaign.Delivered)
		}
	}},
	{"ADoubtIsProvenByItsOwnConnection", func(f *fixture) {
		seq := int64(0) // another person each time, whom no orphan of the time before is about
		for sent, others := range strangers {
			for _, withMark := range []bool{false, true} {
				r, l := f.sentOver(sent, seq+1)
				d := doubtful(l, seq)
				d.Connection = sent
				f.record(d)
				proof := func(over string) campaign.StatusEvent {
					e := from(over, event(fmt.Sprintf("wamid.%d.%s", r.No, over), key(seq), campaign.Sent, at(2)))
					if withMark {
						e = marked(e, r.No, seq, 1)
					}
					return e
				}
				for _, other := range others {
					f.apply(proof(other))
					f.sweep()
					f.status(r.No, seq, campaign.InDoubt)
				}
				f.apply(proof(sent))
				f.sweep()
				f.status(r.No, seq, campaign.Sent)
				seq++
			}
		}
	}},
	{"AWishAnswersAMessageOfItsConnection", func(f *fixture) {
		r, l := f.sentOver("cloud_1", 2)
		f.acceptedOver("cloud_1", l, 0)
		f.acceptedOver("cloud_1", l, 1)
		over := func(connection string, seq int64) campaign.Wish {
			w := wants(fmt.Sprint("US.", connection), messageID(r.No, seq), false, 10)
			w.Proof.Connection = connection
			return w
		}
		f.applied(wished(over("cloud_2", 0)))
		f.applied(campaign.Events{Pairs: []campaign.Pair{{UserID: "US.2", Message: messageID(r.No, 0), Connection: "cloud_2", At: at(1)}}})
		f.applied(wished(wants("US.2", "", false, 10)))
		f.opted(2, "in answer to a message of another connection")
		f.applied(wished(over("cloud_1", 1)))
		f.opted(2, "in answer to a message of the own connection", 1)
	}},
	{"AReplyAnswersAMessageOfItsConnection", func(f *fixture) {
		r, l := f.sentOver("cloud_1", 2)
		f.acceptedOver("cloud_1", l, 0)
		f.acceptedOver("cloud_1", l, 1)
		f.numbersKept(1)
		reply := func(connection string) campaign.Events {
			s := stops(7, 20, messageID(r.No, 1))
			s.Proof.Connection = connection
			return campaign.Events{Suppressions: []campaign.Suppression{s},
				Replies: []campaign.Reply{{Key: key(8), Answers: messageID(r.No, 0), At: at(20), Connection: connection}}}
		}
		f.applied(reply("cloud_2"))
		f.attributed(2)
		f.responded("another connection", r.No, 0, 0)
		f.applied(reply("cloud_1"))
		f.attributed(2)
		f.responded("the own connection", r.No, 1, 1)
	}},
	{"AnEventOfTheServiceTellsOfTheService", func(f *fixture) {
		r, l := f.sentOver("conn_1", 3)
		for seq := range int64(3) {
			f.acceptedOver("conn_1", l, seq)
		}
		f.apply(from("", event(messageID(r.No, 0), key(0), campaign.Sent, at(2))),
			from("conn_2", event(messageID(r.No, 1), key(1), campaign.Sent, at(2))))
		got := []campaign.Status{f.lines(r.No)[0].Status, f.lines(r.No)[1].Status, f.lines(r.No)[2].Status}
		if d := cmp.Diff([]campaign.Status{campaign.Sent, campaign.Sent, campaign.Accepted}, got); d != "" {
			f.Errorf("-want +got:\n%s", d)
		}
	}},
}
