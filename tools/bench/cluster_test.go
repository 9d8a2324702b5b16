//go:build unix

package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func TestAPeriodIsTheDifferenceOfTwoStates(t *testing.T) {
	at := time.Now()
	before := state{
		at: at, sink: figures{Accepted: 100, Refused: 1}, scripts: 50, database: time.Second, commits: 1000,
		replicas: []sample{{CPU: time.Second, Posts: 60}, {CPU: time.Second, Posts: 40}},
	}
	after := state{
		at: at.Add(2 * time.Second), sink: figures{Accepted: 300, Refused: 1, SinkMicroseconds: 1000},
		scripts: 100, database: 1200 * time.Millisecond, commits: 1060,
		replicas: []sample{{CPU: 1050 * time.Millisecond, Posts: 160}, {CPU: 1030 * time.Millisecond, Posts: 140}},
	}
	want := period{
		PerSecond: 100, CPU: 400, Each: []float64{500, 300}, Posts: []int64{100, 100},
		DatabaseCPU: 1000, SinkCPU: 5, RedisCalls: 0.25, Commits: 0.3,
	}
	if got := after.since(before); !reflect.DeepEqual(got, want) {
		t.Errorf("since = %+v, want %+v", got, want)
	}
}

// A given flag overrides the smaller defaults of -cluster and -quick.
func TestGivenFlagsOverrideTheDefaultsOfACluster(t *testing.T) {
	o, err := parse([]string{"-cluster", "-quick", "-rows", "70000"}, io.Discard)
	if err != nil || o.repetitions != 1 || o.messages != 8000 || o.rows != 70_000 || o.period != 5*time.Second {
		t.Errorf("parse = %+v and %v, want 1 repetition, 8000 messages, 70000 rows and periods of 5s", o, err)
	}
	for args, wrong := range map[string]bool{"-profile": false, "-silent": false, "-profile -silent -delay 50ms": false,
		"-silent -delay 50ms": false, "-delay 50ms": true, "-period 1ms": true} {
		if _, err := parse(append([]string{"-cluster"}, strings.Fields(args)...), io.Discard); (err != nil) != wrong {
			t.Errorf("parse of -cluster %s = %v, want an error: %v", args, err, wrong)
		}
	}
}

// The CPU time of a server is that of its process and its children, so it is not less than the time
// that its process has just used.
func TestAServersCPUCountsItsOwnProcess(t *testing.T) {
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		t.Skip("this system has no /proc")
	}
	used, err := cpu()
	if err != nil {
		t.Fatal(err)
	}
	if got := serverCPU(os.Getpid()); got < used-40*time.Millisecond { // user and system time are each rounded down to a tick
		t.Errorf("serverCPU = %v, want %v or a little less", got, used)
	}
	if got := serverCPU(0); got != 0 {
		t.Errorf("serverCPU of no process = %v, want 0", got)
	}
}

func TestAPacedLoopEndsWithTheErrorOfItsSink(t *testing.T) {
	sink := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { answer(w, `{"data":{}}`) }))
	defer sink.Close()
	var posts atomic.Int64
	err := postPaced(t.Context(), pacedJob{Sink: sink.URL, Rate: 1000, Workers: 1}, &posts)
	if err == nil || !strings.Contains(err.Error(), "without an id") || posts.Load() != 0 {
		t.Errorf("postPaced = %v after %d messages; want an error about the missing id after 0", err, posts.Load())
	}
}
