package operator_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/file"
	"campaignd/campaign/launch"
	"campaignd/internal/client/resource"
	"campaignd/internal/messaging"
	"campaignd/internal/operator"
	"campaignd/internal/uploads"
	"campaignd/throttle"
)

const spring = `name: spring
connections: [conn_1]
template: {name: a, language: en, body: ["{{ .first_name }}"], header: {image: {file: img/sale.png}}}
recipients: {file: l.csv}
`

// drafts is a process with a campaigns folder, and a draft of its campaign spring.
func drafts(t *testing.T) (*operator.Process, *operator.Session, campaign.Draft, string) {
	t.Helper()
	d, _ := session(t)
	folder := t.TempDir()
	if err := os.MkdirAll(filepath.Join(folder, "img"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "img", "sale.png"), []byte("png"), 0o600); err != nil {
		t.Fatal(err)
	}
	def, err := file.Parse("spring.yaml", []byte(spring))
	if err != nil {
		t.Fatal(err)
	}
	f := operator.File{Path: filepath.Join(folder, "spring.yaml"), Source: []byte(spring), Definition: def}
	dr, err := d.NewDraft(t.Context(), f)
	if err != nil {
		t.Fatal(err)
	}
	dr.ListName = `..\lists/my list.csv`
	p := &operator.Process{Session: *d, Log: slog.New(slog.DiscardHandler),
		Folder:  func() ([]operator.File, error) { return []operator.File{{Path: "other.yaml"}, f}, nil },
		Uploads: uploads.New(filepath.Join(t.TempDir(), "uploads"), func(context.Context) ([]campaign.Run, error) { return nil, nil })}
	if _, err := p.Uploads.Add(dr.ID, 0, strings.NewReader("phone,first_name\n+2348031234560,Nia\n")); err != nil {
		t.Fatal(err)
	}
	return p, d, dr, folder
}

func TestADraftIsItsOwnersForADay(t *testing.T) {
	_, d, dr, _ := drafts(t)
	bob, company := *d, *d
	bob.By, company.Company = "bob@desk", "comp_1"
	for name, of := range map[string]*operator.Session{"another operator": &bob, "a key of one company": &company} {
		if _, err := of.Draft(t.Context(), dr.ID); !errors.Is(err, campaign.ErrNoDraft) {
			t.Errorf("%s: got %v, want %v", name, err, campaign.ErrNoDraft)
		}
	}
	if _, err := company.NewDraft(t.Context(), operator.File{}); !errors.Is(err, operator.ErrForbidden) {
		t.Errorf("a draft of a key of one company: got %v, want %v", err, operator.ErrForbidden)
	}
	sent, old := campaign.Draft{ID: "sent", Owner: d.By, Source: []byte(spring), Run: "spring-1", CreatedAt: time.Now()},
		campaign.Draft{ID: "old", Owner: d.By, Source: []byte(spring), CreatedAt: time.Now().Add(-24 * time.Hour)}
	for _, one := range []campaign.Draft{sent, old} {
		if err := d.Ledger.AddDraft(t.Context(), one, time.Time{}, 100); err != nil {
			t.Fatal(err)
		}
	}
	if err := d.ChangeDraft(t.Context(), sent); err != nil {
		t.Fatal(err)
	}
	if open, err := d.Drafts(t.Context()); err != nil || len(open) != 1 || open[0].ID != dr.ID {
		t.Errorf("got the open drafts %+v (%v), want %s alone", open, err, dr.ID)
	}
	if _, err := d.Draft(t.Context(), "old"); !errors.Is(err, campaign.ErrNoDraft) {
		t.Errorf("a draft of yesterday: got %v, want %v", err, campaign.ErrNoDraft)
	}
	if got, err := d.Draft(t.Context(), dr.ID); err != nil || string(got.Source) != spring || got.Campaign != "spring" {
		t.Errorf("got %+v (%v), want the draft", got, err)
	}
}

func TestAnOperatorHasAHundredDrafts(t *testing.T) {
	_, d, first, _ := drafts(t)
	def, err := file.Parse("spring.yaml", []byte(spring))
	if err != nil {
		t.Fatal(err)
	}
	for range 100 {
		if _, err := d.NewDraft(t.Context(), operator.File{Source: []byte(spring), Definition: def}); err != nil {
			t.Fatal(err)
		}
	}
	if open, err := d.Drafts(t.Context()); err != nil || len(open) != 100 {
		t.Errorf("got %d drafts (%v), want 100", len(open), err)
	}
	if _, err := d.Draft(t.Context(), first.ID); !errors.Is(err, campaign.ErrNoDraft) {
		t.Errorf("the oldest of 101: got %v, want %v", err, campaign.ErrNoDraft)
	}
}

// The folder has the campaign, its header and its list, and goes when it is ended.
func TestADraftIsPreparedWhole(t *testing.T) {
	p, _, dr, folder := drafts(t)
	x, err := p.Prepare(t.Context(), dr)
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Dir(x.File.Path)
	for path, want := range map[string]string{x.File.Path: spring, filepath.Join(dir, "img", "sale.png"): "png",
		x.List: "phone,first_name\n+2348031234560,Nia\n"} {
		if got, err := os.ReadFile(path); err != nil || string(got) != want {
			t.Errorf("%s: got %q (%v), want %q", filepath.Base(path), got, err, want)
		}
	}
	if filepath.Dir(x.List) != dir {
		t.Errorf("got the list %s, want it in the folder %s", x.List, dir)
	}
	if s, err := x.Sample(t.Context(), 0); err != nil || s.To != "+2348031234560" {
		t.Errorf("got the sample %+v (%v), want that of the first row", s, err)
	}
	x.End()
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("after the end: got %v, want no folder", err)
	}
	if err := os.Remove(filepath.Join(folder, "img", "sale.png")); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Prepare(t.Context(), dr); !errors.Is(err, operator.ErrInvalid) || !strings.Contains(fmt.Sprint(err), "img/sale.png") {
		t.Errorf("without the header file: got %v, want that it cannot be read", err)
	}
	dr.Campaign = "gone"
	if _, err := p.Prepare(t.Context(), dr); !errors.Is(err, operator.ErrInvalid) || !strings.Contains(fmt.Sprint(err), "no longer in") {
		t.Errorf("a campaign that left the folder: got %v, want that", err)
	}
	if left, err := os.ReadDir(p.Uploads.Dir()); err != nil || len(left) != 1 {
		t.Errorf("after failures: got %d entries (%v), want the list alone", len(left), err)
	}
}

func TestADraftWithoutItsListIsAFault(t *testing.T) {
	p, _, dr, _ := drafts(t)
	if err := p.Uploads.Remove(dr.ID); err != nil {
		t.Fatal(err)
	}
	var fault *uploads.Fault
	if _, err := p.Prepare(t.Context(), dr); !errors.As(err, &fault) || fault.Kind != uploads.NotFound {
		t.Errorf("got %v, want a fault of the kind %v", err, uploads.NotFound)
	}
}

func TestACheckOfADraftNamesNoFolder(t *testing.T) {
	p, _, dr, _ := drafts(t)
	p.Check = func(_ context.Context, f operator.File, list string) (*launch.Preflight, error) {
		return &launch.Preflight{Findings: []file.Finding{{Where: f.Path, What: "of " + list, Remedy: "mend " + f.Path}},
			Launch: &launch.Check{Sentence: list + " was sent"}}, nil
	}
	x, err := p.Prepare(t.Context(), dr)
	if err != nil {
		t.Fatal(err)
	}
	defer x.End()
	found, err := x.Check(t.Context())
	if text := fmt.Sprintf("%+v %+v", found.Findings, found.Launch); err != nil || strings.Contains(text, filepath.Dir(x.List)) {
		t.Errorf("got %s (%v), want no folder of the server", text, err)
	}
}

// The id of the draft is the idempotency key, and its run stays in the draft.
func TestADraftIsLaunchedUnderItsID(t *testing.T) {
	p, d, dr, _ := drafts(t)
	var keys []string
	p.Launch = func(_ context.Context, u operator.Upload) (resource.Launched, error) {
		list := u.List
		keys = append(keys, fmt.Sprint(u.Idempotency, " ", u.Draft == u.Idempotency, " ", u.Another, " ", u.By))
		_, err := os.Stat(list)
		return resource.Launched{Run: resource.LaunchedRun{ID: "spring-7"}, Warnings: []string{"see " + list}}, err
	}
	x, err := p.Prepare(t.Context(), dr)
	if err != nil {
		t.Fatal(err)
	}
	defer x.End()
	out, err := x.Launch(t.Context(), d, operator.Upload{Another: true})
	if want := dr.ID + " true true ann@desk"; err != nil || strings.Join(keys, "; ") != want {
		t.Errorf("got the launches %q (%v), want %q", keys, err, want)
	}
	if strings.Contains(out.Warnings[0], filepath.Dir(x.List)) {
		t.Errorf("got %q, want no folder of the server", out.Warnings)
	}
	if got, err := d.Draft(t.Context(), dr.ID); err != nil || got.Run != "spring-7" {
		t.Errorf("got the run %q (%v), want spring-7", got.Run, err)
	}
	if log, err := d.Actions(t.Context(), campaign.ActionFilter{Limit: 1}); err != nil || log[0].What != "launch" || log[0].On != "spring-7" {
		t.Errorf("got the actions %+v (%v), want the launch", log, err)
	}
	if _, err := p.Uploads.Look(dr.ID); err == nil {
		t.Error("after the launch: got the list, want it removed")
	}
}

// The draft of a launch is removed while its list is imported. The launch has succeeded all the
// same.
func TestALaunchWhoseDraftIsGoneHasSucceeded(t *testing.T) {
	p, d, dr, _ := drafts(t)
	p.Launch = func(ctx context.Context, u operator.Upload) (resource.Launched, error) {
		err := d.Ledger.AddDraft(ctx, campaign.Draft{ID: "later", Source: []byte{}, CreatedAt: time.Now()}, time.Now().Add(time.Hour), 1)
		return resource.Launched{Run: resource.LaunchedRun{ID: "spring-7"}}, err
	}
	x, err := p.Prepare(t.Context(), dr)
	if err != nil {
		t.Fatal(err)
	}
	defer x.End()
	out, err := x.Launch(t.Context(), d, operator.Upload{})
	if err != nil || out.Run.ID != "spring-7" {
		t.Errorf("got %+v and %v, want the run", out, err)
	}
	if _, err := d.Ledger.Draft(t.Context(), dr.ID); !errors.Is(err, campaign.ErrNoDraft) {
		t.Errorf("the draft: got %v, want it removed during the launch", err)
	}
}

// tester counts the messages that it sends.
type tester struct {
	launch.Tester
	sent []string
}

func (s *tester) Templates(context.Context, string) ([]messaging.TemplateRecord, error) {
	return nil, messaging.ErrNotOffered
}

func (s *tester) Send(_ context.Context, m *messaging.Message) (messaging.Receipt, error) {
	s.sent = append(s.sent, m.To)
	return messaging.Receipt{}, nil
}

func TestATestMessageObeysSuppressions(t *testing.T) {
	p, d, dr, _ := drafts(t)
	if _, err := d.AddSuppressions(t.Context(), []string{"+2348031234599"}, campaign.ScopeAll); err != nil {
		t.Fatal(err)
	}
	dr.Source = []byte(strings.Replace(spring, ", header: {image: {file: img/sale.png}}", "", 1))
	x, err := p.Prepare(t.Context(), dr)
	if err != nil {
		t.Fatal(err)
	}
	defer x.End()
	if _, _, err := x.SendTest(t.Context(), d, 0, "+2348031234561"); !errors.Is(err, operator.ErrInvalid) {
		t.Errorf("without a service: got %v, want %v", err, operator.ErrInvalid)
	}
	service := &tester{}
	p.Messages = service
	p.Turn = launch.Turn{Limiter: throttle.NewLocal(), Pace: func(string) float64 { return 68 },
		Origin: func(string) campaign.Origin { return campaign.Origin{} }}
	if _, err := d.Erase(t.Context(), "+2348031234598"); err != nil {
		t.Fatal(err)
	}
	for _, to := range []string{"+2348031234599", "+234 803 123 4599", "+234-803-123-4599", "+2348031234598", "+234 8031234598"} {
		_, _, err := x.SendTest(t.Context(), d, 0, to)
		if !errors.Is(err, operator.ErrInvalid) || !strings.Contains(err.Error(), "suppression list") || len(service.sent) > 0 {
			t.Errorf("to %s, which is suppressed or erased: got %v and the messages %v, want that it is suppressed", to, err, service.sent)
		}
	}
	s, _, err := x.SendTest(t.Context(), d, 0, "+2348031234561")
	if err != nil || s.Row != 1 || fmt.Sprint(service.sent) != "[+2348031234561]" {
		t.Errorf("got %+v (%v) and the messages %v, want one to the number", s, err, service.sent)
	}
	log, err := d.Actions(t.Context(), campaign.ActionFilter{Limit: 1})
	if err != nil || log[0].What != "test message" || strings.Contains(fmt.Sprintf("%+v", log[0]), "234561") {
		t.Errorf("got the actions %+v (%v), want a test message without its number", log, err)
	}
}
