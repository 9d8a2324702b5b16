package ledgertest

import (
	"time"

	"campaignd/campaign"
	"campaignd/campaign/reception"

	"github.com/google/go-cmp/cmp"
)

// later is after everything that a test does.
func later() time.Time { return time.Now().Add(time.Hour) }

// between returns an instant that is later than all before the call, and earlier than all after it,
// by more than the precision of LastEventAt.
func (f *fixture) between() time.Time {
	time.Sleep(2 * time.Millisecond)
	at := time.Now()
	time.Sleep(110 * time.Millisecond)
	return at
}

// retires calls Retire until it deletes nothing more, and fails unless that deletes want
// deliveries.
func (f *fixture) retires(before time.Time, want int64) {
	f.Helper()
	var got int64
	for {
		n, err := f.l.Retire(f.ctx, before)
		f.ok(err)
		if n == 0 {
			break
		}
		got += n
	}
	if got != want {
		f.Errorf("%d deliveries deleted; want %d", got, want)
	}
}

// over makes a run of n deliveries that has finished: of each ten, one is skipped, one refused, one
// unknown, and the others accepted, of which one failed, one was delivered and one read.
func (f *fixture) over(n int64, change ...func(*campaign.Run)) campaign.Run {
	f.Helper()
	r := f.imported(n, change...)
	for {
		ls := f.claim(r.No, long, 1)
		if len(ls) == 0 {
			break
		}
		l := ls[0]
		var rs []campaign.Result
		var es []campaign.StatusEvent
		f.sent(l, l.Lo, l.Hi)
		for seq := l.Lo; seq < l.Hi; seq++ {
			told := event(messageID(r.No, seq), key(seq), campaign.Sent, at(5))
			switch seq % 10 {
			case 0:
				rs = append(rs, refusal(l, seq))
				continue
			case 1:
				doubt := doubtful(l, seq)
				doubt.At = at(0)
				rs = append(rs, doubt)
				continue
			case 2:
				told.Status, told.Code = campaign.Failed, "131049"
			case 3:
				told.Status = campaign.Delivered
			case 4:
				told.Status = campaign.Read
			}
			rs, es = append(rs, acceptance(l, seq)), append(es, told)
		}
		f.record(rs...)
		f.apply(es...)
		f.done(f.l.Resolve(f.ctx, l, reception.Span{Until: at(50)}, campaign.UncertainHold))
		f.ended(l)
	}
	f.finishes(r.No)
	return f.run(r.No)
}

var retentionPromises = []promise{
	{"TotalsOutliveTheirDeliveries", func(f *fixture) {
		r := f.over(campaign.SegmentSize + 100)
		tallies, funnel, err := f.l.Tallies(f.ctx, r.No)
		f.ok(err)
		for left := r.Rows; ; {
			n, err := f.l.Retire(f.ctx, later())
			f.ok(err)
			left -= n
			now, nowFunnel, err := f.l.Tallies(f.ctx, r.No)
			f.ok(err)
			if d := cmp.Diff(tallies, now) + cmp.Diff(funnel, nowFunnel); d != "" {
				f.Errorf("with %d deliveries left (-before +after):\n%s", left, d)
			}
			if got := int64(len(f.lines(r.No))); got != left {
				f.Errorf("%d lines of the report; want %d", got, left)
			}
			f.sound(r.No)
			if n == 0 {
				break
			}
		}
		if got := f.run(r.No).Retired; got.Rows != r.Rows || time.Since(got.At) > time.Hour {
			f.Errorf("deleted: %+v; want %d rows, now", got, r.Rows)
		}
		f.apply(event(messageID(r.No, 5), key(5), campaign.Read, at(9))) // its delivery was deleted, so it is an orphan
		f.retires(later(), 0)
	}},
	{"OnlyWhatEndedAndSettledIsDeleted", func(f *fixture) {
		old := f.over(20)
		before := f.between()
		f.retires(old.CreatedAt, 0)
		busy := f.imported(20)
		f.sent(f.lease(busy.No, long), 0, 5)
		young := f.over(20)
		f.retires(before, 20)
		for no, want := range map[campaign.RunNo]int{old.No: 0, busy.No: 20, young.No: 20} {
			if got := len(f.lines(no)); got != want {
				f.Errorf("run %d has %d lines; want %d", no, got, want)
			}
		}
		if got := f.run(busy.No).Retired; got != (campaign.Retired{}) {
			f.Errorf("deleted of a run under way: %+v; want nothing", got)
		}
	}},
	{"AStatusKeepsItsRunALittleLonger", func(f *fixture) {
		r := f.over(10)
		before := f.between()
		f.apply(event(messageID(r.No, 5), key(5), campaign.Read, at(9)))
		f.retires(before, 0)
		f.retires(later(), 10)
	}},
	{"AParentStaysWhileItsFollowUpIsUnderWay", func(f *fixture) {
		parent := f.over(10)
		child := f.create(func(r *campaign.Run) { r.Parent = parent.No })
		f.retires(later(), 0)
		f.ok(f.l.AppendRows(f.ctx, child.No, 0, deliveries(0, 1), oneSegment(child.No, 1)))
		f.ok(f.l.FinishImport(f.ctx, child.No, 1, campaign.Ready))
		l := f.lease(child.No, long)
		f.sent(l, 0, 1)
		f.record(acceptance(l, 0))
		f.ended(l)
		f.finishes(child.No)
		f.retires(later(), 11)
	}},
	{"FrequencyCapsAndTiersOutliveDeliveries", func(f *fixture) {
		counts := func(in campaign.Intent) campaign.Intent {
			in.Cap = &campaign.FrequencyLimit{Messages: 1, Per: campaign.Duration(24 * time.Hour)}
			in.Tier = campaign.Tier{Places: 3, Portfolio: "p"}
			return in
		}
		first, second := f.imported(2), f.imported(3)
		l := f.lease(first.No, long)
		f.intend(counts(intent(l, 0, 2)))
		f.record(acceptance(l, 0), acceptance(l, 1))
		f.ended(l)
		f.finishes(first.No)
		f.retires(later(), 2)
		l = f.lease(second.No, long)
		g := f.intend(counts(intent(l, 0, 3)))
		if want := map[int64]campaign.SkipReason{0: campaign.FrequencyCap, 1: campaign.FrequencyCap}; g.To != 3 || !cmp.Equal(g.Skipped, want) {
			f.Errorf("an intent for three, of whom two were reached: %+v; want To 3, skipped %v", g, want)
		}
	}},
}
