package browser

import (
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

var (
	benchViewers = flag.Int("viewers", 0, "compare how long runs are sent without and with so many viewers")
	benchRounds  = flag.Int("rounds", 5, "how many runs are sent without viewers, and with them")
	benchEach    = flag.Int("each", 20_000, "how many rows each of these runs has")
)

// mostSlower is how much longer a run may take that is watched.
const mostSlower = 0.02

// sending is what one run took.
type sending struct {
	lasted time.Duration
	cpu    time.Duration // of serve, without that of the viewers
	events int64         // the bytes that its viewers read
}

// TestViewersSlowNoRunDown sends runs, every other one with viewers, and compares the medians of
// their times, and of the processor time of serve; docs/performance.md asks for it.
func TestViewersSlowNoRunDown(t *testing.T) {
	if *benchViewers == 0 {
		return
	}
	s := serve(t, false)
	s.write("campaigns/winter.yaml", strings.Replace(winter, "approval: true", "approval: false", 1))
	key := s.key("ann", "operate")
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Jar: insecure{jar}, Transport: &http.Transport{MaxConnsPerHost: 0}}
	got, err := client.PostForm(s.console+"/console/sign-in", url.Values{"key": {key}})
	if err != nil || got.StatusCode != http.StatusOK {
		t.Fatalf("signing in: got %v (%v)", got, err)
	}
	var took [2][]sending
	for round := range 2 * *benchRounds {
		viewers := round % 2 * *benchViewers
		one := s.watched(client, key, round, viewers)
		took[round%2] = append(took[round%2], one)
		t.Logf("run %2d: %3d viewers, %7.3f s, serve used %6.2f s of CPU, %d bytes of events, %.0f a viewer and second", round+1, viewers,
			one.lasted.Seconds(), one.cpu.Seconds(), one.events, float64(one.events)/float64(max(1, viewers))/one.lasted.Seconds())
	}
	median := func(of func(sending) time.Duration) (without, with float64) {
		var all [2]float64
		for i, runs := range took {
			slices.SortFunc(runs, func(a, b sending) int { return cmp.Compare(of(a), of(b)) })
			all[i] = of(runs[len(runs)/2]).Seconds()
		}
		return all[0], all[1]
	}
	without, with := median(func(s sending) time.Duration { return s.cpu })
	t.Logf("median CPU of serve without viewers %.2f s, with %d viewers %.2f s: %+.1f %%", without, *benchViewers, with, 100*(with/without-1))
	without, with = median(func(s sending) time.Duration { return s.lasted })
	t.Logf("median time without viewers %.3f s, with %d viewers %.3f s: %+.1f %%", without, *benchViewers, with, 100*(with/without-1))
	if with > without*(1+mostSlower) {
		t.Errorf("got %.3f s with viewers, want at most %.0f %% more than %.3f s", with, 100*mostSlower, without)
	}
}

// cpu is the processor time that serve has used.
func (s *served) cpu() time.Duration {
	s.t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.process.Process.Pid))
	if err != nil {
		s.t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(text), ") ") // behind the name; then utime and stime are fields 12 and 13
	fields, ticks := strings.Fields(after), 0
	for _, f := range fields[11:13] {
		n, err := strconv.Atoi(f)
		if err != nil {
			s.t.Fatal(err)
		}
		ticks += n
	}
	return time.Duration(ticks) * time.Second / 100 // Linux counts 100 a second
}

// watched sends a run with viewers.
func (s *served) watched(client *http.Client, key string, round, viewers int) (one sending) {
	s.t.Helper()
	list, err := os.Create(s.path("list.csv"))
	if err != nil {
		s.t.Fatal(err)
	}
	fmt.Fprintln(list, "phone,first_name,discount,slug")
	for i := range *benchEach {
		fmt.Fprintf(list, "+234803%07d,Nia,15 %%,s%d\n", round**benchEach+i, i)
	}
	if err := list.Close(); err != nil {
		s.t.Fatal(err)
	}
	used := s.cpu()
	s.run("launch", s.path("campaigns/winter.yaml"), "--recipients", s.path("list.csv"))
	run := fmt.Sprint("winter-", round+1)
	ctx, leave := context.WithCancel(s.t.Context())
	var all sync.WaitGroup
	var read sync.Mutex
	for range viewers {
		all.Go(func() {
			r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.console+"/console/runs/"+run+"/live", nil)
			if err != nil {
				return
			}
			got, err := client.Do(r)
			if err != nil {
				s.t.Errorf("a viewer: %v", err)
				return
			}
			defer got.Body.Close()
			n, _ := io.Copy(io.Discard, got.Body) // until the run has ended
			read.Lock()
			defer read.Unlock()
			one.events += n
		})
	}
	began, ended := s.ends(key, run)
	one.cpu = s.cpu() - used
	leave()
	all.Wait()
	one.lasted = ended.Sub(began)
	return one
}

// ends waits for the end of a run, and returns when it was launched and when it ended.
func (s *served) ends(key, run string) (began, ended time.Time) {
	s.t.Helper()
	for tick := time.NewTicker(250 * time.Millisecond); ; <-tick.C {
		r, err := http.NewRequest(http.MethodGet, s.console+"/api/v1/runs/"+run, nil)
		if err != nil {
			s.t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+key)
		got, err := http.DefaultClient.Do(r)
		if err != nil {
			s.t.Fatal(err)
		}
		var answer struct {
			Data struct {
				CreatedAt time.Time `json:"created_at"`
				EndedAt   time.Time `json:"ended_at"`
			} `json:"data"`
		}
		err = json.NewDecoder(got.Body).Decode(&answer)
		_ = got.Body.Close()
		if err != nil || got.StatusCode != http.StatusOK {
			s.t.Fatalf("%s: got %d (%v)", run, got.StatusCode, err)
		}
		if !answer.Data.EndedAt.IsZero() {
			return answer.Data.CreatedAt, answer.Data.EndedAt
		}
	}
}
