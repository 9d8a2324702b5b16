//go:build mutants && s3

package drops

import (
	"errors"
	"io/fs"
	"strings"
	"testing"

	"github.com/minio/minio-go/v7"

	"campaignd/internal/drops/s3test"
)

// newSigned starts a server that checks signatures: versitygw, which the flag -versitygw names.
func newSigned(t *testing.T) *store {
	t.Helper()
	if !s3test.Signed() {
		t.Fatal("got no -versitygw, want the path of versitygw (make s3)")
	}
	return newStore(t)
}

// A wrong secret is told as such, and says nothing about a file.
func TestAServerChecksSignatures(t *testing.T) {
	s := newSigned(t)
	s.write("list.csv", "phone\n")
	o := s.stat("list.csv")
	for _, credential := range [][]string{{s3test.Key, "another secret"}, {"another key", s3test.Secret}} {
		wrong := &S3{client: *s3test.Client(t, s.server, credential...), bucket: s3test.Bucket, request: s3Request}
		_, stat := wrong.Stat(t.Context(), o.Key)
		_, open := wrong.Open(t.Context(), o, 0)
		var list error
		for _, list = range wrong.List(t.Context(), "") {
		}
		for call, err := range map[string]error{"stat": stat, "open": open, "list": list,
			"create": wrong.Create(t.Context(), "new.json", []byte("{}")), "move": wrong.Move(t.Context(), o, "done/list.csv")} {
			if err == nil || errors.Is(err, fs.ErrNotExist) || errors.Is(err, ErrChanged) {
				t.Errorf("%s with %s: got %v, want that the server refuses the credentials", call, credential, err)
			}
		}
	}
	if keys := s.keys(""); len(keys) != 1 || s.text("list.csv") != "phone\n" {
		t.Errorf("got the objects %v, want list.csv alone", keys)
	}
}

// An object that was uploaded in parts has another ETag than its copy. A move that died between the
// copy and the removal knows its copy by the content.
func TestAnObjectOfPartsIsMoved(t *testing.T) {
	s := newSigned(t)
	text := strings.Repeat("+2348031234567\n", 400_000) // 6 MB: a part has at least 5
	_, err := s.client.Client.PutObject(t.Context(), s3test.Bucket, "list.csv", strings.NewReader(text), int64(len(text)),
		minio.PutObjectOptions{PartSize: 5 << 20})
	s.ok(err)
	s.write("done/list.csv", text)
	s.write("done/other.csv", strings.Replace(text, "7", "8", 1))
	o := s.stat("list.csv")
	if there := s.stat("done/list.csv"); o.contentTag() == there.contentTag() || o.Size != there.Size {
		t.Fatalf("got %+v and %+v, want two ETags and one size", o, there)
	}
	if err := s.Move(t.Context(), o, "done/other.csv"); !errors.Is(err, fs.ErrExist) {
		t.Errorf("onto another object: got %v, want that it exists", err)
	}
	s.ok(s.Move(t.Context(), o, "done/list.csv"))
	if s.text("list.csv") != "" || s.text("done/list.csv") != text {
		t.Error("the list is not at its place alone, want it there")
	}
}
