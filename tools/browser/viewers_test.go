package browser

import (
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

// TestViewersSlowNoRunDown sends runs, every other one with viewers, and compares the medians of
// their times; `make bench-viewers` asks for it.
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
	took := [2][]time.Duration{}
	for round := range 2 * *benchRounds {
		lasted, events := s.watched(client, key, round, round%2**benchViewers)
		took[round%2] = append(took[round%2], lasted)
		t.Logf("run %2d: %3d viewers, %7.3f s, %d bytes of events", round+1, round%2**benchViewers, lasted.Seconds(), events)
	}
	for _, all := range took {
		slices.Sort(all)
	}
	without, with := took[0][*benchRounds/2].Seconds(), took[1][*benchRounds/2].Seconds()
	t.Logf("median without viewers %.3f s, with %d viewers %.3f s: %+.1f %%", without, *benchViewers, with, 100*(with/without-1))
	if with > without*(1+mostSlower) {
		t.Errorf("got %.3f s with viewers, want at most %.0f %% more than %.3f s", with, 100*mostSlower, without)
	}
}

// watched sends a run with viewers, and returns how long it lasted and what they read.
func (s *served) watched(client *http.Client, key string, round, viewers int) (lasted time.Duration, events int64) {
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
			n, _ := io.Copy(io.Discard, got.Body) // it ends when the run has ended
			read.Lock()
			defer read.Unlock()
			events += n
		})
	}
	began, ended := s.ends(key, run)
	leave()
	all.Wait()
	return ended.Sub(began), events
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
