package api

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"
)

// parameter matches a parameter of a path.
var parameter = regexp.MustCompile(`[{][a-z]+[}]`)

// connection is a recorded answer whose deadlines are without effect.
type connection struct{ *httptest.ResponseRecorder }

func (connection) SetReadDeadline(time.Time) error { return nil }

func (connection) SetWriteDeadline(time.Time) error { return nil }

// No request with a valid key causes a fault of the server.
func FuzzRequestsAreNoFaultOfTheServer(f *testing.F) {
	f.Add(uint8(0), "spring-1", "limit=1", `{"weight": 1}`)
	f.Add(uint8(3), "latest", "status=failed&after=9", `{"numbers": ["+1"], "scope": "all"}`)
	for _, list := range []string{"phone\n+4930123\n", ""} {
		f.Add(uint8(5), "spring-1", "new=true", "--b\r\n"+
			"Content-Disposition: form-data; name=\"campaign\"; filename=\"a.yaml\"\r\n\r\nname: a\r\n"+
			"--b\r\nContent-Disposition: form-data; name=\"list\"; filename=\"a.csv\"\r\n\r\n"+list+"\r\n--b--\r\n")
	}
	w := newWorld(f)
	all := w.documented()
	f.Fuzz(func(t *testing.T, route uint8, id, query, body string) {
		d := all[int(route)%len(all)]
		if d.op.OperationID == "events" { // a stream has no end
			return
		}
		hash := fmt.Sprintf("%x", sha256.Sum256([]byte(body)))
		path := parameter.ReplaceAllLiteralString(strings.ReplaceAll(d.path, "{hash}", hash), id)
		r, err := http.NewRequestWithContext(t.Context(), d.method, "http://x"+path+"?"+query, strings.NewReader(body))
		if err != nil {
			return // no client could send it
		}
		r.RequestURI, r.RemoteAddr = r.URL.RequestURI(), "192.0.2.1:1"
		r.Header.Set("Authorization", "Bearer "+w.keys["admin"])
		r.Header.Set("Content-Type", "application/json")
		switch d.op.OperationID {
		case "import-suppressions":
			r.Header.Set("Content-Type", "text/csv")
		case "launch", "check-upload", "forecast-upload", "preview", "send-test", "rejects":
			r.Header.Set("Content-Type", "multipart/form-data; boundary=b")
		}
		out := httptest.NewRecorder()
		begun := time.Now()
		w.ServeHTTP(connection{out}, r)
		if out.Code >= 500 && out.Code != 503 && out.Code != http.StatusInsufficientStorage { // of 1,000 lists that were begun
			t.Errorf("%s %s with %q: got %d %s after %v, want no fault of the server", d.method, r.URL, body, out.Code, out.Body, time.Since(begun))
		}
	})
}
