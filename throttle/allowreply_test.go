package throttle

import (
	"errors"
	"testing"
)

// An answer of Redis that cannot be read permits nothing.
func TestAllowRefusesWhatItCannotRead(t *testing.T) {
	t.Parallel()
	r, _ := opened(t)
	for _, script := range []string{
		"return 1", "return {1}", "return {'1', 0}", "return {1, '0'}", "return {-1, 0}", "return {1, -1}",
		"return redis.error_reply('ERR broken')",
	} {
		sha, err := r.server.client.ScriptLoad(t.Context(), script).Result()
		if err != nil {
			t.Fatal(err)
		}
		r.allow = sha
		if n, wait, err := r.Allow(t.Context(), "run:sale-1", 20, 4); n != 0 || wait != 0 || !errors.Is(err, ErrUnavailable) {
			t.Errorf("%s: got %d, %v, %v; want ErrUnavailable", script, n, wait, err)
		}
		r.server.note(nil) // the breaker is not what is tried
	}
}
