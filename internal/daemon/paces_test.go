package daemon

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"campaignd/throttle/throughput"
)

// A start with 500 numbers has one line about their paces; a change of a few names each.
func TestManyPacesAreOneLineOfTheLog(t *testing.T) {
	for n, want := range map[int]string{0: "", 1: "connection=conn_0", mostPaces: "connection=conn_9", mostPaces + 1: "connections=11",
		500: "connections=500"} {
		var out bytes.Buffer
		changed := map[string]throughput.Pace{}
		for i := range n {
			changed[fmt.Sprintf("conn_%d", i)] = throughput.Pace{}
		}
		(&Daemon{log: slog.New(slog.NewTextHandler(&out, nil))}).tellPaces(changed)
		lines := n
		if n > mostPaces {
			lines = 1
		}
		if got := strings.Count(out.String(), "\n"); got != lines || !strings.Contains(out.String(), want) {
			t.Errorf("%d numbers: got %d lines, want %d with %q:\n%s", n, got, lines, want, out.String())
		}
	}
}
