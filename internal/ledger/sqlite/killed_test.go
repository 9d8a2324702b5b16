package sqlite

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/why"
	"campaignd/internal/ledger"
	"campaignd/internal/ledger/ledgertest"
)

// childSends is the program of the process that TestAKilledProcessKeepsWhatItAcknowledged kills. It
// writes a line to standard output after each call that returned.
func childSends(path string) {
	fail := func(err error) {
		if err != nil {
			fmt.Println("error", err)
			os.Exit(1)
		}
	}
	ctx := context.Background()
	l, err := Open(ctx, path, ledger.Options{Sender: true})
	fail(err)
	ls, err := l.Claim(ctx, campaign.Claim{Owner: "child", Connection: "conn_1", Runs: []campaign.RunNo{1}, Max: 1, Lease: time.Hour})
	fail(err)
	fail(l.ReportLanes(ctx, "child", []campaign.LaneReport{{Run: 1, Connection: "conn_1", LimitedBy: campaign.ByThroughput, Detail: "it sends",
		Rate: 72, At: time.Now()}}))
	for mark := ls[0].Mark; mark < ls[0].Hi; mark += 4 {
		g, err := l.Intend(ctx, []campaign.Intent{{Lease: ls[0], Connection: "conn_1", From: mark, To: mark + 4}})
		fail(err)
		fmt.Println("intended", g[0].To)
		fail(l.Record(ctx, ledgertest.Acceptances(ls[0], mark, mark+4)))
		fmt.Println("recorded", mark+4)
	}
	select {}
}

func TestAKilledProcessKeepsWhatItAcknowledged(t *testing.T) {
	path := filepath.Join(t.TempDir(), "test.db")
	l, err := Open(t.Context(), path, ledger.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r := ledgertest.Load(t, l, campaign.SegmentSize)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	for kill := range 5 {
		child := exec.Command(os.Args[0])
		child.Env = append(os.Environ(), "LEDGER_TEST_CHILD="+path)
		out, err := child.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		said := map[string]int64{}
		lines := bufio.NewScanner(out)
		for n := 0; lines.Scan(); n++ {
			what, number, _ := strings.Cut(lines.Text(), " ")
			if what == "error" {
				t.Fatal(lines.Text())
			}
			said[what], _ = strconv.ParseInt(number, 10, 64)
			if n == 30+7*kill {
				_ = child.Process.Kill()
			}
		}
		_, _ = io.Copy(io.Discard, out)
		_ = child.Wait()

		l, err := Open(t.Context(), path, ledger.Options{Sender: true}) // the kernel released the dead process's lock
		if err != nil {
			t.Fatal(err)
		}
		ls := ledgertest.ClaimAll(t, l, r.No)
		if len(ls) != 1 || ls[0].Mark < said["intended"] || !ls[0].Recovered {
			t.Fatalf("kill %d: %+v, the child said %v; want length 1, Mark at least %+v, Recovered", kill, ls, said, said["intended"])
		}
		tallies, _, err := l.Tallies(t.Context(), r.No)
		if err != nil {
			t.Fatal(err)
		}
		by := map[campaign.Status]int64{}
		for _, x := range tallies {
			by[x.Status] += x.N
		}
		if by[campaign.Accepted]+by[campaign.InDoubt] < said["recorded"] {
			t.Errorf("kill %d: %v, the child said %v; want accepted and in doubt at least %+v", kill, tallies, said, said["recorded"])
		}
		if _, err := l.Recover(t.Context(), ls[0], time.Now()); err != nil {
			t.Fatal(err)
		}
		if err := l.Release(t.Context(), ls[0], nil); err != nil {
			t.Fatal(err)
		}
		if ps, _, err := l.Audit(t.Context(), r.No, 5); err != nil || len(ps) > 0 {
			t.Errorf("audit: %+v %v; want no problem, no error", ps, err)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// The lock of the dead process tells at once what its last report and its lease tell later.
func TestWhyShowsNoPaceOfAKilledSender(t *testing.T) {
	path := filepath.Join(t.TempDir(), "test.db")
	l, err := Open(t.Context(), path, ledger.Options{})
	if err != nil {
		t.Fatal(err)
	}
	ledgertest.Load(t, l, campaign.SegmentSize)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if l, err = Open(t.Context(), path, ledger.Options{Copy: true}); err != nil { // as `why` opens it
		t.Fatal(err)
	}
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), "LEDGER_TEST_CHILD="+path)
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() && !strings.HasPrefix(lines.Text(), "intended") {
	}
	want := func(when string, limitedBy campaign.LimitedBy, rate float64, stale bool, leased int) {
		t.Helper()
		run, err := l.Run(t.Context(), 1)
		if err != nil {
			t.Fatal(err)
		}
		w, err := why.Explain(t.Context(), l, run, why.Holds{}, time.Now())
		if err != nil || len(w.Lanes) != 1 {
			t.Fatalf("%s: got the lanes %+v and %v, want one", when, w.Lanes, err)
		}
		got := w.Lanes[0]
		if w.LimitedBy != limitedBy || got.Rate != rate || got.Stale != stale || w.Segments.Leased != leased || w.Finish.IsZero() != stale {
			t.Errorf("%s: got limited by %s at %g/s, stale %v, %d leased, finish %v; want %s, %g/s, %v, %d", when,
				w.LimitedBy, got.Rate, got.Stale, w.Segments.Leased, w.Finish, limitedBy, rate, stale, leased)
		}
	}
	want("beside the sender", "throughput", 72, false, 1)
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, out)
	_ = child.Wait()
	want("after kill -9", "none", 0, true, 0)
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}
