package throttle_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"campaignd/throttle"
	"campaignd/throttle/redistest"
	"campaignd/throttle/throttletest"
)

// connect is a limiter that waits for a server of a busy machine, and hasty one with the time
// limits of production.
func connect(t testing.TB, url string) *throttle.Redis {
	t.Helper()
	r := hasty(t, url)
	r.Patient()
	return r
}

func hasty(t testing.TB, url string) *throttle.Redis {
	t.Helper()
	r, err := throttle.NewRedis(t.Context(), url, throttle.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	return r
}

func TestRedisKeepsTheContract(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	t.Run("Suite", func(t *testing.T) {
		var database atomic.Int32
		throttletest.Run(t, func(t *testing.T) throttle.Limiter {
			return connect(t, server.URL(int(database.Add(1))))
		})
	})
}

func TestRedisRefusesAnAddressWithoutShowingItsPassword(t *testing.T) {
	for _, url := range []string{"", "localhost:6379", "http://localhost", "redis://user:secret@host:port:1/x"} {
		_, err := throttle.NewRedis(t.Context(), url, throttle.Options{})
		if err == nil || strings.Contains(err.Error(), "secret") || !strings.Contains(err.Error(), "redis://host:6379") {
			t.Errorf("%q: %v; want the form of an address, and no password", url, err)
		}
	}
}

func TestAPasswordNeedsTLSBeyondThisMachine(t *testing.T) {
	for address, want := range map[string]bool{
		"redis://:hush@redis.example.com:6379": false, "redis://u:hush@10.0.0.7": false, "redis://:hush@localhost.example.com": false,
		"redis://:hush@redis.example.com:6379?sslmode=prefer":  false,
		"redis://:hush@redis.example.com:6379?sslmode=disable": true, "redis://10.0.0.7:6379": true,
		"redis://:hush@127.0.0.1": true, "redis://:hush@localhost:1": true, "redis://:hush@[::1]:1": true,
		"rediss://:hush@redis.example.com": true, "unix://:hush@/run/redis.sock": true,
	} {
		ctx, cancel := context.WithCancel(t.Context())
		cancel() // nothing is dialled
		r, err := throttle.NewRedis(ctx, address, throttle.Options{})
		if (err == nil) != want || err != nil && strings.Contains(err.Error(), "hush") {
			t.Errorf("%s: got %v, want accepted %v and no password", address, err, want)
		}
		if err == nil {
			_ = r.Close()
		}
	}
}

// While a server is away, a lease costs the sender an error and hardly any time: the breaker
// answers.
func TestRedisAwayIsUnavailableAtOnce(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	server.Kill()
	r := hasty(t, server.URL(0))
	began, watched := time.Now(), throttletest.Watch()
	for range 1000 {
		if got, err := r.Lease(t.Context(), "conn_1", 80, 1); !errors.Is(err, throttle.ErrUnavailable) || got.N != 0 {
			t.Fatalf("Lease = %+v, %v; want ErrUnavailable", got, err)
		}
	}
	throttletest.Soon(t, "1,000 leases against a dead server", time.Since(began), 2*time.Second, watched())
	if err := r.Ping(t.Context()); !errors.Is(err, throttle.ErrUnavailable) {
		t.Errorf("Ping: %v, want ErrUnavailable", err)
	}
	server.Restart()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		got, err := r.Lease(t.Context(), "conn_1", 80, 1)
		if got.N == 1 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("a minute after the server came back: got %+v, %v, want a slot", got, err)
		}
	}
}

// A cursor must outlive the time it lies ahead, or a slow campaign would send again after a minute.
func TestRedisKeepsACursorAsLongAsItMatters(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	r := connect(t, server.URL(0))
	for _, c := range []struct {
		key         string
		rate        float64
		least, most int
	}{{"fast", 80, 59_000, 61_000}, {"slow", 1.0 / 600, 659_000, 661_000}} {
		lease(t, r, c.key, c.rate, 100)
		left, err := strconv.Atoi(strings.TrimPrefix(server.Do("PTTL", "{n:"+c.key+"}:tat"), ":"))
		if err != nil || left < c.least || left > c.most {
			t.Errorf("%s: kept for %d ms (%v), want %d to %d", c.key, left, err, c.least, c.most)
		}
	}
}

// A lease is one command: the script by its hash. The cursor has three decimals.
func TestRedisLeasesInOneCommand(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	r := connect(t, server.URL(0))
	lease(t, r, "conn_1", 80, 1)
	server.Do("CONFIG", "RESETSTAT")
	for range 20 {
		if _, err := r.Lease(t.Context(), "conn_1", 80, 1); err != nil {
			t.Fatal(err)
		}
	}
	if got := calls(server, "evalsha"); got != 20 {
		t.Errorf("20 leases took %d EVALSHA, want 20", got)
	}
	if got := calls(server, "eval") + calls(server, "ping"); got != 0 {
		t.Errorf("20 leases took %d other commands, want 0", got)
	}
	if cursor := server.Do("GET", "{n:conn_1}:tat"); len(cursor) != len("1763694000123456.250") || cursor[16] != '.' {
		t.Errorf("the cursor is %q, want microseconds with three decimals", cursor)
	}
	server.Do("SCRIPT", "FLUSH")
	if _, err := r.Lease(t.Context(), "conn_1", 80, 1); err != nil {
		t.Errorf("after SCRIPT FLUSH: got %v, want nil", err)
	}
}

// calls is how often the server ran a command since CONFIG RESETSTAT.
func calls(server *redistest.Server, command string) int {
	for _, line := range server.Lines("INFO", "commandstats") {
		if rest, ok := strings.CutPrefix(line, "cmdstat_"+command+":calls="); ok {
			n, _, _ := strings.Cut(rest, ",")
			count, _ := strconv.Atoi(n)
			return count
		}
	}
	return 0
}

// lease asks until there is a slot.
func lease(t testing.TB, l throttle.Limiter, key string, rate float64, n int) throttle.Slots {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); {
		got, err := l.Lease(t.Context(), key, rate, n)
		if err != nil {
			t.Fatal(err)
		}
		if got.N > 0 {
			return got
		}
		time.Sleep(got.Wait)
	}
	t.Fatalf("%s: got no slot in a minute, want one", key)
	return throttle.Slots{}
}

// pace sends as the daemon does: it leases 200 ms of work, shared with the other senders, asks
// again with 50 ms left, sleeps until each slot, gives up late slots, and waits after errors. It
// calls send at each slot that it uses, with the same reading of the clock that decided about
// lateness: with a second reading, a delay between the two would count as a message too many.
func pace(ctx context.Context, l throttle.Limiter, key string, rate float64, senders int, send func(now time.Time)) {
	n := max(1, int(rate*0.2)/senders)
	sleep := func(d time.Duration) bool {
		if d <= 0 {
			return ctx.Err() == nil
		}
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-timer.C:
			return true
		case <-ctx.Done():
			return false
		}
	}
	var slots []time.Time
	for ctx.Err() == nil {
		if len(slots) == 0 || time.Until(slots[len(slots)-1]) < 50*time.Millisecond {
			got, err := l.Lease(ctx, key, rate, n)
			for i := range got.N {
				slots = append(slots, got.At(i))
			}
			if len(slots) == 0 {
				wait := got.Wait
				if err != nil {
					wait = 20 * time.Millisecond
				}
				if !sleep(wait) {
					return
				}
				continue
			}
		}
		next := slots[0]
		slots = slots[1:]
		if !sleep(time.Until(next)) {
			return
		}
		if now := time.Now(); now.Sub(next) <= throttle.Lateness {
			send(now)
		}
	}
}

func ExampleNewRedis() {
	ctx := context.Background()
	limiter, err := throttle.NewRedis(ctx, "redis://127.0.0.1:1/0", throttle.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer limiter.Close()
	// Nothing listens there: nothing may be sent.
	_, err = limiter.Lease(ctx, "conn_1", 80, 10)
	fmt.Println(errors.Is(err, throttle.ErrUnavailable))
	// Output: true
}

func TestARefusalOfRedisComesWithItsRemedy(t *testing.T) {
	server := redistest.Start(t)
	server.Do("CONFIG", "SET", "requirepass", "geheim")
	for url, want := range map[string]string{
		"redis://" + server.Addr:         "it wants a password",
		"redis://:falsch@" + server.Addr: "it refuses the user or password",
	} {
		var log strings.Builder
		r, err := throttle.NewRedis(t.Context(), url, throttle.Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
		if err != nil {
			t.Fatal(err)
		}
		err = r.Ping(t.Context())
		if !errors.Is(err, throttle.ErrUnavailable) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", url, err, want)
		}
		if said := log.String(); !strings.Contains(said, want) || strings.Contains(said, "falsch") {
			t.Errorf("%s: the log says %q, want %q and no password", url, said, want)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
}
