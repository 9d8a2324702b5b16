package arrival

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"
)

// A handler that gets its turn late still learns when the request came in, with TLS too.
func TestARequestArrivesBeforeItsHandlerHasATurn(t *testing.T) {
	const late = 300 * time.Millisecond
	for _, secure := range []bool{false, true} {
		var arrived, turn time.Time
		s := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.ReadAll(r.Body)
			time.Sleep(late)
			turn, arrived = time.Now(), When(r.Context())
		}))
		s.Config.ConnContext = Note
		if secure {
			s.StartTLS()
		} else {
			s.Start()
		}
		sent := time.Now()
		answer, err := s.Client().Post(s.URL, "text/plain", strings.NewReader("a message"))
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		s.Close()
		if runtime.GOOS != "linux" {
			late := turn.Sub(arrived)
			if late > time.Millisecond {
				t.Errorf("TLS %v: arrived %v before the handler's turn, want at it", secure, late)
			}
			continue
		}
		if got := turn.Sub(arrived); got < late-20*time.Millisecond || arrived.Before(sent.Add(-20*time.Millisecond)) {
			t.Errorf("TLS %v: arrived %v before the handler's turn and %v after it was sent, want %v before and not before it was sent",
				secure, got, arrived.Sub(sent), late)
		}
	}
}

// A request without a socket arrives when it is asked about.
func TestARequestWithoutASocketArrivesNow(t *testing.T) {
	here, there := net.Pipe()
	defer here.Close()
	defer there.Close()
	for name, ctx := range map[string]context.Context{
		"not noted": context.Background(), "nil": Note(context.Background(), nil), "a pipe": Note(context.Background(), here),
	} {
		before := time.Now()
		if got := When(ctx); got.Before(before) {
			t.Errorf("%s: arrived %v before now, want now", name, before.Sub(got))
		}
	}
}
