package ledgertest

import (
	"context"
	"strings"
	"sync"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/reception"

	"github.com/google/go-cmp/cmp"
)

func tally(s campaign.Status, reason string, n int64) campaign.Tally {
	return campaign.Tally{Status: s, Reason: reason, N: n}
}

var reportPromises = []promise{
	{"TalliesCountEachDeliveryOnce", func(f *fixture) {
		r, l := f.begun(20, 14)
		f.record(acceptance(l, 0), acceptance(l, 1), acceptance(l, 2), acceptance(l, 3), acceptance(l, 4), refusal(l, 5), deferral(l, 6, at(0)),
			deferral(l, 7, at(0)),
			doubtful(l, 8), doubtful(l, 9))
		f.sentRetry(l, 14, 7, 2)
		failed := event(messageID(r.No, 4), key(4), campaign.Failed, at(5))
		failed.Code = "131049"
		f.apply(event(messageID(r.No, 1), key(1), campaign.Sent, at(5)), event(messageID(r.No, 2), key(2), campaign.Delivered, at(5)),
			event(messageID(r.No, 3), key(3), campaign.Read, at(5)), failed)
		young := doubtful(l, 10)
		young.At = at(90)
		f.record(young)
		f.done(f.l.Resolve(f.ctx, l, reception.Span{Until: at(50)}, campaign.UncertainHold))
		got, funnel, err := f.l.Tallies(f.ctx, r.No)
		f.ok(err)
		want := []campaign.Tally{tally(campaign.Queued, "", 6), tally(campaign.Queued, "send_retryable", 1), tally(campaign.Sending, "", 4),
			tally(campaign.Accepted, "", 1),
			tally(campaign.Sent, "", 1), tally(campaign.Delivered, "", 1),
			tally(campaign.Read, "", 1), tally(campaign.Failed, "131049", 1), tally(campaign.Refused, "send_recipient_permanent", 1),
			tally(campaign.InDoubt, "", 1), tally(campaign.Unknown, "", 2)}
		if d := cmp.Diff(want, got); d != "" {
			f.Errorf("-want +got:\n%s", d)
		}
		if d := cmp.Diff(campaign.Funnel{Accepted: 5, Sent: 3, Delivered: 2, Read: 1, Failed: 1}, funnel); d != "" {
			f.Errorf("-want +got:\n%s", d)
		}
		f.counts(r.No)
		f.sound(r.No)
	}},
	{"TheLinesTellWhatTheTalliesCount", func(f *fixture) {
		r := f.imported(campaign.SegmentSize + 30)
		ls := f.claim(r.No, long, 2)
		f.sent(ls[0], 0, 100)
		f.sent(ls[1], campaign.SegmentSize, campaign.SegmentSize+10)
		var rs []campaign.Result
		for seq := range int64(80) {
			switch seq % 4 {
			case 0:
				rs = append(rs, acceptance(ls[0], seq))
			case 1:
				rs = append(rs, refusal(ls[0], seq))
			case 2:
				rs = append(rs, deferral(ls[0], seq, at(9)))
			case 3:
				rs = append(rs, doubtful(ls[0], seq))
			}
		}
		f.record(rs...)
		by := map[campaign.Status]int64{}
		row := int64(0)
		for l, err := range f.l.Lines(f.ctx, r.No) {
			f.ok(err)
			by[l.Status]++
			if row++; l.Row != row {
				f.Fatalf("row %d comes in place %d; want Row %+v", l.Row, row, row)
			}
		}
		if d := cmp.Diff(by, f.counts(r.No)); d != "" {
			f.Errorf("-want +got:\n%s", d)
		}
	}},
	{"LinesMayBeLeftEarly", func(f *fixture) {
		r := f.imported(10)
		for l, err := range f.l.Lines(f.ctx, r.No) {
			f.ok(err)
			if l.Row == 3 {
				break
			}
		}
		f.sent(f.lease(r.No, long), 0, 1) // the read has ended
	}},
	{"TheSumBalancesWhileEverythingMoves", func(f *fixture) {
		const n = 600
		r, l := f.leased(n, long)
		ctx, stop := context.WithTimeout(f.ctx, time.Minute)
		defer stop()
		var wg sync.WaitGroup
		wg.Go(func() {
			defer stop()
			for from := int64(0); from < n; from += 20 {
				gs, err := f.l.Intend(f.ctx, []campaign.Intent{intent(l, from, from+20)})
				if err != nil || gs[0].To != from+20 {
					f.Errorf("got %+v %v; want no error, To %+v", gs, err, from+20)
					return
				}
				var rs []campaign.Result
				var es []campaign.StatusEvent
				for seq := from; seq < from+20; seq++ {
					rs = append(rs, acceptance(l, seq))
					es = append(es, event(messageID(r.No, seq), key(seq), campaign.Sent, at(2)))
				}
				wg.Go(func() {
					if _, err := f.l.Apply(f.ctx, campaign.Events{Statuses: es}); err != nil {
						f.Error(err)
					}
				})
				if err := f.l.Record(f.ctx, rs); err != nil {
					f.Error(err)
				}
			}
		})
		for ctx.Err() == nil {
			f.counts(r.No)
		}
		wg.Wait()
		f.sweep() // the sweep applies a status that was stored while its receipt was recorded
		if c := f.counts(r.No); c[campaign.Sent] != n {
			f.Errorf("counts %v; want Sent: %+v", c, n)
		}
		f.sound(r.No)
	}},
	{"LanesSayWhatTheirOwnerSaidLast", func(f *fixture) {
		r := f.imported(1)
		a := campaign.LaneReport{Run: r.No, Connection: "conn_1", LimitedBy: campaign.ByThroughput, Rate: 79.5, At: at(1),
			Detail: strings.Repeat("a long cause ", 40) + "and its remedy"}
		b := campaign.LaneReport{Run: r.No, Connection: "conn_2", LimitedBy: campaign.ByWindow, At: at(1)}
		f.ok(f.l.ReportLanes(f.ctx, "one", []campaign.LaneReport{a, {Run: r.No + 1, Connection: "conn_1", At: at(0)}}))
		f.ok(f.l.ReportLanes(f.ctx, "two", []campaign.LaneReport{b}))
		a.LimitedBy = campaign.ByRunRate
		f.ok(f.l.ReportLanes(f.ctx, "one", []campaign.LaneReport{a}))
		got, err := f.l.Lanes(f.ctx, r.No)
		f.ok(err)
		a.Owner, b.Owner = "one", "two"
		if d := cmp.Diff([]campaign.LaneReport{a, b}, got); d != "" {
			f.Errorf("-want +got:\n%s", d)
		}
		f.ok(f.l.ReportLanes(f.ctx, "one", nil))
		if got, err = f.l.Lanes(f.ctx, r.No); err != nil || len(got) != 1 {
			f.Errorf("got %+v %v; want no error, length 1", got, err)
		}
	}},
	{"CallsFailAfterTheirContextEnded", func(f *fixture) {
		r, l := f.leased(1, long)
		ctx, cancel := context.WithCancel(f.ctx)
		cancel()
		if gs, err := f.l.Intend(ctx, []campaign.Intent{intent(l, 0, 1)}); err == nil && gs[0].To == 1 {
			return // the call was faster than the cancellation
		}
		if s := f.segmentState(r.No, 0); s.Mark != 0 {
			f.Errorf("an intent that failed moved the mark to %d; want Mark 0", s.Mark)
		}
	}},
}
