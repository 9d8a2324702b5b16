//go:build mutants

package harness

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/minio/minio-go/v7"

	"campaignd/internal/drops/s3test"
	"campaignd/internal/sandbox"
)

var (
	dropRows  = flag.Int("drop-rows", 5000, "rows of the large list that is dropped while processes are killed")
	dropLives = flag.Duration("drop-lives", 3*time.Second, "longest life of a process after the least that its start takes")
)

// mostMemory is the most memory of a process while it reads, imports and sends a list of a million
// rows.
const mostMemory = 150 << 20

// peak returns the most memory that a process had, in bytes.
func (p *process) peak() int64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		return 0
	}
	_, after, _ := strings.Cut(string(text), "VmHWM:")
	kib, err := strconv.ParseInt(strings.TrimSpace(strings.SplitN(after, "kB", 2)[0]), 10, 64)
	if err != nil {
		p.t.Errorf("memory of %s: %v, want a number in %q", p, err, text)
	}
	return kib << 10
}

// A large list comes to a bucket, and its process is killed five times while it reads, imports and
// sends. The list is taken once, and the ledger balances.
func TestALargeDropSurvivesFiveKills(t *testing.T) {
	t.Parallel()
	draw := drawOf(t)
	w := newWorld(t, 2500, func(o *sandbox.Options) {
		noStatuses(o)
		for i := range o.Connections {
			o.Connections[i].Throughput = "HIGH"
		}
	})
	server := s3test.Start(t, nil)
	client := s3test.Client(t, server).Client
	w.campaign("bucket", "newsletter", nil)
	if err := os.Rename(w.path("bucket.yaml"), w.path("campaigns/bucket.yaml")); err != nil {
		t.Fatal(err)
	}
	w.env = append(w.env, "AWS_ACCESS_KEY_ID="+s3test.Key, "AWS_SECRET_ACCESS_KEY="+s3test.Secret,
		fmt.Sprintf("CAMPAIGND_DROPS=[{bucket: 's3://%s?endpoint=%s', prefix: in/, campaign: bucket}]", s3test.Bucket, server.URL))
	drop := func(name string, from, rows int) {
		file, err := os.Create(w.path(name))
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		b := bufio.NewWriter(file)
		fmt.Fprintln(b, "phone")
		for i := range rows {
			fmt.Fprintln(b, phoneOf(from+i))
		}
		if err := b.Flush(); err != nil {
			t.Fatal(err)
		}
		whole := minio.PutObjectOptions{DisableMultipart: true} // the server in this process stores parts with their signatures
		if _, err := client.FPutObject(t.Context(), s3test.Bucket, "in/"+name, file.Name(), whole); err != nil {
			t.Fatal(err)
		}
	}
	var most int64
	p := w.serve()
	w.answering(p)
	drop("large.csv", 0, *dropRows)
	began := time.Now()
	var at []string // what the kills hit
	for range 5 {
		time.Sleep(leaseTime + time.Duration(draw.Int64N(int64(*dropLives))))
		most = max(most, p.peak())
		if !p.kill() {
			t.Fatalf("%s ended by itself, want that it runs until its kill: %s", p, tail(p.stderr.String(), 20))
		}
		var runs []struct{ State string }
		w.asJSON(&runs, "runs")
		at = append(at, fmt.Sprintf("%v, %d sent", runs, w.taken()))
		p = w.serve()
		w.answering(p)
	}
	w.waits(30*time.Minute, "the run of the large list is finished", func() bool {
		time.Sleep(500 * time.Millisecond)
		runs := w.fired()
		return runs["bucket"].State == "finished"
	})
	took := time.Since(began)
	most = max(most, p.peak())

	small := *dropRows
	before := w.taken()
	drop("small.csv", small, 1000)
	dropped := time.Now()
	w.waits(3*time.Minute, "the first message of the small list is sent", func() bool { return w.taken() > before })
	first := time.Since(dropped)
	w.waits(5*time.Minute, "the run of the small list is finished", func() bool {
		var runs []fired // the newest first
		w.asJSON(&runs, "runs")
		return len(runs) == 2 && runs[0].State == "finished"
	})
	if code := w.stop(p); code != 0 {
		t.Errorf("serve: exit code %d, want 0", code)
	}

	var runs []struct {
		ID   string
		Rows int
	}
	if w.asJSON(&runs, "runs"); len(runs) != 2 || runs[len(runs)-1].Rows != *dropRows {
		t.Errorf("got the runs %+v, want two, the first with %d rows", runs, *dropRows)
	}
	want(t, append(w.audited("bucket-1"), w.audited("bucket-2")...))
	_, totals := w.state("bucket-1")
	sum := int64(0)
	for _, n := range totals {
		sum += n
	}
	// A recipient whose message was on the wire at a kill stays in doubt, and is not sent to again.
	got, doubts := map[string]int{}, totals["unknown"]+totals["in_doubt"]
	for _, m := range w.sent("newsletter") {
		got[m.To]++
	}
	for i := range *dropRows {
		if n := got[phoneOf(i)]; n > 1 {
			t.Fatalf("%s got %d messages, want one", phoneOf(i), n)
		}
	}
	if sum != int64(*dropRows) || int64(len(got)) < int64(*dropRows)+1000-doubts {
		t.Errorf("got %d rows in the report %v and messages for %d, want %d rows, and messages for all but the doubts",
			sum, totals, len(got), *dropRows)
	}
	o, err := client.GetObject(t.Context(), s3test.Bucket, "in/done/large.csv.accepted.json", minio.GetObjectOptions{})
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(o)
	var accepted struct {
		Run  string
		Rows int
	}
	if err != nil || json.Unmarshal(text, &accepted) != nil || accepted.Run != "bucket-1" || accepted.Rows != *dropRows {
		t.Errorf("accepted.json: got %s and %v, want bucket-1 with %d rows", text, err, *dropRows)
	}
	if *dropRows >= 1_000_000 && most > mostMemory {
		t.Errorf("a process had %d MB, want at most %d", most>>20, mostMemory>>20)
	}
	if *dropRows >= 1_000_000 && first > 3*time.Second {
		t.Errorf("the first message of 1,000 rows came %v after its file, want 3 s at most", first)
	}
	t.Logf("%d rows in %v with kills at %s; peak memory %d MB; first message of 1,000 rows after %v; totals %v", *dropRows,
		took.Round(time.Second), at, most>>20, first.Round(time.Millisecond), totals)
}
