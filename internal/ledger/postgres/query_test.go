//go:build unix

package postgres

import (
	"errors"
	"fmt"
	"reflect"
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/internal/ledger"
	"campaignd/internal/ledger/ledgertest"
)

func TestAConnectionThatBreaksAmongTheRowsRepeatsNone(t *testing.T) {
	t.Parallel()
	const n = 1024
	wire := newBadWire(t)
	l := wire.open(t)
	ctx := t.Context()
	fresh, r := ledgertest.Load(t, l, n), ledgertest.Load(t, l, n)
	lease := ledgertest.ClaimAll(t, l, r.No)[0]
	if _, err := l.Intend(ctx, []campaign.Intent{{Lease: lease, Connection: "conn_1", To: n}}); err != nil {
		t.Fatal(err)
	}
	var deferred []campaign.Result
	var lanes []campaign.LaneReport
	var stops []campaign.Suppression
	var keys []int64
	for i := range int64(n) {
		deferred = append(deferred, campaign.Result{Run: r.No, Seq: i, Attempt: 1, Kind: campaign.ResultDeferred, Counts: true})
		lanes = append(lanes, campaign.LaneReport{Run: r.No, Connection: fmt.Sprintf("conn_%04d", i), LimitedBy: campaign.ByTier, At: time.Now()})
		stops = append(stops, campaign.Suppression{Key: 1 + i, Scope: campaign.ScopeAll, Source: "a test", At: time.Now()})
		keys = append(keys, 1+i)
	}
	if err := errors.Join(l.Record(ctx, deferred), l.ReportLanes(ctx, "a", lanes)); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Suppress(ctx, stops); err != nil {
		t.Fatal(err)
	}
	for i := range 30 {
		if _, err := l.CreateRun(ctx, campaign.Run{Campaign: "autumn", ListHash: fmt.Sprint("list", i)}); err != nil {
			t.Fatal(err)
		}
	}
	// A state that no delivery has, for Audit to find.
	spoil := stmt(nil, `UPDATE outcome SET rank = 4 /* read */ WHERE rid >= $1 AND rid < $2`, ledger.RowID(r.No, 0), ledger.RowID(r.No+1, 0))
	more := stmt(nil, `INSERT INTO segment (id, run, lo, hi, mark, done, closed, zone)
		SELECT ($1::bigint << 32) + i, $1, i * 4096, i * 4096, i * 4096, true, false, '' FROM generate_series(1, 300) i`,
		int64(fresh.No))
	if err := l.read(ctx, l.sender, spoil, more); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		what  string
		after int64 // bytes
		rows  int   // at least
		read  func() (any, error)
	}{
		{"Deliveries", 8 << 10, n, func() (any, error) { return l.Deliveries(ctx, fresh.No, 0, n) }},
		{"Due", 8 << 10, n, func() (any, error) { return l.Due(ctx, lease, time.Now().Add(time.Hour), n) }},
		{"Lines", 8 << 10, n, func() (any, error) {
			var all []campaign.Line
			for line, err := range l.Lines(ctx, r.No) {
				if err != nil {
					return nil, err
				}
				all = append(all, line)
			}
			return all, nil
		}},
		{"Runs", 4 << 10, 30, func() (any, error) { return l.Runs(ctx, campaign.RunFilter{Campaign: "autumn"}) }},
		{"Lanes", 8 << 10, n, func() (any, error) { return l.Lanes(ctx, r.No) }},
		{"SegmentStates", 8 << 10, 300, func() (any, error) { return l.SegmentStates(ctx, fresh.No) }},
		{"Audit", 8 << 10, 500, func() (any, error) { ps, _, err := l.Audit(ctx, r.No, 500); return ps, err }},
		{"Suppressions", 8 << 10, n, func() (any, error) {
			var all []campaign.Suppression
			for s, err := range l.Suppressions(ctx) {
				if err != nil {
					return nil, err
				}
				all = append(all, s)
			}
			return all, nil
		}},
		{"SuppressedKeys", 8 << 10, n, func() (any, error) { return l.SuppressedKeys(ctx, keys, true, nil, time.Now()) }},
	} {
		whole, err := c.read() // also prepares the statement, so that the reply that breaks has only rows
		if err != nil || reflect.ValueOf(whole).Len() < c.rows {
			t.Errorf("%s: %d rows, %v; want no error, at least %+v", c.what, reflect.ValueOf(whole).Len(), err, c.rows)
			continue
		}
		wire.left.Store(c.after)
		got, err := c.read()
		if wire.left.Swap(0) != 0 {
			t.Errorf("%s: its reply did not break, want it to", c.what)
		}
		if err != nil {
			t.Errorf("%s: got %v, want no error", c.what, err)
		} else if !reflect.DeepEqual(got, whole) {
			t.Errorf("%s: %d rows when its reply breaks, want the same %d as without",
				c.what, reflect.ValueOf(got).Len(), reflect.ValueOf(whole).Len())
		}
		seqs := reflect.ValueOf(got)
		if ds, ok := got.([]campaign.Delivery); ok {
			for i := range ds {
				if ds[i].Seq != int64(i) {
					t.Errorf("%s: seq %d is at %d of %d; want seq %d", c.what, ds[i].Seq, i, seqs.Len(), int64(i))
					break
				}
			}
		}
	}
}

// A query that cannot forget its rows does not run again once it has passed one on.
func TestRowsThatWereHandedOutAreNotHandedOutAgain(t *testing.T) {
	wire := newBadWire(t)
	l := wire.open(t)
	seen := map[int]int{}
	wire.left.Store(8 << 10)
	err := l.read(t.Context(), l.sender, each(func(scan scanFunc) error {
		var i int
		err := scan(&i)
		seen[i]++
		return err
	}, `SELECT i FROM generate_series(1, 5000) i ORDER BY i`))
	if err == nil || len(seen) == 0 || seen[1] != 1 {
		t.Errorf("the first of %d rows was handed out %d times, %v; want an error and the row once", len(seen), seen[1], err)
	}
}
