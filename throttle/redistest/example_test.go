package redistest_test

import (
	"testing"

	"campaignd/throttle/redistest"
)

// A server belongs to its test: it keeps what is written until it is killed.
func Example() {
	test := func(t *testing.T) {
		server := redistest.Start(t)
		server.Do("SET", "greeting", "hello")
		server.Restart()
		if got := server.Do("GET", "greeting"); got != "" {
			t.Errorf("a killed server remembers %q, want nothing", got)
		}
	}
	_ = test // an Example has no *testing.T, so this only compiles; TestServerForgetsWhenKilled runs the same
	// Output:
}

func TestServerForgetsWhenKilled(t *testing.T) {
	server := redistest.Start(t)
	server.Do("SET", "greeting", "hello")
	if got := server.Do("GET", "greeting"); got != "hello" {
		t.Errorf("GET greeting = %q, want hello", got)
	}
	addr := server.Addr
	server.Restart()
	if got := server.Do("GET", "greeting"); got != "" || server.Addr != addr {
		t.Errorf("after a restart: %q at %s, want nothing at %s", got, server.Addr, addr)
	}
}
