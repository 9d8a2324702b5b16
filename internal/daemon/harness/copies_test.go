//go:build mutants

package harness

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"campaignd/internal/sandbox"
)

// A ledger that was copied, or whose folder or file was restored, sends to nobody again, whichever
// way and whenever it was copied. Until its quarantine it is refused; the original goes on.
func TestACopiedOrRestoredLedgerSendsNobodyTwice(t *testing.T) {
	t.Parallel()
	// Each script gets the folder of the ledger as LIVE and another one as AWAY. taken runs in the
	// middle of the first sending, put after the process was killed. A file of the running process
	// may vanish while cp and tar read the folder, which is the only error that they may have.
	for name, c := range map[string]struct {
		taken, put string // put "": the copy is sent from in AWAY, beside the original
	}{
		"Copy of the running file": {`cp "$LIVE/campaignd.db" "$AWAY/"`, ""},
		"Copy with the companion":  {`cp -a "$LIVE"/campaignd.db* "$AWAY/" || true`, ""},
		"Folder restored with tar": {`tar -C "$LIVE" -cf "$AWAY/b.tar" . || true`, `tar -C "$LIVE" -xf "$AWAY/b.tar"`},
		"Folder restored as by rsync": {`cp -a "$LIVE/." "$AWAY/" || true`,
			`cd "$AWAY"; for f in campaignd.db*; do cp -a "$f" "$LIVE/.$f.1"; mv "$LIVE/.$f.1" "$LIVE/$f"; done`},
		"Folder restored with cp": {`cp -a "$LIVE/." "$AWAY/" || true`, `cp -a "$AWAY/." "$LIVE/"`},
		"File restored into its inode": {`cp "$LIVE/campaignd.db" "$AWAY/"`,
			`rm "$LIVE"/campaignd.db-*; cat "$AWAY/campaignd.db" > "$LIVE/campaignd.db"`},
		"Backup put back": {`cd "$LIVE"; "$BINARY" backup "$AWAY/b.db"`,
			`rm "$LIVE"/campaignd.db-*; cp "$AWAY/b.db" "$LIVE/campaignd.db"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, standard, func(o *sandbox.Options) {
				o.Faults = sandbox.Faults{Latency: sandbox.Delay{Median: 20 * time.Millisecond}}
			})
			away := t.TempDir()
			script := func(text string) {
				t.Helper()
				cmd := exec.Command("sh", "-ec", text)
				cmd.Dir, cmd.Env = w.dir, append(os.Environ(), append(w.env, "LIVE="+w.dir, "AWAY="+away, "BINARY="+binary)...)
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Fatalf("%s: %v, want no error\n%s", text, err, out)
				}
			}
			list := listOf(4000, drawOf(t))
			w.campaign("orders", "order_update", list)
			reached := w.posts(1000)
			p := w.run("orders")
			w.await(p, reached)
			script(c.taken)
			companion := w.text("campaignd.db.stamp")
			w.waits(lifeLimit, "the copy is a few seconds old", func() bool { return w.text("campaignd.db.stamp") != companion })
			reached = w.posts(100)
			w.await(p, reached)
			refused := func(dir string) {
				t.Helper()
				q := start(t, dir, append(w.env, "CAMPAIGND_LEDGER=sqlite:"+filepath.Join(dir, "campaignd.db")), "run", w.path("orders.yaml"),
					"--recipients", w.path("orders.csv"), "--config", w.path("campaignd.yaml"),
					"--settle", "2s")
				if code := q.wait(3 * time.Minute); code != 1 || !strings.Contains(q.stderr.String(), "it went back in time") {
					t.Errorf("%s in %s: exit code %d, want 1 and a ledger that went back in time\n%s", q, filepath.Base(dir), code,
						tail(q.stderr.String(), 5))
				}
			}
			if c.put == "" {
				refused(away)
				p.wait(3 * time.Minute)
			} else {
				p.kill()
				time.Sleep(100 * time.Millisecond) // the service has answered what was on its way
				script(c.put)
				refused(w.dir)
				if code, out := w.ask("ledger", "quarantine", "--lost", "1m"); code != 0 {
					t.Fatalf("the quarantine: exit code %d, want 0\n%s", code, out)
				}
				if code, out := w.ask("resume", "latest"); code != 0 {
					t.Fatalf("resume: exit code %d, want 0\n%s", code, out)
				}
			}
			w.finish("orders", 2*time.Minute)
			if found := twice(w.sent("order_update")); len(found) > 0 {
				t.Errorf("got %s, want nobody twice", report(found))
			}
			want(t, w.audited("latest"))
		})
	}
}

// text reads a file of the world.
func (w *world) text(name string) string {
	w.t.Helper()
	b, err := os.ReadFile(w.path(name))
	if err != nil {
		w.t.Fatal(err)
	}
	return string(b)
}
