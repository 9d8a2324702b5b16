package api_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"campaignd/internal/client"
)

// cutter is a proxy that closes each connection after most bytes from its client.
type cutter struct {
	net.Listener
	to      string
	most    int64
	cut     atomic.Int64 // connections
	carried atomic.Int64 // bytes of clients
	wg      sync.WaitGroup
}

func cutAfter(t *testing.T, url string, most int64) *cutter {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &cutter{Listener: l, to: strings.TrimPrefix(url, "http://"), most: most}
	c.wg.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			c.wg.Go(func() { c.carry(conn) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		c.wg.Wait()
	})
	return c
}

func (c *cutter) carry(conn net.Conn) {
	defer conn.Close()
	server, err := net.Dial("tcp", c.to)
	if err != nil {
		return
	}
	defer server.Close()
	c.wg.Go(func() {
		_, _ = io.Copy(conn, server) // it ends with either
		_ = conn.Close()
	})
	n, err := io.CopyN(server, conn, c.most)
	c.carried.Add(n)
	if err == nil {
		c.cut.Add(1)
	}
}

// An upload whose connection breaks again and again goes on each time, and the list is complete.
func TestALaunchGoesOnWhereItsConnectionBroke(t *testing.T) {
	f := serve(t)
	list := "phone\n" + strings.Repeat("+2348031234567\n", 2_500_000) // 36 MiB
	proxy := cutAfter(t, f.URL, 7<<20)
	f.URL = "http://" + proxy.Addr().String()
	var told []client.UploadProgress
	got, err := f.Launch(t.Context(), client.Launch{Campaign: put(t, "c.yaml", campaignFile), List: put(t, "my list.csv", list),
		Tell: func(p client.UploadProgress) { told = append(told, p) }})
	if err != nil || got.Run.ID != "spring-1" {
		t.Fatalf("got %+v and %v, want spring-1", got, err)
	}
	if f.launched[0][1] != list || filepath.Base(f.lists[0]) != "list-my_list.csv" {
		t.Errorf("got a list of %d bytes as %s, want that of %d", len(f.launched[0][1]), f.lists[0], len(list))
	}
	if cut, carried := proxy.cut.Load(), proxy.carried.Load(); cut < 3 || carried > int64(len(list))*3/2 {
		t.Errorf("got %d connections cut and %d bytes sent, want several cut and at most half more than %d", cut, carried, len(list))
	}
	var failures int
	last := int64(-1)
	for _, p := range told {
		if p.Size != int64(len(list)) || p.Sent < last || (p.Err == nil) != (p.Wait == 0) {
			t.Errorf("got %+v behind %d bytes, want what was sent before, of %d", p, last, len(list))
		}
		if last = p.Sent; p.Err != nil {
			failures++
		}
	}
	if failures < 3 || last != int64(len(list)) {
		t.Errorf("got %d failures told, and %d bytes at the end; want several and %d", failures, last, len(list))
	}
	if left := f.left(t); len(left) > 0 {
		t.Errorf("got the uploads %v, want none", left)
	}
}

// A launch after a refusal finds its list, also in another process.
func TestAListIsNotUploadedTwice(t *testing.T) {
	f := serve(t)
	list := put(t, "l.csv", "phone\n"+strings.Repeat("+2348031234567\n", 1_200_000)) // 17 MiB
	f.fault = errors.New("refused")
	var e *client.Error
	if _, err := f.Launch(t.Context(), client.Launch{Campaign: put(t, "c.yaml", campaignFile), List: list}); !errors.As(err, &e) {
		t.Fatalf("got %v, want the refusal", err)
	}
	if left := f.left(t); len(left) != 1 || !strings.HasPrefix(filepath.Base(left[0]), "staged-") {
		t.Errorf("after a refusal: got %v, want the uploaded list", left)
	}
	f.fault = nil
	var first *client.UploadProgress
	if _, err := f.Launch(t.Context(), client.Launch{Campaign: put(t, "c.yaml", campaignFile), List: list,
		Tell: func(p client.UploadProgress) {
			if first == nil {
				first = &p
			}
		}}); err != nil {
		t.Fatal(err)
	}
	if first == nil || first.Sent != first.Size || first.Err != nil {
		t.Errorf("got %+v first, want the whole list", first)
	}
	if left := f.left(t); len(left) > 0 {
		t.Errorf("got the uploads %v, want none", left)
	}
}

// A faulty hash launches nothing, and neither does the hash of a list that was not uploaded.
func TestALaunchWantsAListThatHasCome(t *testing.T) {
	f := serve(t)
	good := part{"campaign", "c.yaml", campaignFile}
	for hash, want := range map[string]string{"": "invalid_request", strings.Repeat("0", 63): "invalid_request",
		strings.Repeat("0", 65): "invalid_request", "../../../../etc/passwd": "invalid_request", strings.Repeat("A", 64): "invalid_request",
		strings.Repeat("0", 64): "not_found"} {
		status, e := f.post(t, "Bearer "+f.Key, "/api/v1/runs", good, part{"upload", "l.csv", hash})
		if e.Code != want || status/100 != 4 {
			t.Errorf("%q: got %d %+v, want %s", hash, status, e, want)
		}
	}
	if left := f.left(t); len(f.launched) > 0 || len(left) > 0 {
		t.Errorf("got %d launches and the uploads %v, want none", len(f.launched), left)
	}
}

// A sender that starts anew sends only the rest of its list.
func TestAnUploadGoesOnInAnotherProcess(t *testing.T) {
	f := serve(t)
	list := "phone\n" + strings.Repeat("+2348031234567\n", 2_500_000)
	path := put(t, "l.csv", list)
	proxy := cutAfter(t, f.URL, 10<<20)
	access := client.Access{URL: "http://" + proxy.Addr().String(), Key: f.Key}
	c, err := access.Client()
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	if _, err := c.UploadList(ctx, path, func(p client.UploadProgress) {
		if p.Err != nil { // this process ends here
			stop()
		}
	}); err == nil {
		t.Fatal("got no error, want that of the process that ends")
	}
	left := f.left(t)
	if len(left) != 1 {
		t.Fatalf("got the uploads %v, want one", left)
	}
	info, err := os.Stat(left[0])
	if err != nil || info.Size() < 4<<20 {
		t.Fatalf("got %v and %v, want most of what left", info, err)
	}
	if c, err = f.Client(); err != nil {
		t.Fatal(err)
	}
	var first int64 = -1
	hash, err := c.UploadList(t.Context(), path, func(p client.UploadProgress) {
		if first < 0 {
			first = p.Sent
		}
	})
	if err != nil || first < info.Size() || !strings.HasSuffix(left[0], hash) {
		t.Errorf("got %s from byte %d on and %v, want %s from byte %d or behind it", hash, first, err, left[0], info.Size())
	}
}

// The length of a request, or of a file, is known before any of the list is sent.
func TestAListThatIsTooLargeIsNotSent(t *testing.T) {
	f := serve(t)
	conn, err := net.Dial("tcp", strings.TrimPrefix(f.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "POST /api/v1/runs HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\n"+
		"Content-Type: multipart/form-data; boundary=x\r\nExpect: 100-continue\r\n\r\n", f.Key, int64(5<<30))
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusRequestEntityTooLarge || !strings.Contains(string(text), "at most 4 GiB; divide it") {
		t.Errorf("a request of 5 GiB: got %d %s (%v), want 413, the bound and what to do", res.StatusCode, text, err)
	}
	list := put(t, "l.csv", "")
	if err := os.Truncate(list, 5<<30); err != nil { // sparse
		t.Fatal(err)
	}
	_, err = f.Launch(t.Context(), client.Launch{Campaign: put(t, "c.yaml", campaignFile), List: list})
	if err == nil || !strings.HasPrefix(err.Error(), list+": a list has at most 4 GiB; divide it") {
		t.Errorf("a file of 5 GiB: got %v, want its name, the bound and what to do", err)
	}
	if left := f.left(t); len(left) > 0 {
		t.Errorf("got the uploads %v, want none", left)
	}
}
