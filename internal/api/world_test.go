package api

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"

	"campaignd/campaign"
	"campaignd/campaign/file"
	"campaignd/campaign/launch"
	"campaignd/campaign/plan"
	"campaignd/internal/client/resource"
	"campaignd/internal/operator"
	"campaignd/internal/uploads"
	"campaignd/throttle"
)

// world is a server with two runs, one of each of two companies, and a key of each scope.
type world struct {
	*Server
	session *operator.Session
	keys    map[string]string // by scope, and of one company: other
}

func newWorld(t testing.TB) *world {
	t.Helper()
	d := session(t)
	d.Origins = func(context.Context, []campaign.Hold) func(string) campaign.Origin {
		return func(connection string) campaign.Origin {
			return campaign.Origin{Connection: connection, Company: "comp_" + strings.TrimPrefix(connection, "conn_")}
		}
	}
	d.Service = &fakeService{connections: []string{"conn_1", "conn_2"}}
	w := &world{session: d, keys: map[string]string{}}
	for _, scope := range []string{"read", "operate", "admin"} {
		w.key(t, scope, scope, "")
	}
	w.key(t, "other", "operate", "comp_2")
	for i := range 2 {
		file := strings.ReplaceAll("name: spring\nconnections: [conn_N]\ntemplate: {name: a, language: en}\n", "N", fmt.Sprint(i+1))
		run, err := d.Ledger.CreateRun(t.Context(), campaign.Run{Campaign: "spring", ListHash: fmt.Sprint(i), ListName: "list.csv",
			Definition: []byte(file), Header: []string{"phone"}, Wanted: campaign.WantRun})
		if err != nil {
			t.Fatal(err)
		}
		var rows []campaign.Delivery
		for seq := range int64(40) {
			number := 2348031234567 + seq
			rows = append(rows, campaign.Delivery{Run: run.No, Seq: seq, Row: seq + 2, Key: number, To: fmt.Sprintf("+%d", number),
				Cells: []string{fmt.Sprint(number)}})
		}
		if err := d.Ledger.AppendRows(t.Context(), run.No, 0, rows, []campaign.Segment{{Run: run.No, Hi: 40}}); err != nil {
			t.Fatal(err)
		}
		if err := d.Ledger.FinishImport(t.Context(), run.No, 40, campaign.Ready); err != nil {
			t.Fatal(err)
		}
		f, _, err := d.Ledger.ClaimFile(t.Context(), campaign.DroppedFile{Bucket: "file:inbox", Key: fmt.Sprint(i), Campaign: "spring"})
		if err != nil {
			t.Fatal(err)
		}
		f.State, f.Run = campaign.DropLaunched, run.No
		if err := d.Ledger.UpdateFile(t.Context(), f); err != nil {
			t.Fatal(err)
		}
	}
	// A hold that has ended, for a notification.
	if _, err := d.AddHold(t.Context(), resource.HoldRequest{Scope: campaign.HoldConnection, ID: "conn_9"}); err != nil {
		t.Fatal(err)
	}
	if _, err := d.LiftHolds(t.Context(), resource.LiftRequest{Scope: campaign.HoldConnection, ID: "conn_9"}); err != nil {
		t.Fatal(err)
	}
	s, err := New(t.Context(), operator.Process{
		Version: "test", Session: *d, Guard: operator.NewGuard("", d.Ledger),
		Uploads: uploads.New(filepath.Join(t.TempDir(), "uploads"), func(context.Context) ([]campaign.Run, error) { return nil, nil }),
		Log:     slog.New(slog.DiscardHandler),
		Launch: func(context.Context, operator.Upload) (resource.Launched, error) {
			return resource.Launched{Run: resource.LaunchedRun{ID: "spring-1"}}, nil
		},
		Forecast: func(context.Context, campaign.Run) (plan.Forecast, error) { return plan.Forecast{}, nil },
		Folder:   w.folder,
		Check: func(_ context.Context, f operator.File, list string) (*launch.Preflight, error) {
			return &launch.Preflight{Campaign: f.Definition.Name, List: list, Sendable: 1,
				Findings: []file.Finding{{Level: file.LevelWarning, Where: f.Path + ":3", What: list + " is short"}}}, nil
		},
		Foresee: func(context.Context, operator.File, *launch.Preflight) (plan.Forecast, error) {
			return plan.Forecast{}, nil
		},
		Messages: tester{}, Turn: launch.Turn{Limiter: throttle.NewLocal(), Pace: func(string) float64 { return 68 },
			Origin: func(string) campaign.Origin { return campaign.Origin{} }},
		Numbers: func(context.Context) ([]resource.Number, error) {
			return []resource.Number{{Connection: "conn_1"}}, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	w.Server = s
	return w
}

// folder has a campaign of each company, with a schedule, and a file that cannot be read.
func (w *world) folder() (files []operator.File, err error) {
	for _, n := range []string{"1", "2"} {
		def, err := file.Parse("spring.yaml", []byte("name: spring-"+n+"\nconnections: [conn_"+n+"]\n"+
			"template: {name: a, language: en}\nschedule: {cron: \"0 9 * * MON\", timezone: UTC}\n"))
		if err != nil {
			return nil, err
		}
		cron, err := plan.CronOf("spring.yaml", nil, def)
		if err != nil {
			return nil, err
		}
		files = append(files, operator.File{Path: "spring-" + n + ".yaml", Definition: def, Cron: cron})
	}
	return append(files, operator.File{Path: "broken.yaml", Findings: []file.Finding{{Level: file.LevelError, What: "broken"}}}), nil
}

func (w *world) key(t testing.TB, name, scope, company string) {
	t.Helper()
	k, err := w.session.CreateKey(t.Context(), name, scope, company, "")
	if err != nil {
		t.Fatal(err)
	}
	w.keys[name] = k.Secret
}

// ask sends a request with a key of the world; "" is none.
func (w *world) ask(t testing.TB, method, path, key, body string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequest(method, path, strings.NewReader(body)).WithContext(t.Context())
	r.RemoteAddr = fmt.Sprintf("192.0.2.%d:1", len(path+key)) // so that wrong keys do not use up one address
	if key != "" {
		r.Header.Set("Authorization", "Bearer "+w.keys[key])
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
		if !strings.ContainsAny(body[:1], "{[") {
			r.Header.Set("Content-Type", "text/csv")
		}
	}
	out := httptest.NewRecorder()
	w.ServeHTTP(out, r)
	if id := out.Header().Get("X-Request-Id"); id == "" {
		t.Errorf("%s %s: got no x-request-id, want one", method, path)
	}
	return out
}

// large sends a body that is longer than any route takes. The header has its length, and no server
// reads it.
func (w *world) large(t testing.TB, d documented, path string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequest(d.method, path, strings.NewReader("to\n"))
	r.ContentLength = 1 << 40
	r.Header.Set("Authorization", "Bearer "+w.keys["admin"])
	r.Header.Set("Content-Type", "text/csv")
	out := httptest.NewRecorder()
	w.ServeHTTP(out, r)
	return out
}

// wantError checks that an answer is a failure in the form of the API.
func wantError(t testing.TB, what string, got *httptest.ResponseRecorder, status int, code string) {
	t.Helper()
	var e Error
	if err := json.Unmarshal(got.Body.Bytes(), &e); err != nil || got.Code != status || e.Code != code || e.Message == "" {
		t.Errorf("%s: got %d %s, want %d %s with a message", what, got.Code, got.Body, status, code)
	}
}

// documented is one operation of the document.
type documented struct {
	method, path string
	op           *huma.Operation
}

func (w *world) documented() (all []documented) {
	for path, item := range w.api.OpenAPI().Paths {
		for method, op := range map[string]*huma.Operation{"GET": item.Get, "POST": item.Post, "PATCH": item.Patch, "PUT": item.Put,
			"DELETE": item.Delete} {
			if op != nil {
				all = append(all, documented{method, path, op})
			}
		}
	}
	last := func(d documented) string { return d.path + strings.ReplaceAll(d.method, "DELETE", "X") } // what is removed is read before
	slices.SortFunc(all, func(a, b documented) int { return strings.Compare(last(a), last(b)) })
	return all
}

// listWithRows is the hash of a list whose head can be read.
var listWithRows = strings.Repeat("0", 64)

// filled is the path with the examples of its parameters, for a run.
func (d documented) filled(run string) string {
	path, query := strings.NewReplacer("{run}", run, "{campaign}", run, "{key}", "00000000", "{file}", "1", "{notification}", "1",
		"{connection}", "conn_1", "{hash}/head", listWithRows+"/head", "{hash}", exampleUpload.Hash,
		"{number}", "+2348031234567").Replace(d.path), ""
	for _, p := range d.op.Parameters {
		if p.In == "query" && p.Required {
			query += "&" + p.Name + "=" + strings.ReplaceAll(fmt.Sprint(p.Schema.Examples[0]), "+", "%2B")
		}
	}
	return strings.TrimSuffix(path+"?"+strings.TrimPrefix(query, "&"), "?")
}

// body is the example of the request in the document; "" for an upload in parts.
func (d documented) body(t testing.TB) string {
	t.Helper()
	if d.op.RequestBody == nil {
		return ""
	}
	if csv := d.op.RequestBody.Content["text/csv"]; csv != nil {
		return fmt.Sprint(csv.Example)
	}
	if d.op.RequestBody.Content["application/json"] == nil {
		return ""
	}
	text, err := json.Marshal(d.op.RequestBody.Content["application/json"].Example)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
