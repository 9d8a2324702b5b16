package browser

import (
	"io"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// postgres is a PostgreSQL server of the test's own. It ends with the test binary.
type postgres struct {
	t       *testing.T
	bin     string
	dir     string
	addr    string
	as      *syscall.Credential // root may not run a server
	process *exec.Cmd
	life    io.Closer // the server ends with it
}

func newPostgres(t *testing.T) *postgres {
	t.Helper()
	versions, _ := filepath.Glob("/usr/lib/postgresql/*/bin")
	if len(versions) == 0 {
		unable(t, "PostgreSQL is missing: scripts/services.sh installs it")
	}
	dir, err := os.MkdirTemp("", "browser-postgres") // the other user cannot look into t.TempDir
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	p := &postgres{t: t, bin: slices.Max(versions), dir: dir, addr: free(t)}
	if os.Geteuid() == 0 {
		who, err := user.Lookup("postgres")
		if err != nil {
			t.Fatal(err)
		}
		uid, _ := strconv.Atoi(who.Uid)
		gid, _ := strconv.Atoi(who.Gid)
		p.as = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
		if err := os.Chown(dir, uid, gid); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := p.command(p.bin+"/initdb", "-D", "data", "-U", "postgres", "-A", "trust").CombinedOutput(); err != nil {
		t.Fatalf("initdb: %v\n%s", err, out)
	}
	t.Cleanup(p.stop)
	return p
}

func (p *postgres) command(name string, args ...string) *exec.Cmd {
	c := exec.Command(name, args...)
	c.Dir, c.Env, c.SysProcAttr = p.dir, []string{"LC_ALL=C", "PATH=" + os.Getenv("PATH")}, &syscall.SysProcAttr{Credential: p.as}
	return c
}

// alive runs a server until its standard input ends, with the process that started it at the
// latest. SIGQUIT is PostgreSQL's immediate shutdown: connections break.
const alive = `"$@" >server.log 2>&1 & pid=$!; read -r _; kill -QUIT $pid; wait $pid`

func (p *postgres) start() {
	p.t.Helper()
	_, port, _ := strings.Cut(p.addr, ":")
	p.process = p.command("/bin/sh", "-c", alive, "alive", p.bin+"/postgres", "-D", "data", "-p", port,
		"-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=")
	var err error
	if p.life, err = p.process.StdinPipe(); err != nil {
		p.t.Fatal(err)
	}
	if err := p.process.Start(); err != nil {
		p.t.Fatal(err)
	}
	for end := time.Now().Add(longest); p.command(p.bin+"/pg_isready", "-h", "127.0.0.1", "-p", port).Run() != nil; {
		if time.Now().After(end) {
			p.t.Fatalf("PostgreSQL does not answer within %v", longest)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

func (p *postgres) stop() {
	if p.process != nil {
		_ = p.life.Close()
		_ = p.process.Wait() // it was killed
		p.process = nil
	}
}

// While the ledger is away, a page says so, to everybody, and is itself again when the ledger is.
func TestAPageWithoutItsLedgerComesBackByItself(t *testing.T) {
	t.Parallel()
	s, p := serve(t, false), newPostgres(t)
	p.start()
	_ = s.process.Process.Kill()
	_, _ = s.process.Process.Wait() // killed
	config, err := os.ReadFile(s.path("campaignd.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	s.write("campaignd.yaml", strings.Replace(string(config), `"sqlite:`+s.path("campaignd.db")+`"`, `"postgres://postgres@`+p.addr+
		`/postgres?sslmode=disable"`+"\nreplicas: 1", 1))
	s.start()
	ctx, said := start(t, s.console)
	h := &hand{s, ctx, false, true}
	screen(t, ctx, once[0].theme, once[0].width)
	h.signIn(s.key("ann", "admin"))
	s.open(ctx, "/console/runs")
	p.stop()
	s.open(ctx, "/console/runs")
	h.sees("The ledger does not answer.")
	evaluate[int](t, ctx, "stop(), 0") // the page would load itself again while it is looked at
	_ = said()                         // the browser itself writes a line about an answer that is a refusal
	s.judge(ctx, "a page without its ledger", said, once)
	s.open(ctx, "/console/runs")
	h.sees("The ledger does not answer.")
	p.start()
	h.until(ctx, "the page itself", `document.querySelector("h1").textContent == "Runs"`)
	if err := chromedp.Do(ctx, chromedp.WaitVisible("nav a[aria-current=page]")); err != nil {
		t.Fatalf("the page that came back: %v, want it whole", err)
	}
}
