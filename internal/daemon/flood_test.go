package daemon

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"campaignd/internal/messaging"
	"campaignd/internal/sandbox"
)

// flood is how long unsigned posts come. docs/performance.md gives 20s, and then the rate of
// sending is judged.
var flood = flag.Duration("flood", 0, "how long unsigned posts come in TestUnsignedPostsStopNothing; judges the rate")

// floodAddress is where the unsigned posts come from. Linux answers to all of 127.0.0.0/8.
func floodAddress() *net.TCPAddr {
	if runtime.GOOS == "linux" {
		return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}
	}
	return nil
}

// generate posts for length, with one core and no more: TestMain runs it in a process of its own.
func generate(url string, length time.Duration) {
	runtime.GOMAXPROCS(1)
	var offered, answered atomic.Int64
	end := time.Now().Add(length)
	client := func() *http.Client {
		d := net.Dialer{LocalAddr: floodAddress(), Timeout: time.Second}
		return &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DialContext: d.DialContext, DisableCompression: true}}
	}
	var wg sync.WaitGroup
	body := []byte(`{"type":"message.status","connectionId":"conn_1","data":{"messageId":"wamid.forged","status":"read"}}`)
	for range 512 { // small posts, as many as there can be
		wg.Go(func() {
			for c := client(); time.Now().Before(end); offered.Add(1) {
				req, _ := http.NewRequest(http.MethodPost, url, bytes.NewReader(body))
				req.Header.Set("X-Service-Signature", "sha256="+strings.Repeat("0", 64))
				if res, err := c.Do(req); err == nil {
					_, _ = io.Copy(io.Discard, res.Body)
					_ = res.Body.Close()
					answered.Add(1)
				}
			}
		})
	}
	address := strings.TrimPrefix(url[:strings.LastIndex(url, "/webhooks")], "http://")
	for n := range 60 { // long bodies that trickle, and connections that are only held
		wg.Go(func() {
			d := net.Dialer{LocalAddr: floodAddress(), Timeout: time.Second}
			for time.Now().Before(end) {
				c, err := d.Dial("tcp", address)
				if err != nil {
					time.Sleep(10 * time.Millisecond)
					continue
				}
				_ = c.SetDeadline(end)
				if n < 20 {
					_, _ = fmt.Fprintf(c, "POST /webhooks/messaging HTTP/1.1\r\nHost: x\r\nContent-Length: 2097152\r\n\r\n")
					for err == nil && time.Now().Before(end) {
						_, err = c.Write(make([]byte, 20<<10))
						time.Sleep(50 * time.Millisecond)
					}
				} else {
					_, _ = c.Read(make([]byte, 1))
				}
				_ = c.Close()
			}
		})
	}
	wg.Wait()
	fmt.Println(offered.Load(), answered.Load())
}

// While unsigned posts come as fast as one core makes them, signed events are stored and the memory
// is bounded. With -flood, sending keeps at least 95 % of its rate.
func TestUnsignedPostsStopNothing(t *testing.T) {
	length := max(*flood, time.Second)
	c := newCluster(t, "STANDARD", 15*time.Second)
	cfg := *c.config
	cfg.Ledger = "sqlite:" + filepath.Join(c.dir, "flood.db")
	cfg.Listen.Public, cfg.Webhooks.Secrets = "127.0.0.1:0", []messaging.Secret{messaging.NewSecret(sandbox.DemoSecret)}
	d, err := New(t.Context(), &cfg, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = d.Close() }()
	rows := 10_000 + int(80*(2*length).Seconds()) // too many to come to their end meanwhile, on any machine
	ended := make(chan error, 1)
	go func() {
		_, err := d.RunCampaign(t.Context(), RunOptions{File: c.campaign(t.TempDir(), "spring", "", rows)})
		ended <- err
	}()
	sent := func() (n int) {
		for _, conn := range c.service.Stats().Connections {
			n += int(conn.Accepted)
		}
		return n
	}
	for deadline := time.Now().Add(longWait); sent() < 20 && time.Now().Before(deadline); {
		time.Sleep(20 * time.Millisecond)
	}
	rate := func(length time.Duration) float64 {
		began, before := time.Now(), sent()
		time.Sleep(length)
		return float64(sent()-before) / time.Since(began).Seconds()
	}
	calm := 0.0
	if *flood > 0 {
		calm = rate(length)
	}
	generator := exec.CommandContext(t.Context(), os.Args[0])
	generator.Env = append(os.Environ(), "CAMPAIGND_TEST_FLOOD="+d.PublicURL()+" "+length.String())
	var figures bytes.Buffer
	generator.Stdout = &figures
	if err := generator.Start(); err != nil {
		t.Fatal(err)
	}
	var peak, taken, refused atomic.Int64
	var wg sync.WaitGroup
	over := make(chan struct{})
	wg.Go(func() { // the service: it repeats what is not taken
		for n, repeats := 0, 0; ; n++ {
			select {
			case <-over:
				if taken.Load() > 0 {
					return
				}
			default:
			}
			body := fmt.Appendf(nil, `{"type":"message.status","connectionId":"conn_1","data":{"messageId":"wamid.s%d","status":"read"}}`, n)
			req, _ := http.NewRequest(http.MethodPost, d.PublicURL(), bytes.NewReader(body))
			messaging.SignatureForm{Prefix: "sha256="}.Sign(req.Header, messaging.NewSecret(sandbox.DemoSecret), body, time.Now())
			res, err := http.DefaultClient.Do(req)
			if err == nil {
				_ = res.Body.Close()
			}
			if err != nil || res.StatusCode != http.StatusNoContent { // the next turn repeats it, until it is given up
				if n, repeats = n-1, repeats+1; repeats > 1000 {
					refused.Add(1)
					return
				}
			} else {
				taken.Add(1)
				repeats = 0
			}
			var m runtime.MemStats
			if n%20 == 0 {
				runtime.ReadMemStats(&m)
				peak.Store(max(peak.Load(), int64(m.HeapInuse+m.StackInuse)))
			}
			time.Sleep(10 * time.Millisecond)
		}
	})
	stormy := rate(length)
	err = generator.Wait()
	close(over)
	wg.Wait()
	offered, answered := 0, 0
	_, scan := fmt.Sscan(figures.String(), &offered, &answered)
	if err := errors.Join(err, scan); err != nil {
		t.Fatalf("the generator: %v", err)
	}
	t.Logf("%d unsigned posts in %v (%.0f/s, %.0f/s answered); sending %.1f/s before and %.1f/s meanwhile; "+
		"%d signed events taken, %d given up; %d MiB",
		offered, length, float64(offered)/length.Seconds(), float64(answered)/length.Seconds(), calm, stormy,
		taken.Load(), refused.Load(), peak.Load()>>20)
	if taken.Load() == 0 || refused.Load() > 0 {
		t.Errorf("got %d signed events taken and %d given up, want all taken", taken.Load(), refused.Load())
	}
	got := d.intake.Counts()
	stored := got.Matched + got.Repeated + got.Orphaned
	if stored < uint64(taken.Load()) || got.Rejected["signature"] == 0 {
		t.Errorf("got %d events committed and %d posts refused, want at least %d and some",
			stored, got.Rejected["signature"], taken.Load())
	}
	if most := int64(150 << 20); peak.Load() > most {
		t.Errorf("got %d MiB, want at most %d", peak.Load()>>20, most>>20)
	}
	if *flood > 0 && stormy < 0.95*calm {
		t.Errorf("got %.1f messages a second during the flood, want at least 95 %% of %.1f", stormy, calm)
	}
	select {
	case err := <-ended:
		t.Errorf("the run ended too early: %v, want it still sending", err)
	default:
	}
}

// flooding runs the generator if this process is one.
func flooding() bool {
	url, length, ok := strings.Cut(os.Getenv("CAMPAIGND_TEST_FLOOD"), " ")
	d, err := time.ParseDuration(length)
	if ok && err == nil {
		generate(url, d)
	}
	return ok
}
