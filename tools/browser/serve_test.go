package browser

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

var program = flag.String("campaignd", "", "the program that serves the console")

// served is a campaignd that serves the console over a sandbox of the messaging service.
type served struct {
	t       *testing.T
	dir     string
	sandbox string // its URL
	console string // the URL of the admin listener
	process *exec.Cmd
}

// first waits for a line of a process that matches, and returns the match.
func (s *served) first(p *exec.Cmd, line *regexp.Regexp) string {
	s.t.Helper()
	out, err := p.StderrPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	p.Stdout = p.Stderr
	if err := p.Start(); err != nil {
		s.t.Fatal(err)
	}
	found, read := make(chan string, 1), make(chan struct{})
	go func() {
		defer close(read)
		seen, all := false, []string(nil)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			if m := line.FindStringSubmatch(lines.Text()); m != nil && !seen {
				found <- m[1]
				seen = true
				continue
			}
			all = append(all, lines.Text())
		}
		if len(all) > 0 && s.t.Failed() {
			fmt.Println(strings.Join(all[max(0, len(all)-20):], "\n"))
		}
	}()
	s.t.Cleanup(func() {
		_ = p.Process.Signal(syscall.SIGTERM)
		<-read
		_ = p.Wait()
	})
	select {
	case m := <-found:
		return m
	case <-read:
	case <-time.After(longest):
	}
	s.t.Fatalf("%s: got no line like %s", strings.Join(p.Args, " "), line)
	return ""
}

// serve starts a sandbox and a campaignd over the ledger of a folder. A demo gives the folder a
// finished run.
func serve(t *testing.T, withDemo bool) *served {
	t.Helper()
	if *program == "" {
		unable(t, "no -campaignd: scripts/browser.sh builds it")
	}
	s := &served{t: t, dir: t.TempDir()}
	if withDemo {
		s.run("demo", "--dir", s.dir)
	}
	for _, name := range []string{"campaigns", "inbox"} {
		if err := os.MkdirAll(s.path(name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	s.write("secret", "sandbox-secret")
	// The sandbox has to know the address of the webhooks before serve listens, and a page finds a
	// serve that was started again at the same address.
	public, admin := free(t), free(t)
	s.sandbox = s.first(exec.Command(*program, "sandbox", "--addr", "127.0.0.1:0", "--webhook",
		"http://"+public+"/webhooks/messaging", "--webhook-secret-file", s.path("secret")), regexp.MustCompile(`service on (http://\S+),`))
	s.write("campaignd.yaml", fmt.Sprintf(`ledger: "sqlite:%s"
service: {base_url: %q, api_key: sandbox-key}
webhooks: {secrets: [sandbox-secret]}
campaigns: %q
drops: [{bucket: "file://%s", campaign: spring-sale}]
notifications: {desk: {url: "http://127.0.0.1:9/desk", format: slack}}
listen: {public: %q, admin: %q}
`, s.path("campaignd.db"), s.sandbox, s.path("campaigns"), s.path("inbox"), public, admin))
	s.start()
	return s
}

// free returns an address of this machine that is free.
func free(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

// start starts serve, which ends with the test or with kill.
func (s *served) start() {
	s.t.Helper()
	s.process = exec.Command(*program, "serve", "--config", s.path("campaignd.yaml"))
	s.console = s.first(s.process, regexp.MustCompile(`admin=(http://\S+)`))
}

func (s *served) path(name string) string { return filepath.Join(s.dir, name) }

func (s *served) write(name, text string) {
	s.t.Helper()
	if err := os.WriteFile(s.path(name), []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

// run runs a command to its end and returns what it printed.
func (s *served) run(args ...string) string {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), 10*time.Minute)
	defer cancel()
	if args[0] != "demo" {
		args = append(args, "--config", s.path("campaignd.yaml"))
	}
	out, err := exec.CommandContext(ctx, *program, args...).CombinedOutput()
	if err != nil {
		s.t.Fatalf("campaignd %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// key makes a key of a scope.
func (s *served) key(name, scope string) string {
	s.t.Helper()
	secret := regexp.MustCompile(`cpd_[0-9a-f_]+`).FindString(s.run("keys", "create", name, "--scope", scope))
	if secret == "" {
		s.t.Fatal("keys create printed no key")
	}
	return secret
}

// get returns the body of an address.
func get(t *testing.T, address string) string {
	t.Helper()
	r, err := http.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err != nil || r.StatusCode != http.StatusOK {
		t.Fatalf("%s: got %d (%v)", address, r.StatusCode, err)
	}
	return string(text)
}
