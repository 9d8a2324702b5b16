package api_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"campaignd/internal/client"
)

// plain sends a whole request and reads the answer only then, as simple HTTP clients do.
func (f *fixture) plain(t *testing.T, method, path, header string, body io.Reader, length int64) (int, string) {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(f.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(conn, "%s %s HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\n%s\r\n",
		method, path, f.Key, length, header)
	if n, err := io.CopyN(conn, body, length); err != nil {
		t.Errorf("%s %s: the connection ended after %d of %d bytes: %v; want that all can be sent", method, path, n, length, err)
		return 0, ""
	}
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Errorf("%s %s: got %v, want an answer", method, path, err)
		return 0, ""
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Errorf("%s %s: the answer ended early: %v; want the whole", method, path, err)
	}
	return res.StatusCode, string(text)
}

// zeros reads as zeros for ever.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// A client that reads the answer after it has sent its whole body is told why the body is refused.
func TestARefusedBodyIsAnsweredToAPlainClient(t *testing.T) {
	f := serve(t)
	const hash = "/api/v1/uploads/9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
	const full = "/api/v1/uploads/60303ae22b998861bce3b28f33eec1be758a213c86c93c076dbe9f558c11c752"
	const mib = 1 << 20
	if err := errors.Join(os.MkdirAll(f.dir, 0o700), os.Symlink("/dev/full", filepath.Join(f.dir, "staged-"+path.Base(full)))); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		method, path, header string
		length               int64
		status               int
		code                 string
	}{
		"a part that is too large": {"PATCH", hash + "?offset=0", "", client.MaxPart + 20*mib, 413, client.CodeTooLarge},
		"a part at a wrong offset": {"PATCH", hash + "?offset=7", "", client.MaxPart, 409, client.CodeWrongOffset},
		"a part for a full disk":   {"PATCH", full + "?offset=0", "", client.MaxPart, 507, client.CodeNoSpace},
		"a body that is too large": {"POST", "/api/v1/suppressions", "Content-Type: application/json\r\n", 30 * mib, 413,
			client.CodeTooLarge},
		"a form that is none":            {"POST", "/api/v1/runs", "", 30 * mib, 400, client.CodeInvalid},
		"a route that does not exist":    {"POST", "/api/v1/nothing", "", 30 * mib, 404, client.CodeNotFound},
		"a method that it does not take": {"POST", "/api/v1/actions", "", 30 * mib, 405, client.CodeMethod},
	} {
		status, text := f.plain(t, tt.method, tt.path, tt.header, zeros{}, tt.length)
		if status != tt.status || !strings.Contains(text, `"`+tt.code+`"`) {
			t.Errorf("%s: got %d %s, want %d %s", name, status, text, tt.status, tt.code)
		}
	}
}
