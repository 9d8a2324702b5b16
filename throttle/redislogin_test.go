package throttle_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"campaignd/throttle"
	"campaignd/throttle/redistest"
)

// lines is a log that several goroutines may write.
type lines struct {
	mu  sync.Mutex
	out bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.out.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.out.String()
}

// The limiter answers again after its Redis has another password and the address is read again.
func TestRedisReadsARotatedPasswordAgain(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	login := func(password string) string { return fmt.Sprintf("redis://app:%s@%s/0", password, server.Addr) }
	server.Do("ACL", "SETUSER", "app", "on", ">first", "~*", "+@all")
	var mu sync.Mutex
	file, failed := login("first"), error(nil)
	var log lines
	r, err := throttle.NewRedis(t.Context(), file, throttle.Options{Log: slog.New(slog.NewTextHandler(&log, nil)), Address: func() (string,
		error) {
		mu.Lock()
		defer mu.Unlock()
		return file, failed
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	server.Do("ACL", "SETUSER", "app", "resetpass", ">second")
	server.Do("CLIENT", "KILL", "USER", "app")
	refused := func(what string) {
		t.Helper()
		var err error
		for range 3 { // the first may only find that its connection is gone
			err = r.Ping(t.Context())
		}
		if err == nil || strings.Contains(log.String(), "read others") {
			t.Errorf("%s: %v and the log %s\nwant a refusal, and no other password", what, err, log.String())
		}
	}
	refused("the file has the first password")
	mu.Lock()
	failed = errors.New("gone")
	mu.Unlock()
	refused("the file is gone")
	mu.Lock()
	file, failed = login("second"), nil
	mu.Unlock()
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(20 * time.Millisecond) { // the breaker asks every 200 ms
		if err = r.Ping(t.Context()); err == nil || time.Now().After(end) {
			break
		}
	}
	if err != nil || strings.Count(log.String(), "read others") != 1 || strings.Contains(log.String(), "second") {
		t.Errorf("the file has the second password: %v and the log %s\nwant an answer, and one line that does not show it", err, log.String())
	}
}
