package throttle_test

import (
	"errors"
	"strings"
	"testing"

	"campaignd/throttle"
	"campaignd/throttle/redistest"
)

// A server that answers PING may refuse what sending does. Try and Ready find out, and say the
// remedy.
func TestAServerThatRefusesTheScriptsIsFound(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	server.Do("ACL", "SETUSER", "noevalsha", "on", ">x", "~*", "+@all", "-evalsha")
	server.Do("ACL", "SETUSER", "noeval", "on", ">x", "~*", "+@all", "-eval")
	server.Do("ACL", "SETUSER", "noinfo", "on", ">x", "~*", "+@all", "-hset")
	server.Do("ACL", "SETUSER", "prefix", "on", ">x", "~app:*", "+@all")
	replica := redistest.Start(t)
	host, port, _ := strings.Cut(server.Addr, ":")
	replica.Do("REPLICAOF", host, port)
	for _, tt := range []struct {
		about, url, try string
		ready           bool
	}{ // the master is first, so that the server knows the scripts then
		{"a master", server.URL(0), "", true},
		{"a replica", replica.URL(0), "it is a replica: give the address of the master", false},
		{"no EVALSHA", "redis://noevalsha:x@" + server.Addr, "its user may not do that", false},
		{"another prefix", "redis://prefix:x@" + server.Addr, "its user may not do that", false},
		{"no EVAL", "redis://noeval:x@" + server.Addr, "its user may not do that", true}, // the server knows the script
		{"no HSET of units", "redis://noinfo:x@" + server.Addr, "its user may not do that", true},
	} {
		t.Run(tt.about, func(t *testing.T) {
			r := connect(t, tt.url)
			if err := r.Ping(t.Context()); err != nil {
				t.Fatalf("ping: got %v, want an answer", err)
			}
			for range 5 { // also while the breaker is open
				if err := r.Ready(t.Context()); (err == nil) != tt.ready || err != nil && !strings.Contains(err.Error(), tt.try) {
					t.Errorf("ready: got %v, want ready %v, else %q", err, tt.ready, tt.try)
				}
			}
			err := r.Try(t.Context(), "conn_1")
			if (err == nil) != (tt.try == "") || err != nil && (!strings.Contains(err.Error(), tt.try) || !errors.Is(err, throttle.ErrUnavailable)) {
				t.Errorf("try: got %v, want %q", err, tt.try)
			}
		})
	}
}

// Trying the scripts takes no slot of the number and leaves no key for ever.
func TestTryingTheScriptsTakesNoSlot(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	r := connect(t, server.URL(0))
	for range 3 {
		if err := r.Try(t.Context(), "conn_1"); err != nil {
			t.Fatal(err)
		}
	}
	for _, k := range []string{"{n:conn_1/doctor}:tat", "{n:conn_1/doctor}:gcra", "{c:conn_1/doctor}:units",
		"{n:conn_1/doctor}:in"} {
		if ttl := server.Do("TTL", k); strings.HasPrefix(ttl, ":-") {
			t.Errorf("%s: got the time to live %s, want one that ends", k, ttl)
		}
	}
	if n := server.Do("DBSIZE"); n != ":4" {
		t.Errorf("keys: got %s, want the 4 of the probe alone", n)
	}
}

func TestANodeOfAClusterIsRefused(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, "--cluster-enabled", "yes", "--databases", "1")
	r, err := throttle.NewRedis(t.Context(), server.URL(0), throttle.Options{})
	if !errors.Is(err, throttle.ErrCluster) || !strings.Contains(err.Error(), "give the address of one Redis server") {
		t.Errorf("got %v, want the sentence about clusters", err)
	}
	if err == nil {
		_ = r.Close()
	}
}
