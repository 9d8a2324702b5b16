package sender

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/reception"
)

// faultyLedger is a ledger of one run with one segment of 20 deliveries, which an earlier owner
// had. One of its methods fails some times, from a call on.
type faultyLedger struct {
	stubLedger
	fails       string // the method
	from, times int    // its calls from .. from+times-1 fail

	mu       sync.Mutex
	calls    map[string]int
	run      campaign.Run
	taken    bool // by an owner
	epoch    int64
	mark     int64
	done     map[int64]campaign.ResultKind
	deferred map[int64]campaign.Result
	unposted []int64 // handed back
	released int
	ended    bool
}

func newFaulty(fails string, from, times int) *faultyLedger {
	return &faultyLedger{fails: fails, from: from, times: times, calls: map[string]int{}, done: map[int64]campaign.ResultKind{},
		deferred: map[int64]campaign.Result{},
		run: campaign.Run{
			No: 1, Campaign: "sale", State: campaign.Running, Wanted: campaign.WantRun, Header: []string{"to"}, CreatedAt: time.Now(),
			Definition: []byte(strings.Replace(sale, "conn_1, conn_2", "conn_1", 1)),
		}}
}

// begin locks the ledger and reports a call's fault. The caller unlocks.
func (l *faultyLedger) begin(method string) error {
	l.mu.Lock()
	l.calls[method]++
	if n := l.calls[method]; method == l.fails && n >= l.from && n < l.from+l.times {
		return errGone
	}
	return nil
}

func (l *faultyLedger) Runs(context.Context, campaign.RunFilter) ([]campaign.Run, error) {
	err := l.begin("Runs")
	defer l.mu.Unlock()
	if err != nil || l.ended {
		return nil, err
	}
	return []campaign.Run{l.run}, nil
}

func (l *faultyLedger) SetState(_ context.Context, _ campaign.RunNo, from []campaign.State, to campaign.State, _ campaign.PauseReason,
	_ string) (bool, error) {
	err := l.begin("SetState")
	defer l.mu.Unlock()
	if err != nil || !slices.Contains(from, l.run.State) {
		return false, err
	}
	l.run.State = to
	return true, nil
}

func (l *faultyLedger) FinishRuns(context.Context) ([]campaign.Run, error) {
	err := l.begin("FinishRuns")
	defer l.mu.Unlock()
	if err != nil || l.ended || len(l.done) < 20 {
		return nil, err
	}
	l.ended = true
	return []campaign.Run{l.run}, nil
}

func (l *faultyLedger) ReportLanes(context.Context, string, []campaign.LaneReport) error {
	defer l.mu.Unlock()
	return l.begin("ReportLanes")
}

func (l *faultyLedger) Claim(_ context.Context, c campaign.Claim) ([]campaign.Lease, error) {
	err := l.begin("Claim")
	defer l.mu.Unlock()
	if err != nil || l.taken || len(l.done) == 20 {
		return nil, err
	}
	l.taken = true
	l.epoch++
	return []campaign.Lease{{Segment: campaign.Segment{Run: 1, Hi: 20}, Epoch: l.epoch, Mark: l.mark, Recovered: true,
		Until: time.Now().Add(c.Lease)}}, nil
}

func (l *faultyLedger) Recover(context.Context, campaign.Lease, time.Time) (int, error) {
	defer l.mu.Unlock()
	return 0, l.begin("Recover")
}

func (l *faultyLedger) Resolve(context.Context, campaign.Lease, reception.Span, campaign.OnUncertain) (int, error) {
	defer l.mu.Unlock()
	return 0, l.begin("Resolve")
}

func (l *faultyLedger) Renew(_ context.Context, leases []campaign.Lease, d time.Duration) ([]campaign.Lease, error) {
	err := l.begin("Renew")
	defer l.mu.Unlock()
	for i := range leases {
		leases[i].Until = time.Now().Add(d)
	}
	return leases, err
}

func (l *faultyLedger) Deliveries(_ context.Context, no campaign.RunNo, from, to int64) (all []campaign.Delivery, _ error) {
	err := l.begin("Deliveries")
	defer l.mu.Unlock()
	for seq := from; seq < to && err == nil; seq++ {
		all = append(all, numbered(no, seq))
	}
	return all, err
}

func (l *faultyLedger) Due(_ context.Context, _ campaign.Lease, now time.Time, _ int) (due []campaign.Retry, _ error) {
	err := l.begin("Due")
	defer l.mu.Unlock()
	for seq, r := range l.deferred {
		if err == nil && !r.NotBefore.After(now) {
			due = append(due, campaign.Retry{Delivery: numbered(1, seq), Attempt: r.Attempt + 1})
		}
	}
	return due, err
}

func (l *faultyLedger) Intend(_ context.Context, in []campaign.Intent) (granted []campaign.Granted, _ error) {
	err := l.begin("Intend")
	defer l.mu.Unlock()
	if err != nil {
		return nil, err
	}
	for _, i := range in {
		if i.Lease.Epoch != l.epoch || !l.taken {
			granted = append(granted, campaign.Granted{Fenced: true})
			continue
		}
		l.mark = i.To
		for _, r := range i.Retries {
			delete(l.deferred, r.Seq)
		}
		granted = append(granted, campaign.Granted{To: i.To})
	}
	return granted, nil
}

func (l *faultyLedger) Record(_ context.Context, rs []campaign.Result) error {
	err := l.begin("Record")
	defer l.mu.Unlock()
	for _, r := range rs {
		switch {
		case err != nil:
		case r.Kind == campaign.ResultDeferred:
			l.deferred[r.Seq] = r
		default:
			l.done[r.Seq] = r.Kind
		}
	}
	return err
}

func (l *faultyLedger) SkipQueued(context.Context, campaign.Lease, campaign.SkipReason) (n int, _ error) {
	err := l.begin("SkipQueued")
	defer l.mu.Unlock()
	for seq := int64(0); seq < 20 && err == nil; seq++ {
		if l.done[seq] == 0 {
			l.done[seq] = campaign.ResultRefused
			n++
		}
	}
	return n, err
}

func (l *faultyLedger) Park(context.Context, campaign.Lease, time.Time, func(time.Time) time.Time) (campaign.Parked, error) {
	err := l.begin("Park")
	defer l.mu.Unlock()
	if err == nil {
		l.taken = false
	}
	return campaign.Parked{Done: len(l.done) == 20}, err
}

func (l *faultyLedger) Release(_ context.Context, _ campaign.Lease, unposted []int64) error {
	err := l.begin("Release")
	defer l.mu.Unlock()
	if err == nil {
		l.taken, l.unposted = false, unposted
		l.released++
	}
	return err
}

// numbered is a delivery of a run.
func numbered(no campaign.RunNo, seq int64) campaign.Delivery {
	to := "+23480000000" + string(rune('a'+seq))
	return campaign.Delivery{Run: no, Seq: seq, To: to, Cells: []string{to}}
}
