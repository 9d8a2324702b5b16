package cloud

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"

	"campaignd/internal/messaging"
)

// uploads takes a file, and breaks the connection off after the first 1,000 bytes of each of the
// first posts.
type uploads struct {
	t      *testing.T
	mu     sync.Mutex // an aborted answer orders nothing for the next request
	breaks int
	got    []byte
}

func (u *uploads) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	u.mu.Lock()
	defer u.mu.Unlock()
	answer := func(text string) { _, _ = io.WriteString(w, text) }
	session := strings.HasSuffix(r.URL.Path, "/upload:A=") && r.URL.RawQuery == "sig=AB" && r.Header.Get("Authorization") == "OAuth t"
	switch {
	case strings.HasSuffix(r.URL.Path, "/phone_numbers"):
		answer(`{"data":[{"id":"300000000000001","display_phone_number":"+1 5555550100"}]}`)
	case r.URL.Path == "/v25.0/100000000000001/uploads" && r.Method == http.MethodPost:
		if want := "file_length=5000&file_name=a+b.jpg&file_type=image%2Fjpeg"; r.URL.RawQuery != want {
			u.t.Errorf("got %s, want %s", r.URL.RawQuery, want)
		}
		answer(`{"id":"upload:A=?sig=AB"}`)
	case session && r.Method == http.MethodGet:
		answer(`{"id":"upload:A=?sig=AB","file_offset":` + strconv.Itoa(len(u.got)) + `}`)
	case session && r.Header.Get("file_offset") == strconv.Itoa(len(u.got)) && u.breaks > 0:
		u.breaks--
		part := make([]byte, 1000)
		_, _ = io.ReadFull(r.Body, part)
		u.got = append(u.got, part...)
		panic(http.ErrAbortHandler)
	case session && r.Header.Get("file_offset") == strconv.Itoa(len(u.got)):
		part, _ := io.ReadAll(r.Body)
		u.got = append(u.got, part...)
		answer(`{"h":"4::aW"}`)
	default:
		u.t.Errorf("got %s %s with offset %q after %d bytes, want another request", r.Method, r.URL, r.Header.Get("file_offset"), len(u.got))
	}
}

func TestAnUploadGoesOnWhereItBrokeOff(t *testing.T) {
	file := bytes.Repeat([]byte("0123456789"), 500)
	for breaks, want := range []string{"4::aW", "4::aW", "4::aW", "4::aW", ""} {
		u := &uploads{t: t, breaks: breaks}
		c := serverClient(t, u, Account{ID: "200000000000001", App: "100000000000001", Token: messaging.NewSecret("t")})
		got, err := c.UploadHeader(t.Context(), "300000000000001", "a b.jpg", "image/jpeg", bytes.NewReader(file))
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%d breaks: got %q, %v; want %q", breaks, got, err, want)
		}
		if want != "" && !bytes.Equal(u.got, file) {
			t.Errorf("%d breaks: the platform has %d bytes, want the file of %d", breaks, len(u.got), len(file))
		}
	}
}

func TestAnUploadForAHeaderNeedsTheApp(t *testing.T) {
	c := serverClient(t, &uploads{t: t}, Account{ID: "200000000000001", Token: messaging.NewSecret("t")})
	if _, err := c.UploadHeader(t.Context(), "300000000000001", "a.jpg", "image/jpeg", bytes.NewReader(nil)); !errors.Is(err, ErrNoApp) {
		t.Errorf("got %v, want ErrNoApp", err)
	}
}
