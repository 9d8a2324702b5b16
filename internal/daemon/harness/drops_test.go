//go:build mutants

package harness

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
)

var dropKills = flag.Int("drop-kills", 8, "number of processes that are killed while files are dropped")

// A folder and a bucket get a file before each kill. In the end each list has one run, its results
// are complete, and nobody was sent to twice.
func TestDroppedFilesSurviveKills(t *testing.T) {
	t.Parallel()
	draw := rand.New(rand.NewPCG(*seed, 0x64726f7073)) // "drops"
	w := newWorld(t, standard, nil)
	back := s3mem.New()
	if err := back.CreateBucket("lists"); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(gofakes3.New(back).Server())
	t.Cleanup(server.Close)
	w.campaign("inbox", "newsletter", nil)
	w.campaign("bucket", "newsletter", nil)
	for _, name := range []string{"inbox", "bucket"} {
		if err := os.Rename(w.path(name+".yaml"), w.path("campaigns/"+name+".yaml")); err != nil {
			t.Fatal(err)
		}
	}
	w.env = append(w.env, "AWS_ACCESS_KEY_ID=id", "AWS_SECRET_ACCESS_KEY=secret", fmt.Sprintf(
		"CAMPAIGND_DROPS=[{bucket: 'file:in', campaign: inbox}, {bucket: 's3://lists?endpoint=%s', prefix: in/, campaign: bucket}]", server.URL))
	if err := os.Mkdir(w.path("in"), 0o700); err != nil {
		t.Fatal(err)
	}

	rows := 0
	lists := map[string]int{} // rows of each
	drop := func(i int) {
		for _, place := range []string{"in", "s3"} {
			var text strings.Builder
			text.WriteString("phone\n")
			name, n := fmt.Sprintf("%s%d.csv", place, i), 20+draw.IntN(100)
			for range n {
				fmt.Fprintln(&text, phoneOf(rows))
				rows++
			}
			lists[name] = n
			if place == "in" {
				w.write("in/."+name, text.String())
				if err := os.Rename(w.path("in/."+name), w.path("in/"+name)); err != nil {
					t.Fatal(err)
				}
				continue
			}
			written := map[string]string{"Last-Modified": time.Now().UTC().Format(http.TimeFormat)}
			if _, err := back.PutObject("lists", "in/"+name, written, strings.NewReader(text.String()), int64(text.Len()), nil); err != nil {
				t.Fatal(err)
			}
		}
	}
	for i := range *dropKills {
		p := w.serve()
		w.answering(p)
		drop(i)
		time.Sleep(time.Duration(draw.Int64N(int64(3 * time.Second))))
		if i%3 == 2 {
			drop(100 + i)
		}
		if !p.kill() {
			t.Fatalf("%s ended by itself, want that it runs until its kill: %s", p, tail(p.stderr.String(), 20))
		}
	}
	p := w.serve()
	read := func(name, suffix string) ([]byte, error) {
		if strings.HasPrefix(name, "in") {
			return os.ReadFile(w.path("in/done/" + name + suffix))
		}
		o, err := back.GetObject("lists", "in/done/"+name+suffix, nil)
		if err != nil {
			return nil, err
		}
		text, err := io.ReadAll(o.Contents)
		return text, errors.Join(err, o.Contents.Close())
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	reports := map[string]struct {
		Rows   int
		Run    struct{ ID, State string }
		Totals map[string]int
	}{}
	for name, n := range lists {
		for {
			r := reports[name]
			text, err := read(name, ".report.json")
			if err == nil {
				err = json.Unmarshal(text, &r)
			}
			if reports[name] = r; err == nil && r.Run.State == "finished" && r.Totals["queued"] == 0 {
				break
			}
			select {
			case <-ctx.Done():
				_, out := w.ask("drops")
				t.Fatalf("%s: got %s and %v, want the report of a finished run\n%s\n%s", name, text, err, out, tail(p.stderr.String(), 20))
			case <-time.After(100 * time.Millisecond):
			}
		}
		if got := reports[name].Rows; got != n {
			t.Errorf("%s: the report has %d rows, want %d", name, got, n)
		}
		if text, err := read(name, ".report.csv"); err != nil || bytes.Count(text, []byte("\n")) != n+1 {
			t.Errorf("%s: report.csv has %d lines (%v), want %d", name, bytes.Count(text, []byte("\n")), err, n+1)
		}
		if text, err := read(name, ""); err != nil || bytes.Count(text, []byte("\n")) != n+1 {
			t.Errorf("%s: the moved file has %d lines (%v), want %d", name, bytes.Count(text, []byte("\n")), err, n+1)
		}
	}
	if code := w.stop(p); code != 0 {
		t.Errorf("serve: exit code %d, want 0", code)
	}

	var runs []struct{ ID, List string }
	if _, out := w.ask("runs", "-o", "json"); json.Unmarshal([]byte(out), &runs) != nil || len(runs) != len(lists) {
		t.Errorf("got %d runs, want one for each of %d lists:\n%s", len(runs), len(lists), out)
	}
	if found := twice(w.sent("newsletter")); len(found) > 0 {
		t.Errorf("got %s, want nobody twice", report(found))
	}
	left, err := fs.Glob(os.DirFS(w.path("in")), "*.*")
	if err != nil || len(left) > 0 {
		t.Errorf("the folder still has %v (%v), want nothing", left, err)
	}
	if spooled, err := os.ReadDir(w.path("campaignd.db.drops")); err != nil || len(spooled) > 0 {
		t.Errorf("the spool still has %v (%v), want nothing", spooled, err)
	}
	t.Logf("%d kills, %d files, %d rows, %d messages", *dropKills, len(lists), rows, len(w.sent("newsletter")))
}
