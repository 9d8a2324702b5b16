package throttle_test

import (
	"errors"
	"strconv"
	"strings"
	"testing"

	"campaignd/throttle"
	"campaignd/throttle/redistest"
)

// A rate that is asked for is kept by the processes of one server together, in one command each.
func TestPermissionsAreSharedByProcesses(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	one, other := connect(t, server.URL(0)), connect(t, server.URL(0))
	total := 0
	server.Do("CONFIG", "RESETSTAT")
	for _, l := range []*throttle.Redis{one, other, one, other} {
		n, wait, err := l.Allow(t.Context(), "run:sale-1", 0.01, 5)
		if total += n; err != nil || wait <= 0 {
			t.Errorf("got a wait of %v and %v, want one and no error", wait, err)
		}
	}
	if total != 1 {
		t.Errorf("two processes got %d permissions of a new key, want 1", total)
	}
	if got := calls(server, "evalsha"); got != 4 {
		t.Errorf("4 questions took %d EVALSHA, want 4", got)
	}
	left, err := strconv.Atoi(strings.TrimPrefix(server.Do("PTTL", "{n:run:sale-1}:gcra"), ":"))
	if err != nil || left < 150_000 || left > 161_000 {
		t.Errorf("kept for %d ms (%v), want about 160000", left, err)
	}
}

// A time of arrival that lies hours ahead, because the server's clock stepped back, is not an hour
// of silence; a value that nobody can read is a new key.
func TestASpoiledKeyPermitsOne(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	r := connect(t, server.URL(0))
	for _, stored := range []string{"9999999999999999.000", "junk"} {
		server.Do("SET", "{n:run:sale-1}:gcra", stored)
		if n, wait, err := r.Allow(t.Context(), "run:sale-1", 10, 5); n != 1 || err != nil || wait <= 0 {
			t.Errorf("with %q stored: got %d, %v, %v; want 1, a wait and no error", stored, n, wait, err)
		}
	}
	server.Kill()
	if n, _, err := r.Allow(t.Context(), "run:sale-1", 10, 5); n != 0 || !errors.Is(err, throttle.ErrUnavailable) {
		t.Errorf("without a server: got %d, %v; want 0, ErrUnavailable", n, err)
	}
}
