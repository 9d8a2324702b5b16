package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"campaignd/campaign"
	"campaignd/campaign/file"
	"campaignd/campaign/launch"
	"campaignd/internal/api"
	"campaignd/internal/client"
	"campaignd/internal/client/resource"
	"campaignd/internal/ledger"
	"campaignd/internal/ledger/sqlite"
	"campaignd/internal/ledger/sqlite/sqlitetest"
	"campaignd/internal/operator"
	"campaignd/internal/uploads"
)

const campaignFile = "name: spring\nconnections: [conn_1]\ntemplate: {name: a, language: en}\n"

// fixture is a served API whose launches are recorded.
type fixture struct {
	client.Access
	dir      string
	log      bytes.Buffer
	ledger   *sqlite.Ledger
	runs     []campaign.Run
	launched [][2]string // campaign and list, as they were at the launch
	lists    []string    // their paths
	fault    error
	ended    bool
	hold     chan struct{} // a launch waits for it if it is not nil
	begun    chan struct{}
	after    func() // called at the end of a launch, if it is not nil
	asked    func() // called after the unfinished runs were read, if it is not nil
}

func serve(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{dir: filepath.Join(t.TempDir(), "uploads"), begun: make(chan struct{}, 10)}
	f.Access = client.NewAccess("")
	l := sqlitetest.Open(t, ledger.Options{})
	f.ledger = l
	var mu sync.Mutex // launches at once
	s, err := api.New(t.Context(), operator.Process{
		Session: operator.Session{Ledger: l},
		Guard:   operator.NewGuard(f.Key, l), Log: slog.New(slog.NewTextHandler(&f.log, nil)),
		Uploads: uploads.New(f.dir, func(context.Context) ([]campaign.Run, error) {
			runs := f.runs
			if do := f.asked; do != nil {
				f.asked = nil
				do()
			}
			return runs, nil
		}),
		Launch: func(_ context.Context, u operator.Upload) (resource.Launched, error) {
			f.begun <- struct{}{}
			if f.hold != nil {
				<-f.hold
			}
			if f.fault != nil {
				return resource.Launched{}, f.fault
			}
			mu.Lock()
			defer mu.Unlock()
			a, errA := os.ReadFile(u.Campaign)
			b, errB := os.ReadFile(u.List)
			f.launched, f.lists = append(f.launched, [2]string{string(a), string(b)}), append(f.lists, u.List)
			if f.after != nil {
				f.after()
			}
			run := campaign.Run{No: 1, Campaign: "spring", State: campaign.Ready}
			out := resource.Launched{Run: resource.LaunchedRunOf(run), Resumed: u.Another, Ended: f.ended}
			return out, errors.Join(errA, errB)
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	f.URL = server.URL
	return f
}

func (f *fixture) Launch(ctx context.Context, l client.Launch) (resource.Launched, error) {
	c, err := f.Client()
	if err != nil {
		return resource.Launched{}, err
	}
	return c.Launch(ctx, l)
}

func put(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func (f *fixture) left(t *testing.T) []string {
	t.Helper()
	left, err := filepath.Glob(filepath.Join(f.dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	return left
}

func TestAnUploadArrivesAndLeavesNothing(t *testing.T) {
	f := serve(t)
	list := "phone\n" + strings.Repeat("+2348031234567\n", 200_000)
	got, err := f.Launch(t.Context(), client.Launch{Campaign: put(t, "c.yaml", campaignFile), List: put(t, "my list.csv", list)})
	if err != nil || got.Run.ID != "spring-1" || got.Resumed {
		t.Fatalf("got %+v and %v, want spring-1, new", got, err)
	}
	if f.launched[0] != [2]string{campaignFile, list} {
		t.Errorf("got %d and %d bytes, want the files of %d and %d", len(f.launched[0][0]), len(f.launched[0][1]), len(campaignFile), len(list))
	}
	if left := f.left(t); len(left) > 0 {
		t.Errorf("got the uploads %v, want none", left)
	}
}

// A list that an interrupted import still needs is kept, also over a restart.
func TestTheUploadOfAnUnfinishedRunIsKept(t *testing.T) {
	f := serve(t)
	for _, name := range []string{"upload-1", "upload-2", "other"} {
		if err := os.MkdirAll(filepath.Join(f.dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	o := operator.Process{Uploads: uploads.New(f.dir, func(context.Context) ([]campaign.Run, error) {
		return []campaign.Run{{ListName: filepath.Join(f.dir, "upload-2", "list-l.csv")}}, nil
	})}
	if _, err := api.New(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	want := filepath.Join(f.dir, "other") + " " + filepath.Join(f.dir, "upload-2")
	if got := strings.Join(f.left(t), " "); got != want {
		t.Errorf("got the uploads %s, want %s", got, want)
	}
}

// part is one part of a request.
type part struct{ field, name, text string }

// Another upload may end, and read the unfinished runs, before the run of this upload is known.
func TestAnUploadThatEndsMeanwhileIsKept(t *testing.T) {
	f := serve(t)
	launch := func() {
		request := client.Launch{Campaign: put(t, "c.yaml", campaignFile), List: put(t, "l.csv", "phone\n")}
		if _, err := f.Launch(t.Context(), request); err != nil {
			t.Error(err)
		}
	}
	f.asked = func() { // the second upload begins and ends here
		f.after = func() { f.runs = []campaign.Run{{No: 2, Campaign: "spring", ListName: f.lists[1]}} }
		launch()
	}
	launch()
	if left := f.left(t); len(left) != 1 || left[0] != filepath.Dir(f.lists[1]) {
		t.Errorf("got the uploads %v, want that of %s", left, f.lists[1])
	}
}

// The run is launched. If the answer said that it is not, its caller would launch it again.
func TestALaunchSucceedsWithoutItsTraces(t *testing.T) {
	f := serve(t)
	f.after = func() {
		if err := errors.Join(os.Remove(f.lists[0]), f.ledger.Close()); err != nil {
			t.Error(err)
		}
	}
	got, err := f.Launch(t.Context(), client.Launch{Campaign: put(t, "c.yaml", campaignFile), List: put(t, "l.csv", "phone\n")})
	if err != nil || got.Run.ID != "spring-1" || len(got.Warnings) != 1 {
		t.Errorf("got %+v and %v, want spring-1 with a warning that the log of actions lacks it", got, err)
	}
	if log := f.log.String(); strings.Count(log, "level=") != 4 || !strings.Contains(log, "run=spring-1 rows=0 list=l.csv") {
		t.Errorf("got the log\n%swant the launch, the file and the log of actions", log)
	}
}

func TestARunThatHadEndedIsNoLaunchInTheLog(t *testing.T) {
	f := serve(t)
	f.ended = true
	got, err := f.Launch(t.Context(), client.Launch{Campaign: put(t, "c.yaml", campaignFile), List: put(t, "l.csv", "phone\n")})
	actions, errActions := f.ledger.Actions(t.Context(), campaign.ActionFilter{Limit: 10})
	if err := errors.Join(err, errActions); err != nil || !got.Ended || f.log.Len() > 0 || len(actions) > 0 {
		t.Errorf("got %+v, %v, the log %q and %d actions; want an ended run and neither", got, err, f.log.String(), len(actions))
	}
}

func (f *fixture) post(t *testing.T, key, path string, parts ...part) (int, api.Error) {
	t.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	for _, p := range parts {
		w, err := form.CreateFormFile(p.field, p.name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, p.text); err != nil {
			t.Fatal(err)
		}
	}
	if err := form.Close(); err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, f.URL+path, &body)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", key)
	req.Header.Set("Content-Type", form.FormDataContentType())
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var e api.Error
	if err := json.NewDecoder(res.Body).Decode(&e); err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, e
}

func TestAFaultyRequestHasItsCodeAndStoresNothing(t *testing.T) {
	f := serve(t)
	good, list := part{"campaign", "c.yaml", campaignFile}, part{"list", "l.csv", "phone\n"}
	header := func(file string) part {
		return part{"campaign", "c.yaml", strings.Replace(campaignFile, "language: en", "language: en, header: {image: {file: "+file+"}}", 1)}
	}
	const runs = "/api/v1/runs"
	for _, tt := range []struct {
		name, key, path string
		parts           []part
		status          int
		code            string
	}{
		{"no key", "", runs, []part{good, list}, 401, "unauthorized"},
		{"another key", "Bearer " + strings.Repeat("0", 64), runs, []part{good, list}, 401, "unauthorized"},
		{"the key without its scheme", f.Key, runs, []part{good, list}, 401, "unauthorized"},
		{"another route", "Bearer " + f.Key, "/api/v1/else", nil, 404, "not_found"},
		{"new that is no word", "Bearer " + f.Key, runs + "?new=1", []part{good, list}, 400, "invalid_request"},
		{"no part", "Bearer " + f.Key, runs, nil, 400, "invalid_request"},
		{"no list", "Bearer " + f.Key, runs, []part{good}, 400, "invalid_request"},
		{"the list first", "Bearer " + f.Key, runs, []part{list, good}, 400, "invalid_request"},
		{"a faulty campaign", "Bearer " + f.Key, runs, []part{{"campaign", "c.yaml", "nme: x\n"}, list}, 422, "invalid_campaign"},
		{"a campaign that is too long", "Bearer " + f.Key, runs,
			[]part{{"campaign", "c.yaml", strings.Repeat("#", file.MaxSize+1)}, list}, 413, "too_large"},
		{"a header outside", "Bearer " + f.Key, runs, []part{header("../b.png"), {"header", "b.png", "x"}, list}, 422, "invalid_campaign"},
		{"a header at a path", "Bearer " + f.Key, runs, []part{header("/etc/passwd"), {"header", "b.png", "x"}, list}, 422, "invalid_campaign"},
		{"a header that is the campaign", "Bearer " + f.Key, runs, []part{header("campaign-c.yaml"), {"header", "b.png", "x"}, list}, 422,
			"invalid_campaign"},
		{"no header", "Bearer " + f.Key, runs, []part{header("b.png"), list}, 400, "invalid_request"},
	} {
		status, e := f.post(t, tt.key, tt.path, tt.parts...)
		if status != tt.status || e.Code != tt.code || e.Message == "" || strings.Contains(e.Message, f.dir) {
			t.Errorf("%s: got %d %+v, want %d %s with a message without the folder of uploads", tt.name, status, e, tt.status, tt.code)
		}
	}
	if left := f.left(t); len(f.launched) > 0 || len(left) > 0 {
		t.Errorf("got %d launches and the uploads %v, want none", len(f.launched), left)
	}
	// A name that leads elsewhere becomes a plain one.
	if status, e := f.post(t, "Bearer "+f.Key, runs, part{"campaign", "../../c.yaml", campaignFile}, part{"list", "..",
		"phone\n"}); status != 201 {
		t.Errorf("names with a path: got %d %+v, want 201", status, e)
	}
}

func TestTwoUploadsAtMostAreUnderWay(t *testing.T) {
	f := serve(t)
	f.hold = make(chan struct{})
	file, list := put(t, "c.yaml", campaignFile), put(t, "l.csv", "phone\n")
	ended := make(chan error, 2)
	for range 2 {
		go func() {
			_, err := f.Launch(context.WithoutCancel(t.Context()), client.Launch{Campaign: file, List: list, New: true})
			ended <- err
		}()
		<-f.begun
	}
	var e *client.Error
	once, stop := context.WithCancel(t.Context())
	defer stop()
	third := client.Launch{Campaign: file, List: list, Waits: func(*client.Error) { stop() }}
	if _, err := f.Launch(once, third); !errors.As(err, &e) || e.Code != "busy" || e.Invalid() {
		t.Errorf("a third upload: got %v, want busy, which may be tried again", err)
	}
	f.fault = &launch.UnfinishedError{Run: campaign.Run{No: 7, Campaign: "spring"}}
	close(f.hold)
	for range 2 {
		if err := <-ended; !errors.As(err, &e) || e.Code != "unfinished_run" || e.Meta["run"] != "spring-7" || !e.Invalid() {
			t.Errorf("an unfinished run: got %v, want unfinished_run of spring-7", err)
		}
	}
}

// Forty launches in a script need no loop of their own.
func TestALaunchWaitsForItsTurn(t *testing.T) {
	f := serve(t)
	f.hold = make(chan struct{})
	file, list := put(t, "c.yaml", campaignFile), put(t, "l.csv", "phone\n")
	var waited sync.Once
	ended := make(chan error, 5)
	for range cap(ended) {
		go func() {
			waits := func(*client.Error) { waited.Do(func() { close(f.hold) }) }
			_, err := f.Launch(context.WithoutCancel(t.Context()), client.Launch{Campaign: file, List: list, New: true, Waits: waits})
			ended <- err
		}()
	}
	for range cap(ended) {
		if err := <-ended; err != nil {
			t.Errorf("got %v, want that each launch has its turn", err)
		}
	}
	if got := len(f.begun); got != cap(ended) {
		t.Errorf("%d launches began, want each of %d once", got, cap(ended))
	}
}
