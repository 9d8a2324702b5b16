package drops

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"campaignd/campaign"
	"campaignd/internal/drops/s3test"
)

// copies is a server of two objects that have the same text and two ETags, as an object that was
// uploaded in parts and its copy. It denies removals, and counts reads.
func copies(reads *atomic.Int64) http.Handler {
	const text = "phone\n+2348031234567\n"
	tags := map[string]string{"list.csv": "parts-2", "done/list.csv": "whole"}
	written := time.Date(2026, 3, 9, 12, 0, 0, 0, time.UTC)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		key := strings.TrimPrefix(r.URL.Path, "/"+s3test.Bucket+"/")
		switch {
		case r.Method == http.MethodDelete:
			w.WriteHeader(http.StatusForbidden)
			_, _ = io.WriteString(w, "<Error><Code>AccessDenied</Code><Message>Access Denied.</Message></Error>")
		case r.URL.Query().Has("prefix"):
			key = r.URL.Query().Get("prefix")
			_, _ = fmt.Fprintf(w, "<ListBucketResult><Contents><Key>%s</Key><LastModified>%s</LastModified><ETag>%s</ETag><Size>%d</Size>"+
				"</Contents></ListBucketResult>", key, written.Format(time.RFC3339), tags[key], len(text))
		default:
			reads.Add(1)
			w.Header().Set("ETag", `"`+tags[key]+`"`)
			w.Header().Set("Last-Modified", written.Format(http.TimeFormat))
			_, _ = io.WriteString(w, text)
		}
	})
}

// Removals may be denied for days. The objects, of up to 4 GiB, are read once.
func TestADeniedRemovalReadsTheListOnce(t *testing.T) {
	var reads atomic.Int64
	server := httptest.NewServer(copies(&reads))
	defer server.Close()
	b := &S3{client: *s3test.Client(t, server), bucket: s3test.Bucket, request: s3Request}
	o, err := b.Stat(t.Context(), "list.csv")
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if err := b.Move(t.Context(), o, "done/list.csv"); err == nil || !strings.Contains(err.Error(), "Access Denied") {
			t.Errorf("got %v, want Access Denied", err)
		}
	}
	if n := reads.Load(); n != 2 {
		t.Errorf("three tries read %d objects, want both once", n)
	}
}

// pinned is a bucket that moves nothing while denied.
type pinned struct {
	Bucket
	denied *atomic.Bool
	moves  *atomic.Int64
}

func (b pinned) Move(ctx context.Context, o Object, to string) error {
	if b.moves.Add(1); b.denied.Load() {
		return errFault
	}
	return b.Bucket.Move(ctx, o, to)
}

// The messages of a list that cannot be moved are sent, so its reports are written.
func TestAListThatCannotBeMovedHasItsReports(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		var denied atomic.Bool
		var moves atomic.Int64
		denied.Store(true)
		o := w.watcher("a").o
		o.Rules[0].Bucket = pinned{o.Rules[0].Bucket, &denied, &moves}
		w.put("list.csv", list(1, 1))
		stop := w.running(New(o))
		defer stop()
		time.Sleep(time.Hour)
		f := w.dropped()["list.csv"]
		if f.State != campaign.DropLaunched || f.Detail != "move to done/list.csv: "+errFault.Error() {
			t.Errorf("got %s, %q, want it launched, and why it is not moved", f.State, f.Detail)
		}
		if w.text("done/list.csv"+reportJSON) == "" || w.text("done/list.csv"+reportCSV) == "" {
			t.Errorf("got %v, want the reports", w.files())
		}
		if !strings.Contains(w.waiting()["list.csv"], "launched as spring-1") || len(w.launched) != 1 {
			t.Errorf("got waiting %v and %d runs, want that it was launched, once", w.waiting(), len(w.launched))
		}
		if n := moves.Load(); n > 80 {
			t.Errorf("it was tried to move %d times in an hour, want at most 80", n)
		}
		denied.Store(false)
		time.Sleep(10 * time.Minute)
		if f := w.dropped()["list.csv"]; f.State != campaign.DropLaunched || f.Detail != "" || w.text("done/list.csv") != list(1, 1) {
			t.Errorf("with the right: got %s, %q and %v, want the list in done/", f.State, f.Detail, w.files())
		}
	})
}
