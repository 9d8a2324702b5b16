// Package s3test starts an S3 server for a test. Tests of dropped files call it.
//
// By default the server is in this process and takes any signature. With -versitygw PATH it is
// versitygw, which checks signatures and keeps its objects in real folders (`make s3`).
package s3test

import (
	"context"
	"flag"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
)

// gateway is the path of versitygw (https://github.com/versity/versitygw).
var gateway = flag.String("versitygw", "", "path of versitygw, which then serves S3 in place of this process")

// The credentials of every server, and its bucket.
const (
	Key    = "campaignd"
	Secret = "8Tq0yLr2mBv5xNc1"
	Bucket = "lists"
)

// Signed reports whether the server checks signatures.
func Signed() bool { return *gateway != "" }

// Start starts a server with the empty bucket Bucket. wrap may change how requests are handled; nil
// changes nothing. The server ends with the test.
func Start(t testing.TB, wrap func(http.Handler) http.Handler) *httptest.Server {
	t.Helper()
	var handler http.Handler
	if *gateway == "" {
		back := s3mem.New()
		if err := back.CreateBucket(Bucket); err != nil {
			t.Fatal(err)
		}
		handler = gofakes3.New(back).Server()
	} else {
		handler = startGateway(t)
	}
	if wrap != nil {
		handler = wrap(handler)
	}
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server
}

// Client returns a client of the server with other credentials than Key and Secret, if they are
// given.
func Client(t testing.TB, server *httptest.Server, credential ...string) *minio.Core {
	t.Helper()
	if len(credential) == 0 {
		credential = []string{Key, Secret}
	}
	client, err := minio.NewCore(strings.TrimPrefix(server.URL, "http://"), &minio.Options{
		Creds: credentials.NewStaticV4(credential[0], credential[1], ""), Region: "us-east-1", MaxRetries: 1})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// startGateway starts versitygw on a socket, and returns what passes requests to it. The signature
// covers the name of the host, which is therefore left as it is.
func startGateway(t testing.TB) http.Handler {
	t.Helper()
	dir, err := os.MkdirTemp("", "s3") // the path of a socket is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	for _, name := range []string{"data/" + Bucket, "attributes"} {
		if err := os.MkdirAll(filepath.Join(dir, filepath.FromSlash(name)), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	socket := filepath.Join(dir, "socket")
	cmd := exec.Command(*gateway, "--port", socket, "--quiet", "--keep-alive", "posix", "--sidecar", filepath.Join(dir, "attributes"),
		filepath.Join(dir, "data"))
	cmd.Env = []string{"HOME=" + dir, "ROOT_ACCESS_KEY=" + Key, "ROOT_SECRET_KEY=" + Secret}
	var said strings.Builder
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		t.Fatalf("versitygw: %v; `make bin/versitygw` installs it", err)
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		close(ended)
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-ended
	})
	for limit := time.Now().Add(4 * time.Minute); ; time.Sleep(20 * time.Millisecond) {
		if c, err := net.Dial("unix", socket); err == nil {
			_ = c.Close()
			break
		}
		select {
		case <-ended:
			t.Fatalf("versitygw ended: %s", said.String())
		default:
		}
		if time.Now().After(limit) {
			t.Fatal("versitygw: got no socket within a minute, want one")
		}
	}
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}}
	t.Cleanup(transport.CloseIdleConnections)
	return &httputil.ReverseProxy{Transport: transport, Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(&url.URL{Scheme: "http", Host: "versitygw"})
		r.Out.Host = r.In.Host
	}}
}
