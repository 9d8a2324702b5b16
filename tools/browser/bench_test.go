package browser

import (
	"compress/gzip"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

var (
	benchRows  = flag.Int("rows", 0, "measure the pages of the console with a run of so many rows while it sends")
	benchTimes = flag.Int("times", 100, "how often each page is asked for")
	benchEvery = flag.Duration("every", 0, "the time between two requests; from 1s on, none shares what another has read")
)

// The most of each page: docs/performance.md has what was measured. A run of more than 1,000,000
// rows has a bound for the median alone.
const (
	mostMedian = 50 * time.Millisecond
	most99     = 150 * time.Millisecond
	mostLarge  = 100 * time.Millisecond
	firstVisit = 80_000 // bytes on the wire, with the style, the script and the font
	laterVisit = 25_000
)

// wire is a client that counts bytes as they come: compressed, if the server compresses.
func (s *served) wire(client *http.Client, path string) (n int64, lasted time.Duration, text string) {
	s.t.Helper()
	r, err := http.NewRequest(http.MethodGet, s.console+path, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("Accept-Encoding", "gzip")
	began := time.Now()
	got, err := client.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer got.Body.Close()
	body, err := io.ReadAll(got.Body)
	if lasted = time.Since(began); err != nil || got.StatusCode != http.StatusOK {
		s.t.Fatalf("%s: got %d (%v), want 200", path, got.StatusCode, err)
	}
	n, text = int64(len(body)), string(body)
	if got.Header.Get("Content-Encoding") == "gzip" {
		z, err := gzip.NewReader(strings.NewReader(text))
		if err != nil {
			s.t.Fatal(err)
		}
		plain, err := io.ReadAll(z)
		if err != nil {
			s.t.Fatal(err)
		}
		text = string(plain)
	}
	return n, lasted, text
}

// TestPagesAreQuickWhileARunSends measures the pages; `make bench-console` asks for it.
func TestPagesAreQuickWhileARunSends(t *testing.T) {
	if *benchRows == 0 {
		return
	}
	s := serve(t, false)
	s.write("campaigns/winter.yaml", strings.Replace(winter, "approval: true", "approval: false", 1)+"limits: {rate: 50}\n")
	list, err := os.Create(s.path("list.csv"))
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(list, "phone,first_name,discount,slug")
	for i := range *benchRows {
		fmt.Fprintf(list, "+234803%07d,Nia,15 %%,s%d\n", i, i)
	}
	if err := list.Close(); err != nil {
		t.Fatal(err)
	}
	s.run("launch", s.path("campaigns/winter.yaml"), "--recipients", s.path("list.csv"))
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Jar: insecure{jar}}
	got, err := client.PostForm(s.console+"/console/sign-in", url.Values{"key": {s.key("ann", "admin")}})
	if err != nil || got.StatusCode != http.StatusOK {
		t.Fatalf("signing in: got %v (%v)", got, err)
	}
	_, _, first := s.wire(client, "/console/overview")
	assets := int64(0)
	for _, part := range strings.Split(first, `"`) {
		if strings.HasPrefix(part, "/console/assets/") && !strings.Contains(first[:strings.Index(first, part)], `"`+part+`"`) {
			n, _, _ := s.wire(client, part)
			assets += n
		}
	}
	for _, path := range []string{"/console/overview", "/console/runs", "/console/runs/winter-1", "/console/runs/winter-1/deliveries",
		"/console/runs/winter-1/deliveries?status=accepted", "/console/schedules", "/console/drops", "/console/person?to=%2B2348030000001",
		"/console/suppressions", "/console/numbers", "/console/numbers/conn_1", "/console/holds", "/console/notifications", "/console/keys",
		"/console/log", "/console/new"} {
		var took []time.Duration
		var size int64
		for range *benchTimes {
			n, lasted, _ := s.wire(client, path)
			size, took = max(size, n), append(took, lasted)
			time.Sleep(*benchEvery)
		}
		slices.Sort(took)
		median, p99 := took[len(took)/2], took[(len(took)*99+99)/100-1]
		t.Logf("%-52s median %6.1f ms, 99 %% %6.1f ms, %6d bytes, first visit %6d", path,
			1000*median.Seconds(), 1000*p99.Seconds(), size, size+assets)
		switch large := *benchRows > 1_000_000; {
		case large && median > mostLarge:
			t.Errorf("%s: got a median of %v, want %v", path, median, mostLarge)
		case !large && (median > mostMedian || p99 > most99):
			t.Errorf("%s: got a median of %v and 99 %% within %v, want %v and %v", path, median, p99, mostMedian, most99)
		}
		if size > laterVisit || size+assets > firstVisit {
			t.Errorf("%s: got %d bytes, and %d on a first visit, want at most %d and %d", path, size, size+assets, laterVisit, firstVisit)
		}
	}
}

// insecure keeps cookies that are for TLS alone also on a loopback address, as Chromium does.
type insecure struct{ http.CookieJar }

func (j insecure) SetCookies(u *url.URL, cookies []*http.Cookie) {
	for _, c := range cookies {
		c.Secure = false
	}
	j.CookieJar.SetCookies(u, cookies)
}
