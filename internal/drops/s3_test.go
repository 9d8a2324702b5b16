package drops

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/minio/minio-go/v7"

	"campaignd/internal/drops/s3test"
)

// store is a bucket of a server whose requests can fail.
type store struct {
	*testing.T
	*S3
	server *httptest.Server
	denied atomic.Bool // each request is answered 403
	stuck  atomic.Bool // each answer begins and does not end
	unread atomic.Bool // no upload is read or answered
	cut    atomic.Int64
}

func newStore(t *testing.T) *store {
	t.Helper()
	s := &store{T: t}
	server := s3test.Start(t, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if s.denied.Load() {
				w.WriteHeader(http.StatusForbidden)
				_, _ = io.WriteString(w, "<Error><Code>AccessDenied</Code><Message>Access Denied.</Message></Error>")
				return
			}
			if s.stuck.Load() {
				_, _ = io.WriteString(w, "<ListBucketResult>")
				_ = http.NewResponseController(w).Flush()
				<-r.Context().Done()
				return
			}
			if s.unread.Load() && r.Method == http.MethodPut {
				<-t.Context().Done()
				return
			}
			if n := s.cut.Load(); n > 0 && r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, ".csv") {
				w = &cutting{w, n}
			}
			next.ServeHTTP(w, r)
		})
	})
	s.server = server
	s.S3 = &S3{client: *s3test.Client(t, server), bucket: s3test.Bucket, request: s3Request}
	return s
}

// cutting breaks a body off after n bytes.
type cutting struct {
	http.ResponseWriter
	n int64
}

func (c *cutting) Write(p []byte) (int, error) {
	if int64(len(p)) > c.n {
		_, _ = c.ResponseWriter.Write(p[:c.n])
		panic(http.ErrAbortHandler)
	}
	c.n -= int64(len(p))
	return c.ResponseWriter.Write(p)
}

func (s *store) ok(err error) {
	s.Helper()
	if err != nil {
		s.Fatalf("got %v, want no error", err)
	}
}

func (s *store) write(key, text string) {
	s.Helper()
	_, err := s.client.Client.PutObject(s.Context(), "lists", key, strings.NewReader(text), int64(len(text)), minio.PutObjectOptions{})
	s.ok(err)
}

func (s *store) stat(key string) Object {
	s.Helper()
	o, err := s.Stat(s.Context(), key)
	s.ok(err)
	return o
}

// text reads an object, "" if there is none.
func (s *store) text(key string) string {
	s.Helper()
	o, err := s.Stat(s.Context(), key)
	if errors.Is(err, fs.ErrNotExist) {
		return ""
	}
	s.ok(err)
	r, err := s.Open(s.Context(), o, 0)
	s.ok(err)
	defer r.Close()
	text, err := io.ReadAll(r)
	s.ok(err)
	return string(text)
}

// keys lists files without folders.
func (s *store) keys(prefix string) (keys []string) {
	s.Helper()
	for o, err := range s.List(s.Context(), prefix) {
		if s.ok(err); !strings.HasSuffix(o.Key, "/") {
			keys = append(keys, o.Key)
		}
	}
	return keys
}

func TestABucketListsOneFolder(t *testing.T) {
	s := newStore(t)
	for _, key := range []string{"spring/a b.csv", "spring/é.csv", "spring/done/old.csv", "spring/", "springtime.csv", "x.csv"} {
		if s3test.Signed() && strings.HasSuffix(key, "/") {
			continue // versitygw makes folders of its own
		}
		s.write(key, "phone\n")
	}
	if diff := cmp.Diff([]string{"spring/a b.csv", "spring/é.csv"}, s.keys("spring/")); diff != "" {
		t.Errorf("spring/ -want +got:\n%s", diff)
	}
	folders := map[string]bool{}
	for o, err := range s.List(t.Context(), "spring") {
		s.ok(err)
		folders[o.Key] = strings.HasSuffix(o.Key, "/")
	}
	if !folders["spring/"] {
		t.Errorf("spring: got %v, want the folder spring/ too", folders)
	}
	if diff := cmp.Diff([]string{"springtime.csv"}, s.keys("spring")); diff != "" {
		t.Errorf("spring -want +got:\n%s", diff)
	}
	if _, err := s.Stat(t.Context(), "spring/a"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the begin of a key: got %v, want that it does not exist", err)
	}
	s.denied.Store(true)
	for _, err := range s.List(t.Context(), "spring/") {
		if err == nil || !strings.Contains(err.Error(), "Access Denied") {
			t.Errorf("without rights: got %v, want Access Denied", err)
		}
	}
	if _, err := s.Stat(t.Context(), "x.csv"); err == nil || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without rights: got %v, want an error that does not say that there is no file", err)
	}
}

func TestAListingThatStandsStillIsGivenUp(t *testing.T) {
	s := newStore(t)
	s.stuck.Store(true)
	s.request = 50 * time.Millisecond
	var last error
	for _, err := range s.List(t.Context(), "") {
		last = err
	}
	if !errors.Is(last, errStalled) {
		t.Errorf("got %v, want %v", last, errStalled)
	}
}

// A result that was not written is not taken for one.
func TestACreateThatFailsSaysSo(t *testing.T) {
	s := newStore(t)
	s.denied.Store(true)
	if err := s.Create(t.Context(), "done/list.csv.accepted.json", []byte("{}")); err == nil || errors.Is(err, fs.ErrExist) {
		t.Errorf("a server that refuses: got %v, want its fault", err)
	}
	s.denied.Store(false)
	if keys := s.keys("done/"); len(keys) != 0 {
		t.Errorf("got the objects %v, want none", keys)
	}
}

func TestAnUploadThatStandsStillIsGivenUp(t *testing.T) {
	s := newStore(t)
	f, err := os.Create(filepath.Join(t.TempDir(), "report.csv"))
	s.ok(err)
	defer f.Close()
	s.ok(f.Truncate(64 << 20)) // more than the buffers of a connection hold
	s.unread.Store(true)
	s.request = 200 * time.Millisecond
	if err := s.Put(t.Context(), "report.csv", f); !errors.Is(err, errUnread) {
		t.Errorf("got %v, want %v", err, errUnread)
	}
	s.unread.Store(false)
	s.ok(f.Truncate(1 << 10))
	s.ok(s.Put(t.Context(), "report.csv", f))
	if o := s.stat("report.csv"); o.Size != 1<<10 {
		t.Errorf("the next upload: got %d bytes, want all", o.Size)
	}
}

func TestAnObjectIsReadAsItWasListed(t *testing.T) {
	s := newStore(t)
	s.write("list.csv", "phone\n1\n")
	o := s.stat("list.csv")
	r, err := s.Open(t.Context(), o, 6)
	s.ok(err)
	text, err := io.ReadAll(r)
	if err = errors.Join(err, r.Close()); err != nil || string(text) != "1\n" {
		t.Errorf("from 6 on: got %q and %v, want %q", text, err, "1\n")
	}
	s.write("list.csv", "phone\n2\n")
	if _, err := s.Open(t.Context(), o, 0); !errors.Is(err, ErrChanged) {
		t.Errorf("another version: got %v, want ErrChanged", err)
	}
	s.ok(s.client.RemoveObject(t.Context(), "lists", "list.csv", minio.RemoveObjectOptions{}))
	if _, err := s.Open(t.Context(), o, 0); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no object: got %v, want that it does not exist", err)
	}
}

func TestAMovedObjectReplacesNothing(t *testing.T) {
	s := newStore(t)
	s.write("list.csv", "new list")
	s.write("done/list.csv", "old")
	o := s.stat("list.csv")
	if err := s.Move(t.Context(), o, "done/list.csv"); !errors.Is(err, fs.ErrExist) {
		t.Errorf("onto another object: got %v, want that it exists", err)
	}
	s.ok(s.Create(t.Context(), "done/list-2.csv.accepted.json", []byte("{}")))
	if err := s.Create(t.Context(), "done/list-2.csv.accepted.json", []byte("x")); !errors.Is(err, fs.ErrExist) {
		t.Errorf("create: got %v, want that it exists", err)
	}
	// The process died between the copy and the removal.
	s.write("done/list-2.csv", "new list")
	s.ok(s.Move(t.Context(), o, "done/list-2.csv"))
	if err := s.Move(t.Context(), o, "done/list-2.csv"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("again: got %v, want that it does not exist", err)
	}
	s.write("list.csv", "newer")
	if err := s.Move(t.Context(), o, "done/list-3.csv"); !errors.Is(err, ErrChanged) || s.text("list.csv") != "newer" {
		t.Errorf("a newer one: got %v and %q, want ErrChanged and newer", err, s.text("list.csv"))
	}
	if s.text("done/list.csv") != "old" || s.text("done/list-2.csv") != "new list" || s.text("done/list-2.csv.accepted.json") != "{}" {
		t.Errorf("got %q, %q and %q, want old, new list and {}", s.text("done/list.csv"), s.text("done/list-2.csv"),
			s.text("done/list-2.csv.accepted.json"))
	}
}

func TestAnObjectIsOfTheTimeOfItsUpload(t *testing.T) {
	s := newStore(t)
	before := time.Now().Add(-2 * time.Second) // a server may have whole seconds
	s.write("list.csv", "phone\n")
	if got := s.Written(s.stat("list.csv")); got.Before(before) || got.After(time.Now().Add(2*time.Second)) {
		t.Errorf("got %v, want about %v", got, time.Now())
	}
}

// Another program put an object of the same size under the name that was free a moment ago.
func TestAnObjectOfTheSameSizeIsNoCopy(t *testing.T) {
	s := newStore(t)
	s.write("list.csv", "phone\n+2348031234567\n")
	s.write("done/list.csv", "phone\n+2348031234568\n")
	o := s.stat("list.csv")
	if err := s.Move(t.Context(), o, "done/list.csv"); !errors.Is(err, fs.ErrExist) {
		t.Errorf("got %v, want that it exists", err)
	}
	if got := s.text("list.csv"); got != "phone\n+2348031234567\n" {
		t.Errorf("the list is %q after the move, want it where it was", got)
	}
}

func TestAPutReplacesAnObject(t *testing.T) {
	s := newStore(t)
	f, err := os.Create(filepath.Join(t.TempDir(), "report"))
	s.ok(err)
	defer f.Close()
	for i := range 2 {
		text := fmt.Sprint("report ", i)
		_, err := f.WriteAt([]byte(text), 0)
		s.ok(err)
		s.ok(s.Put(t.Context(), "done/list.csv.report.csv", f))
		if got := s.text("done/list.csv.report.csv"); got != text {
			t.Errorf("got %q, want %q", got, text)
		}
	}
}

// A browser shows a report, and offers to save a list that is compressed.
func TestAPutTellsTheMediaType(t *testing.T) {
	s := newStore(t)
	f, err := os.CreateTemp(t.TempDir(), "")
	s.ok(err)
	defer f.Close()
	_, err = f.WriteString("x")
	s.ok(err)
	for name, want := range map[string]string{".report.html": "text/html; charset=utf-8", ".report.json": "application/json",
		".report.csv": "text/csv", "": "application/octet-stream"} {
		key := "done/LIST.CSV.gz" + name
		s.ok(s.Put(t.Context(), key, f))
		got, err := s.client.Client.StatObject(t.Context(), s3test.Bucket, key, minio.StatObjectOptions{})
		if err != nil || got.ContentType != want {
			t.Errorf("%s: got %q and %v, want %q", key, got.ContentType, err, want)
		}
	}
}

func TestCredentialsAreThoseOfTheEnvironment(t *testing.T) {
	for _, tt := range []struct{ url, host, region string }{
		{"s3://lists?region=eu-west-1", "s3.amazonaws.com", "eu-west-1"},
		{"s3://lists", "s3.amazonaws.com", "af-south-1"},
		{"gs://lists", "storage.googleapis.com", "af-south-1"},
		{"s3://lists?endpoint=https://x.r2.cloudflarestorage.com&region=auto", "x.r2.cloudflarestorage.com", "auto"},
	} {
		t.Setenv("AWS_REGION", "af-south-1")
		t.Setenv("AWS_ACCESS_KEY_ID", "id")
		t.Setenv("AWS_SECRET_ACCESS_KEY", "hush")
		u, err := url.Parse(tt.url)
		if err != nil {
			t.Fatal(err)
		}
		b, err := OpenS3(u)
		if err != nil {
			t.Fatalf("%s: %v, want no error", tt.url, err)
		}
		v, err := b.client.GetCreds()
		if err != nil || v.AccessKeyID != "id" || v.SecretAccessKey != "hush" || !strings.HasSuffix(b.client.EndpointURL().Host, tt.host) {
			t.Errorf("%s: got %s at %s and %v, want id at %s", tt.url, v.AccessKeyID, b.client.EndpointURL(), err, tt.host)
		}
		if region, err := b.client.GetBucketLocation(context.Background(), "lists"); err != nil || region != tt.region {
			t.Errorf("%s: got the region %q and %v, want %q without a request", tt.url, region, err, tt.region)
		}
	}
}
