package daemon

import (
	"bufio"
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"campaignd/internal/client"
	"campaignd/internal/client/resource"
)

// listeners is how many clients follow the events. docs/performance.md gives 200, and then the rate
// of sending is judged.
var listeners = flag.Int("listeners", 0, "clients of TestClientsThatListenCostTheSendingLittle; judges the rate")

// listening follows the events with as many clients as it was told, if this process is one that
// does so, until its input ends. It prints a line when each client has the state, and then how many
// events came of how many clients.
func listening() bool {
	file, clients, ok := strings.Cut(os.Getenv("CAMPAIGND_TEST_LISTENERS"), " ")
	if !ok {
		return false
	}
	n := 0
	_, _ = fmt.Sscan(clients, &n)
	access, err := client.ReadAccess(file)
	if err != nil {
		panic(err)
	}
	c, err := access.Client()
	if err != nil {
		panic(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	var events, fed atomic.Int64
	var wg, ready sync.WaitGroup
	for range n {
		ready.Add(1)
		wg.Go(func() {
			mine := 0
			_ = c.Events(ctx, "", func(e resource.Event) error {
				switch e.Type {
				case resource.EventReady:
					ready.Done()
				case resource.EventProgress:
					events.Add(1)
					if mine++; mine == 1 {
						fed.Add(1)
					}
				}
				return nil
			})
		})
	}
	ready.Wait()
	fmt.Println("ready")
	_, _ = bufio.NewReader(os.Stdin).ReadByte()
	stop()
	wg.Wait()
	fmt.Println(events.Load(), fed.Load())
	return true
}

// Clients follow the events while a campaign is sent. With -listeners the rate of sending is
// compared, in turns with the clients and without them.
func TestClientsThatListenCostTheSendingLittle(t *testing.T) {
	const turns = 4
	clients, length, rows := 3, 10*time.Millisecond, 500
	if *listeners > 0 {
		clients, length, rows = *listeners, 6*time.Second, 90_000
	}
	c := newCluster(t, "HIGH", 15*time.Second)
	cfg := *c.config
	cfg.Ledger = "sqlite:" + filepath.Join(c.dir, "listened.db")
	cfg.Listen.Public, cfg.Listen.Admin = "127.0.0.1:0", "127.0.0.1:0"
	d, err := New(t.Context(), &cfg, withAPI)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = d.Close() }()
	ctx, stop := context.WithCancel(t.Context())
	started, ended := make(chan struct{}), make(chan error, 1)
	go func() { ended <- d.Serve(ctx, func(string, string) { close(started) }) }()
	defer func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("Serve = %v, want no error", err)
		}
	}()
	select {
	case <-started:
	case err := <-ended:
		ended <- nil
		t.Fatalf("Serve = %v, want it to serve", err)
	}
	file := c.campaign(t.TempDir(), "spring", "", rows)
	list := strings.TrimSuffix(file, ".yaml") + ".csv"
	if _, err := LaunchBeside(t.Context(), &cfg, client.Launch{Campaign: file, List: list}); err != nil {
		t.Fatal(err)
	}
	sent := func() (n int64) {
		for _, conn := range c.service.Stats().Connections {
			n += conn.Accepted
		}
		return n
	}
	rate := func() float64 {
		began, before := time.Now(), sent()
		time.Sleep(length)
		return float64(sent()-before) / time.Since(began).Seconds()
	}
	heard := func() float64 {
		p := exec.CommandContext(t.Context(), os.Args[0])
		p.Env = append(os.Environ(), fmt.Sprintf("CAMPAIGND_TEST_LISTENERS=%s %d", cfg.AccessFile(), clients))
		in, err := p.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		out, err := p.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		var faults bytes.Buffer
		p.Stderr = &faults
		if err := p.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewReader(out)
		if line, err := lines.ReadString('\n'); line != "ready\n" {
			t.Fatalf("the clients said %q (%v, %s), want that they are ready", line, err, faults.String())
		}
		got := rate()
		_ = in.Close()
		var events, fed int64
		if _, err := fmt.Fscan(lines, &events, &fed); err != nil || p.Wait() != nil {
			t.Fatalf("the clients ended with %v: %s", err, faults.String())
		}
		t.Logf("%.1f messages a second while %d clients got %d events", got, clients, events)
		if *listeners > 0 && fed != int64(clients) {
			t.Errorf("%d of %d clients heard of progress, want all", fed, clients)
		}
		return got
	}
	c.until("the sending begins", func() bool { return sent() > 0 })
	if *listeners == 0 {
		heard()
		return
	}
	time.Sleep(length) // the pace becomes steady
	var with, without []float64
	for range turns {
		without = append(without, rate())
		with = append(with, heard())
	}
	slices.Sort(with)
	slices.Sort(without)
	a, b := with[turns/2], without[turns/2]
	t.Logf("%.1f messages a second with %d clients, %.1f without: %.3f", a, clients, b, a/b)
	if a < 0.95*b {
		t.Errorf("got %.1f messages a second with %d clients, want at least 95 %% of %.1f", a, clients, b)
	}
}
