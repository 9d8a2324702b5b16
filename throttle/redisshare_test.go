package throttle_test

import (
	"strings"
	"testing"
	"time"

	"campaignd/throttle"
	"campaignd/throttle/redistest"
	"campaignd/throttle/throughput"
)

// sharing is limiters of as many processes that share a server.
func sharing(t *testing.T, server *redistest.Server, n, database int) []throttle.Limiter {
	t.Helper()
	all := make([]throttle.Limiter, n)
	for i := range all {
		all[i] = connect(t, server.URL(database))
	}
	return all
}

// rates is what each of the limiters may send at, in messages per second.
func rates(t *testing.T, all []throttle.Limiter) (rates []float64, stage int64) {
	t.Helper()
	for _, l := range all {
		got, err := l.Lease(t.Context(), "conn_1", 80, 1)
		if err != nil {
			t.Fatal(err)
		}
		rates, stage = append(rates, got.Rate), got.Stage
	}
	return rates, stage
}

// shared has one of four replicas throttled, and returns the rates of all.
func shared(t *testing.T, server *redistest.Server, database int) []float64 {
	t.Helper()
	all := sharing(t, server, 4, database)
	_, stage := rates(t, all)
	all[2].Observe("conn_1", stage, true)
	rates(t, all[2:3]) // it tells with its lease
	got, _ := rates(t, all)
	return got
}

// Four replicas cut as one, and only once for what each of them heard.
func TestReplicasCutAsOne(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	for i, got := range shared(t, server, 0) {
		if got != 56 {
			t.Errorf("replica %d sends at %v per second, want 56 as the one that was throttled", i, got)
		}
	}
	all := sharing(t, server, 4, 1)
	_, stage := rates(t, all)
	for _, l := range all {
		l.Observe("conn_1", stage, true)
	}
	rates(t, all)
	if got, _ := rates(t, all); got[0] != 56 || got[3] != 56 {
		t.Errorf("all four were throttled at one rate: they send at %v per second, want one cut, to 56", got)
	}
}

// A server that lost its memory takes the rate from those who know it: never back at full rate in
// the middle of a throttling. A process that heard nothing follows.
func TestALostRateIsTakenFromThoseWhoKnowIt(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	all := sharing(t, server, 2, 0)
	_, stage := rates(t, all)
	all[0].Observe("conn_1", stage, true)
	rates(t, all[:1])
	server.Do("FLUSHALL")
	if got, _ := rates(t, all); got[0] != 56 || got[1] != 56 {
		t.Errorf("after FLUSHALL the replicas send at %v per second, want 56", got)
	}
	if server.Do("EXISTS", "{n:conn_1}:cubic") != ":1" {
		t.Error("the state is in no key {n:conn_1}:cubic, want it there")
	}
}

// A server that lost its memory knows what comes in since then alone: each process notices it, one
// that begins later is told, and nobody learns a pace for 10 minutes.
func TestALostCountOfInboundIsNoticed(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	all := sharing(t, server, 3, 0)
	way := throughput.Way{Latest: time.Millisecond}
	share := func(l throttle.Limiter) throughput.Measured {
		t.Helper()
		l.(throttle.Sharer).Heard("conn_1", time.Now(), true)
		own := throughput.Measured{Messages: throughput.LearnAfter, Usual: way, Whole: way}
		got, err := l.(throttle.Sharer).Share(t.Context(), "conn_1", own)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	pace := throughput.Number{}.Pace()
	for _, l := range []throttle.Limiter{all[0], all[1], all[0]} {
		if got := pace.Learn(share(l), time.Now()); got.Rate <= pace.Rate {
			t.Fatalf("before the loss: got %v, want it learned", got)
		}
	}
	server.Do("FLUSHALL")
	began := time.Now()
	for _, i := range []int{0, 1, 0, 2} { // one of them shares again what it noticed
		m := share(all[i])
		got := pace.Learn(m, began.Add(9*time.Minute))
		if m.Lost.Before(began) || got.Rate > pace.Rate || !strings.Contains(got.Why, "was lost with the memory of Redis") {
			t.Errorf("process %d: got %v, lost at %v; want the pace %v since the loss", i, got, m.Lost, pace.Rate)
		}
		if got := pace.Learn(m, began.Add(11*time.Minute)); got.Rate <= pace.Rate {
			t.Errorf("process %d after 10 minutes: got %v, want it learned", i, got)
		}
	}
}

// Answers that a process heard are not lost while Redis is away.
func TestAnswersWaitForTheServer(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	all := sharing(t, server, 1, 0)
	_, stage := rates(t, all)
	server.Kill()
	all[0].Observe("conn_1", stage, true)
	if _, err := all[0].Lease(t.Context(), "conn_1", 80, 1); err == nil {
		t.Fatal("a lease of a dead server: got nil, want an error")
	}
	server.Restart()
	for range 3000 {
		if got, err := all[0].Lease(t.Context(), "conn_1", 80, 1); err == nil {
			if got.Rate != 56 {
				t.Errorf("when the server is back: %v per second, want 56", got.Rate)
			}
			return
		}
		<-time.After(20 * time.Millisecond)
	}
	t.Error("a minute after the server came back: got no lease, want one")
}

// An answer costs no call of Redis: the next lease takes it along. A number that was never
// throttled costs no write beside its cursor's.
func TestAnswersCostNoCall(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	calls := func() map[string]string { // by command: "calls=3"
		all := map[string]string{}
		for _, line := range server.Lines("INFO", "commandstats") {
			if name, rest, ok := strings.Cut(strings.TrimPrefix(line, "cmdstat_"), ":"); ok {
				all[name], _, _ = strings.Cut(rest, ",")
			}
		}
		return all
	}
	l := connect(t, server.URL(0))
	var stage int64
	for i := range 200 {
		got, err := l.Lease(t.Context(), "conn_1", throughput.MaxRate, 1)
		if err != nil {
			t.Fatal(err)
		}
		for range 20 {
			l.Observe("conn_1", got.Stage, i > 100)
		}
		stage = got.Stage
	}
	got := calls()
	t.Logf("4,000 answers, 200 leases, the last half throttled: %v", got)
	if eval, write := got["evalsha"], got["hset"]; eval != "calls=200" || write != "calls=98" || stage == 0 {
		t.Errorf("evalsha %s, hset %s, stage %d; want calls=200, calls=98 since the first throttled answer, a stage", eval, write, stage)
	}
	if exists, read := got["exists"], got["hmget"]; exists != "calls=102" || read != "calls=98" {
		t.Errorf("exists %s, hmget %s; want calls=102 up to the first throttled answer, then calls=98", exists, read)
	}
}
