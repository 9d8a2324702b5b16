package console

import (
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// moving are the parts of a page that are others each time, with what stands for them.
var moving = []struct {
	part *regexp.Regexp
	as   string
}{
	{regexp.MustCompile(`<time datetime="[^"]*"([^>]*)>[^<]*</time>`), `<time$1>TIME</time>`},
	{regexp.MustCompile(`\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?[.\d]*( UTC|Z)`), `TIME`},
	{regexp.MustCompile(`(\d+ [A-Z][a-z]{2}(&nbsp;| )?(\d{4})?, )?\d\d:\d\d UTC`), `TIME`},
	{regexp.MustCompile(`\b[0-9a-f]{64}\b`), `DRAFT`},
	{regexp.MustCompile(`\.[0-9a-f]{16}\.`), `.HASH.`},
	{regexp.MustCompile(`(<code>|value="|key |small">)[0-9a-f]{8}\b`), `${1}KEY`},
}

// lines ends a line behind what a person reads as one, so that a difference is short.
var lines = strings.NewReplacer("</section>", "</section>\n", "</tr>", "</tr>\n", "</li>", "</li>\n", "</form>", "</form>\n")

// bounded reports whether a page is without what took too long for it on a busy machine.
func bounded(page, text string) bool {
	return page == "person" && strings.Contains(text, "/console/person?after=") ||
		page == "overview" && strings.Count(text, `<span class="count`) < 2
}

// The HTML of each page equals its file in testdata. A change of a template shows there.
func TestPagesReadAsBefore(t *testing.T) {
	w := newWorld(t)
	w.courses.slowest = time.Hour
	seen := map[string]bool{}
	for i := range w.routes {
		r := &w.routes[i]
		if r.method != http.MethodGet || r.page == "" || seen[r.page] {
			continue
		}
		seen[r.page] = true
		got := w.request(w.address(r.path)+"?to=%2B2348031234560", "admin", nil)
		for bounded(r.page, got.Body.String()) {
			got = w.request(w.address(r.path)+"?to=%2B2348031234560", "admin", nil)
		}
		text := got.Body.String()
		if r.page != "overview" { // it has the layout for all
			_, text, _ = strings.Cut(text, "<main")
		}
		for _, m := range moving {
			text = m.part.ReplaceAllString(text, m.as)
		}
		path := filepath.Join("testdata", r.page+".html")
		text = lines.Replace(text)
		if os.Getenv("UPDATE_GOLDEN") != "" {
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil || string(want) != text {
			had, has := strings.SplitAfter(string(want), "\n"), strings.SplitAfter(text, "\n")
			n := 0
			for n < min(len(had), len(has))-1 && had[n] == has[n] {
				n++
			}
			t.Errorf("%s (%v), line %d: got %d %s\nwant %s\nUPDATE_GOLDEN=1 writes it", path, err, n+1, got.Code, has[n], had[n])
		}
	}
}
