package daemon

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"campaignd/internal/client"
	"campaignd/internal/config"
)

// A process that was killed leaves its file with the address, and nobody answers there. A process
// that accepts the request and dies may have launched the list: then the same command is to be
// repeated, and `campaignd run` beside it would be the wrong advice.
func TestALaunchKnowsWhetherAnybodyServes(t *testing.T) {
	refusing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusConflict)
		fmt.Fprint(w, `{"error":{"code":"unfinished","message":"spring-1 is running"}}`)
	}))
	defer refusing.Close()
	dying := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		c, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		if tcp, ok := c.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0) // as the kernel ends the connections of a killed process: with a reset
		}
		_ = c.Close()
	}))
	defer dying.Close()
	gone, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := gone.Close(); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, url string
		nobody    bool
		text      string
	}{
		{"it was never started", "", true, "no `campaignd serve` takes launches"},
		{"it was killed", "http://" + gone.Addr().String(), true, "no `campaignd serve` takes launches"},
		{"it died with the request", dying.URL, false, "gave no answer: when it serves again, the same command goes on"},
		{"it refuses", refusing.URL, false, "spring-1 is running"},
	} {
		cfg := config.Default()
		cfg.Ledger = "sqlite:" + filepath.Join(t.TempDir(), "c.db")
		if tt.url != "" {
			if err := client.NewAccess(tt.url).Write(cfg.AccessFile()); err != nil {
				t.Fatal(err)
			}
		}
		list := filepath.Join(t.TempDir(), "l.csv")
		put(t, list, "phone\n+2348030000000\n")
		_, err := LaunchBeside(t.Context(), cfg, client.Launch{Campaign: list, List: list})
		if errors.Is(err, errNobodyServes) != tt.nobody || !strings.Contains(errorText(err), tt.text) {
			t.Errorf("%s: got %v, want %q", tt.name, err, tt.text)
		}
	}
}
