package daemon

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"campaignd/internal/client"
	"campaignd/internal/config"
)

// issue writes a certificate of 127.0.0.1 with a serial number, signed by itself, and a key.
func issue(t *testing.T, files config.TLS, serial int64) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: "campaignd"},
		NotBefore: time.Unix(0, 0), NotAfter: time.Unix(1<<33, 0), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	stamp := time.Unix(1_700_000_000+serial, 0) // each version has a time of its own
	for path, block := range map[string]*pem.Block{
		files.Certificate: {Type: "CERTIFICATE", Bytes: der}, files.Key: {Type: "PRIVATE KEY", Bytes: secret},
	} {
		if err := errors.Join(os.WriteFile(path, pem.EncodeToMemory(block), 0o600), os.Chtimes(path, stamp, stamp)); err != nil {
			t.Fatal(err)
		}
	}
}

func certificateFiles(t *testing.T) config.TLS {
	dir := t.TempDir()
	return config.TLS{Certificate: filepath.Join(dir, "tls.crt"), Key: filepath.Join(dir, "tls.key")}
}

// A renewed certificate is served within a second of its change, without a restart; files that do
// not fit together, as while they are exchanged, leave the last good one.
func TestARenewedCertificateIsServed(t *testing.T) {
	files := certificateFiles(t)
	issue(t, files, 1)
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		l := &listener{name: "listen.public", srv: &http.Server{}}
		if err := l.secure(files, slog.New(slog.NewTextHandler(&log, nil))); err != nil {
			t.Fatal(err)
		}
		serial := func() int64 {
			time.Sleep(certificateEvery)
			pair, err := l.srv.TLSConfig.GetCertificate(nil)
			if err != nil {
				t.Fatal(err)
			}
			return pair.Leaf.SerialNumber.Int64()
		}
		if got := serial(); got != 1 {
			t.Errorf("got certificate %d, want 1", got)
		}
		issue(t, files, 2)
		if got := serial(); got != 2 {
			t.Errorf("got certificate %d, want the renewed one, 2", got)
		}
		if err := os.WriteFile(files.Key, []byte("half"), 0o600); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			if got := serial(); got != 2 {
				t.Errorf("got certificate %d with half a key, want 2", got)
			}
		}
		if n := strings.Count(log.String(), "cannot be read"); n != 1 {
			t.Errorf("got %d warnings of half a key, want 1:\n%s", n, log.String())
		}
		issue(t, files, 3)
		if got := serial(); got != 3 {
			t.Errorf("got certificate %d, want 3", got)
		}
	})
}

func TestAListenerSpeaksTLS(t *testing.T) {
	files := certificateFiles(t)
	issue(t, files, 1)
	l, err := bind(t.Context(), "listen.public", "127.0.0.1:0", http.HandlerFunc(healthz))
	if err != nil {
		t.Fatal(err)
	}
	if err := l.secure(files, slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- l.serve(ctx, time.Second) }()
	pool := x509.NewCertPool()
	text, err := os.ReadFile(files.Certificate)
	if err != nil || !pool.AppendCertsFromPEM(text) {
		t.Fatal(err)
	}
	for least, want := range map[uint16]bool{tls.VersionTLS13: true, tls.VersionTLS12: true, tls.VersionTLS11: false} {
		client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true,
			TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS10, MaxVersion: least}}} //nolint:gosec // an old client
		res, err := client.Get(l.url() + "/healthz")
		if (err == nil) != want {
			t.Errorf("TLS %x: got %v, want an answer %v", least, err, want)
		}
		if err == nil {
			body, _ := io.ReadAll(res.Body)
			if res.Body.Close(); string(body) != "ok\n" || res.ProtoMajor != 1 {
				t.Errorf("got %q over HTTP/%d, want ok over HTTP/1", body, res.ProtoMajor)
			}
		}
	}
	if res, err := http.Get("http" + strings.TrimPrefix(l.url(), "https") + "/healthz"); err == nil {
		if res.Body.Close(); res.StatusCode != http.StatusBadRequest {
			t.Errorf("plain HTTP: got %d, want 400", res.StatusCode)
		}
	}
	stop()
	if err := <-ended; err != nil {
		t.Errorf("serve = %v, want nil", err)
	}
	if l.ln.open == nil || len(l.ln.open) != 0 {
		t.Errorf("got %d connections left, want none", len(l.ln.open))
	}
}

func TestTheAdminCertificateIsKnownByItsPin(t *testing.T) {
	c := newCluster(t, "STANDARD", 15*time.Second)
	cfg := *c.config
	cfg.Ledger = "sqlite:" + filepath.Join(c.dir, "tls.db")
	cfg.Listen = config.Listen{Public: "127.0.0.1:0", Admin: "127.0.0.1:0", AdminTLS: certificateFiles(t)}
	issue(t, cfg.Listen.AdminTLS, 1)
	d, err := New(t.Context(), &cfg, withAPI)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = d.Close() }()
	ctx, stop := context.WithCancel(t.Context())
	started, ended := make(chan struct{}), make(chan error, 1)
	go func() { ended <- d.Serve(ctx, func(string, string) { close(started) }) }()
	select {
	case <-started:
	case err := <-ended:
		t.Fatalf("Serve = %v, want it to serve", err)
	}
	file := c.campaign(t.TempDir(), "spring", "", 3)
	request := client.Launch{Campaign: file, List: filepath.Join(filepath.Dir(file), "spring.csv")}
	out, err := LaunchBeside(t.Context(), &cfg, request)
	if err != nil || out.Run.Rows != 3 {
		t.Errorf("got %+v, %v, want a run of 3 rows", out, err)
	}
	access, err := client.ReadAccess(cfg.AccessFile())
	if err != nil {
		t.Fatal(err)
	}
	access.Pin = strings.Repeat("0", 64)
	other, err := access.Client()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := other.Launch(t.Context(), request); err == nil || !strings.Contains(err.Error(), "not the one that the process named") {
		t.Errorf("another certificate: got %v, want it refused", err)
	}
	stop()
	if err := <-ended; err != nil {
		t.Errorf("Serve = %v, want nil", err)
	}
}

func TestHalfACertificateIsAFaultOfTheConfiguration(t *testing.T) {
	c := config.Default()
	c.Listen.PublicTLS.Certificate = "tls.crt"
	if err := c.Validate(); err == nil || !strings.Contains(err.Error(), "listen.public_tls: ") {
		t.Errorf("got %v, want the fault of listen.public_tls", err)
	}
	l := &listener{name: "listen.admin", srv: &http.Server{}}
	err := l.secure(config.TLS{Certificate: "none.crt", Key: "none.key"}, slog.New(slog.DiscardHandler))
	if err == nil || !strings.Contains(err.Error(), "listen.admin_tls: ") {
		t.Errorf("got %v, want the fault of listen.admin_tls", err)
	}
}
