package daemon

import (
	"bytes"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"campaignd/campaign/launch"
	"campaignd/campaign/reception"
	"campaignd/internal/config"
	"campaignd/internal/ledger"
	"campaignd/internal/ledger/sqlite"
)

// A launch before the replay sends to people whose opt-out the ledger lost.
func TestALaunchBeforeTheReplaySaysSo(t *testing.T) {
	l, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "l.db"), ledger.Options{Sender: true})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	since := time.Now().Add(-time.Hour).UTC().Truncate(time.Second)
	const sentence, logged = "opt-outs among them are not obeyed", "kind=lost_events"
	for _, step := range []struct {
		about string
		do    func() error
		want  int
	}{
		{"nothing was lost", func() error { return nil }, 0},
		{"after a quarantine", func() error { _, err := l.Quarantine(t.Context(), 2, nil, since); return err }, 1},
		{"after the replay was asked for", func() error {
			return l.NoteReplay(t.Context(), reception.Span{Since: since, Until: time.Now().Add(time.Minute)}, time.Now(), 0)
		}, 0},
	} {
		if err := step.do(); err != nil {
			t.Fatal(err)
		}
		for _, by := range []launcher{byCommand, byRequest, byFiring, byDrop} {
			var log bytes.Buffer
			d := &Daemon{cfg: config.Default(), ledger: l, log: slog.New(slog.NewTextHandler(&log, nil))}
			p := launch.Preflight{Sendable: 1}
			d.checkLaunch(t.Context(), filepath.Join(t.TempDir(), "c.yaml"), by, nil)(&p)
			wantLogged := step.want
			if by == byCommand {
				wantLogged = 0
			}
			if len(p.Findings) != step.want || strings.Count(log.String(), logged) != wantLogged {
				t.Errorf("%s, launcher %d: got %+v and the log %q, want %d warnings and %d lines", step.about, by, p.Findings, log.String(),
					step.want, wantLogged)
			}
			for _, f := range p.Findings {
				if !strings.Contains(f.String(), sentence) || !strings.Contains(f.String(), "replay --since "+since.Format(time.RFC3339)) {
					t.Errorf("%s: got %s, want the reason and the command", step.about, f)
				}
			}
		}
	}
	if now := since.Add(2 * reception.ListenKept); !reception.NotAsked([]reception.LostTime{{At: since, Since: since}}, now).IsZero() {
		t.Error("got a warning two weeks after the quarantine, want none: the service has no such events any more")
	}
	if err := checkLost(t.Context(), nil, &launch.Preflight{}, since); err != nil {
		t.Errorf("without a ledger: got %v, want nothing", err)
	}
}
