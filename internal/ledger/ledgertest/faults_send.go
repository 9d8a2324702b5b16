package ledgertest

import (
	"context"
	"fmt"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/reception"
)

var sendFaults = []faultyMethod{
	{"Claim", func(f *fixture, _ Faults) func(context.Context) error {
		no := f.imported(3).No
		return func(ctx context.Context) error {
			ls, err := f.l.Claim(ctx, campaign.Claim{Owner: "a", Connection: "conn_1", Runs: []campaign.RunNo{no}, Max: 3, Lease: long})
			return none(f, len(ls), err)
		}
	}},
	{"Renew", func(f *fixture, _ Faults) func(context.Context) error {
		l := f.lease(f.imported(3).No, long)
		return func(ctx context.Context) error {
			ls, err := f.l.Renew(ctx, []campaign.Lease{l}, 2*long)
			return none(f, len(ls), err)
		}
	}},
	{"Release", func(f *fixture, _ Faults) func(context.Context) error {
		_, l := f.retried(func(r *campaign.Run) { r.Budget = 100 })
		return func(ctx context.Context) error { return f.l.Release(ctx, l, []int64{0, 1, 2, 5}) }
	}},
	{"Recover", func(f *fixture, _ Faults) func(context.Context) error {
		_, l := f.retried()
		return func(ctx context.Context) error {
			n, err := f.l.Recover(ctx, l, at(100))
			return none(f, n, err)
		}
	}},
	{"Unposted", func(f *fixture, _ Faults) func(context.Context) error {
		r := f.imported(10, func(r *campaign.Run) { r.Budget = 100 })
		owner := fmt.Sprint("dead ", r.No)
		f.sent(f.leaseOf(owner, r.No, gone), 0, 5)
		l := f.leaseOf("heir "+owner, r.No, gone)
		f.ok(f.l.Release(f.ctx, l, nil))
		return func(ctx context.Context) error {
			_, err := f.l.Unposted(ctx, campaign.WireLog{Owner: owner, Posts: []campaign.Post{post(r.No, 0, 1)}})
			return err
		}
	}},
	{"Deliveries", func(f *fixture, _ Faults) func(context.Context) error {
		no := f.imported(3).No
		return func(ctx context.Context) error { _, err := f.l.Deliveries(ctx, no, 0, 3); return err }
	}},
	{"Due", func(f *fixture, _ Faults) func(context.Context) error {
		_, l := f.retried()
		return func(ctx context.Context) error { _, err := f.l.Due(ctx, l, at(1000), 9); return err }
	}},
	{"Intend", func(f *fixture, _ Faults) func(context.Context) error {
		r := f.imported(20, func(r *campaign.Run) { r.Budget = 100 })
		l := f.lease(r.No, long)
		f.sent(l, 0, 3)
		f.record(deferral(l, 0, at(0)), deferral(l, 1, at(0)), acceptance(l, 2))
		f.suppresses(1, 4)
		in := intent(l, 3, 6)
		in.Keys = append(in.Keys, key(0), key(1))
		for seq := range int64(2) {
			in.Retries = append(in.Retries, campaign.Retry{Delivery: campaign.Delivery{Run: r.No, Seq: seq, Key: key(seq)}, Attempt: 2})
		}
		return func(ctx context.Context) error { _, err := f.l.Intend(ctx, []campaign.Intent{in}); return err }
	}},
	{"IntendWithoutKeys", func(f *fixture, _ Faults) func(context.Context) error {
		l := f.lease(f.imported(20).No, long)
		f.suppresses(4)
		in := intent(l, 0, 6)
		in.Keys = nil
		return func(ctx context.Context) error { _, err := f.l.Intend(ctx, []campaign.Intent{in}); return err }
	}},
	{"Record", func(f *fixture, _ Faults) func(context.Context) error {
		r, l := f.begun(20, 8)
		f.record(deferral(l, 4, at(0)), doubtful(l, 5), deferral(l, 6, at(0)))
		f.sentRetry(l, 8, 4, 2)
		f.apply(event(messageID(r.No, 0), key(0), campaign.Sent, at(1)), event(messageID(r.No, 5), key(5), campaign.Read, at(1)))
		refused, again := refusal(l, 1), acceptance(l, 4)
		refused.Suppress = &campaign.Suppression{Key: key(7000 + int64(f.ids)), Scope: campaign.ScopeAll, At: at(0)}
		again.Attempt = 2
		rs := []campaign.Result{acceptance(l, 0), refused, deferral(l, 2, at(0)), doubtful(l, 3), again, acceptance(l, 5)}
		return func(ctx context.Context) error { return f.l.Record(ctx, rs) }
	}},
	{"RecordARepeatedID", func(f *fixture, _ Faults) func(context.Context) error {
		_, l := f.begun(3, 3)
		rs := []campaign.Result{acceptance(l, 0), acceptance(l, 1), acceptance(l, 2)}
		rs[2].MessageID = rs[0].MessageID
		return func(ctx context.Context) error { return f.l.Record(ctx, rs) }
	}},
	{"Resolve", func(f *fixture, _ Faults) func(context.Context) error {
		l := f.lease(f.imported(3).No, long)
		f.sent(l, 0, 2)
		never := doubtful(l, 1)
		never.NoResend = true
		f.record(doubtful(l, 0), never)
		return func(ctx context.Context) error {
			n, err := f.l.Resolve(ctx, l, reception.Span{Until: at(100)}, campaign.UncertainResend)
			return none(f, n, err)
		}
	}},
	{"SkipQueued", func(f *fixture, _ Faults) func(context.Context) error {
		_, l := f.retried()
		return func(ctx context.Context) error {
			n, err := f.l.SkipQueued(ctx, l, campaign.Expired)
			return none(f, n, err)
		}
	}},
	{"Park", func(f *fixture, _ Faults) func(context.Context) error {
		_, l := f.retried()
		return func(ctx context.Context) error {
			_, err := f.l.Park(ctx, l, time.Time{}, After(time.Minute))
			return err
		}
	}},
}
