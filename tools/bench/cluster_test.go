//go:build unix

package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func TestAPeriodIsTheDifferenceOfTwoStates(t *testing.T) {
	at := time.Now()
	before := state{at: at, sink: figures{Accepted: 100}, scripts: 50, database: time.Second, commits: 1000, cpu: 2 * time.Second}
	after := state{
		at: at.Add(2 * time.Second), sink: figures{Accepted: 300, SinkMicroseconds: 1000},
		scripts: 100, database: 1200 * time.Millisecond, commits: 1060, cpu: 2080 * time.Millisecond,
	}
	want := period{perSecond: 100, cpu: 400, databaseCPU: 1000, sinkCPU: 5, redisCalls: 0.25, commits: 0.3}
	if got := after.since(before); got != want {
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
	used := cpu()
	if got := serverCPU(os.Getpid()); got < used-40*time.Millisecond { // user and system time are each rounded down to a tick
		t.Errorf("serverCPU = %v, want %v or a little less", got, used)
	}
	if got := serverCPU(0); got != 0 {
		t.Errorf("serverCPU of no process = %v, want 0", got)
	}
}

func TestABareLoopEndsWithTheErrorOfItsSink(t *testing.T) {
	sink := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { answer(w, `{"data":{}}`) }))
	defer sink.Close()
	for _, rate := range []float64{0, 1000} {
		var posts atomic.Int64
		job := bareJob{Sink: sink.URL, Messages: 5, Rate: rate, Workers: 1}
		err := job.post(t.Context(), &posts)
		if err == nil || !strings.Contains(err.Error(), "without an id") || posts.Load() != 0 {
			t.Errorf("post at %v/s = %v after %d messages; want an error about the missing id after 0", rate, err, posts.Load())
		}
	}
}

// A loop with a rate posts each message at its time, not before.
func TestABareLoopKeepsItsRate(t *testing.T) {
	sink := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		answer(w, `{"data":{"messageId":"wamid.1"}}`)
	}))
	defer sink.Close()
	var posts atomic.Int64
	job := bareJob{Sink: sink.URL, Messages: 11, Rate: 100, Workers: 4}
	began := time.Now()
	err := job.post(t.Context(), &posts)
	if took := time.Since(began); err != nil || posts.Load() != 11 || took < 100*time.Millisecond {
		t.Errorf("post = %v, %d messages in %v; want 11 in 100 ms or more", err, posts.Load(), took)
	}
}
