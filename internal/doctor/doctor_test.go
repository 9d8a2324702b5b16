package doctor

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/control"
	"campaignd/campaign/reception"
	"campaignd/internal/config"
	"campaignd/internal/ledger"
	"campaignd/internal/ledger/ledgertest"
	"campaignd/internal/ledger/sqlite"
	"campaignd/internal/schedule"
)

func TestAClockIsJudgedByItsDistance(t *testing.T) {
	for skew, want := range map[time.Duration]Health{
		0: HealthOK, -1900 * time.Millisecond: HealthOK, 2 * time.Second: HealthWarn, -59 * time.Second: HealthWarn,
		time.Minute: HealthFail, -time.Hour: HealthFail,
	} {
		if got := clockCheck("clock", "the service's", skew).Health; got != want {
			t.Errorf("%s from the service: got %s, want %s", skew, got, want)
		}
	}
	for skew, want := range map[time.Duration]string{59 * time.Second: "59s from the database server's",
		-time.Minute: "1m0s from the database server's, so no schedule fires here"} {
		if got := ledgerClock(skew).Detail; got != want {
			t.Errorf("%s from the ledger: got %q, want %q", skew, got, want)
		}
	}
	at := time.Date(2026, 11, 23, 1, 0, 0, 0, time.UTC)
	if got := skewOf(at.Add(-3*time.Second), at, at.Add(2*time.Second)); got != 4*time.Second {
		t.Errorf("read in the middle of two seconds: got %s ahead, want 4s", got)
	}
}

func TestADiskIsJudgedByItsFreeSpace(t *testing.T) {
	for free, want := range map[uint64]Check{
		64<<20 - 1: {"disk", HealthFail, "63 MiB are free in /data", "make room, or move ledger and data_dir to a larger disk"},
		64 << 20:   {"disk", HealthWarn, "64 MiB are free in /data", "make room, or move ledger and data_dir to a larger disk"},
		1<<30 - 1:  {"disk", HealthWarn, "1023 MiB are free in /data", "make room, or move ledger and data_dir to a larger disk"},
		1 << 30:    {"disk", HealthOK, "1024 MiB are free in /data", ""},
	} {
		if got := diskCheck("/data", free); got != want {
			t.Errorf("%d bytes: got %+v, want %+v", free, got, want)
		}
	}
	cfg := &config.Config{DataDir: t.TempDir(), Ledger: "sqlite:" + filepath.Join(t.TempDir(), "d.db")}
	got := checkDisks(t.Context(), cfg)
	if len(got) != 2 || !strings.HasSuffix(got[0].Detail, cfg.DataDir) && !strings.HasSuffix(got[1].Detail, cfg.DataDir) {
		t.Errorf("got %+v, want a line for each of the folders of ledger and data_dir", got)
	}
}

func TestAnEndpointMustRefuseWhatIsUnsigned(t *testing.T) {
	status := http.StatusUnauthorized
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }))
	defer s.Close()
	for _, c := range []struct {
		status int
		want   Health
	}{{401, HealthOK}, {200, HealthFail}, {404, HealthFail}, {302, HealthFail}} {
		status = c.status
		if got := reach(t.Context(), "webhooks", s.URL); got.Health != c.want {
			t.Errorf("an endpoint that answers %d: got %+v, want %s", c.status, got, c.want)
		}
	}
	if got := reach(t.Context(), "webhooks", "http://127.0.0.1:0/"); got.Health != HealthWarn {
		t.Errorf("an endpoint that does not answer: got %+v, want warn", got)
	}
}

// The doctor looks at each watched folder and for the campaign of its lists.
func TestTheDoctorLooksAtWatchedFolders(t *testing.T) {
	dir := t.TempDir()
	cfg := &config.Config{Campaigns: filepath.Join(dir, "campaigns")}
	bucket := "file://" + filepath.Join(dir, "inbox")
	want := func(about string, health Health, detail string) {
		t.Helper()
		checks := Diagnose(t.Context(), cfg)
		i := slices.IndexFunc(checks, func(c Check) bool { return c.Name == "drops" })
		if i < 0 {
			if detail != "" {
				t.Errorf("%s: got no check of drops, want %s %q", about, health, detail)
			}
			return
		}
		if got := checks[i]; got.Health != health || !strings.HasPrefix(got.Detail, detail) {
			t.Errorf("%s: got %s %q, want %s %q", about, got.Health, got.Detail, health, detail)
		}
	}
	want("no watched folder", "", "")
	cfg.Drops = []config.Drop{{Bucket: bucket, Campaign: "spring"}}
	want("no folder", HealthFail, bucket+" does not exist, so no list is taken from it")
	for _, d := range []string{"inbox", "campaigns"} {
		if err := os.Mkdir(filepath.Join(dir, d), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	want("no campaign", HealthFail, bucket+": its lists wait: no file of the folder "+cfg.Campaigns+" has the campaign spring")
	put := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put("campaigns/spring.yaml", "name: spring\nconnections: [conn_1]\ntemplate: {name: a, language: en}\nrecipients: {file: l.csv}\n")
	want("all is there", HealthOK, bucket+" can be listed, and its lists start spring")
	cfg.Drops[0].Prefix = "spring/2026-"
	want("no subfolder", HealthFail, bucket+" with prefix spring/2026- does not exist, so no list is taken from it")
	cfg.Role = config.RoleIntake
	want("an intake", "", "")
	cfg.Role = config.RoleAll
	put("file", "")
	cfg.Drops[0] = config.Drop{Bucket: "file://" + filepath.Join(dir, "file"), Campaign: "spring"}
	want("a file", HealthFail, cfg.Drops[0].Bucket+" cannot be listed: ")
}

// A schedule without a list that can be read sends nothing at its time, and one whose only time has
// passed never does. Both are said before.
func TestTheDoctorNamesSchedulesWithoutAList(t *testing.T) {
	dir := t.TempDir()
	cfg := &config.Config{Campaigns: dir, Ledger: "sqlite:" + filepath.Join(dir, "d.db")}
	put := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const head = "connections: [conn_1]\ntemplate: {name: a, language: en}\n"
	const daily, file = "schedule: {cron: '0 9 * * *'}\n", "recipients: {file: l.csv}\n"
	put("audience.yaml", "name: audience\n"+head+daily+"audience: {from: customers, consent: {field: metadata.a, values: [yes]}}\n")
	put("by-hand.yaml", "name: by-hand\n"+head+file)
	want := func(about string, want ...string) {
		t.Helper()
		var got []string
		for _, c := range checkCampaigns(t.Context(), cfg) {
			if c.Name == "schedule" {
				got = append(got, strings.ReplaceAll(c.Detail+": "+c.Remedy, dir+string(filepath.Separator), ""))
				if c.Health != HealthWarn {
					t.Errorf("%s: got %+v, want %s", about, c, HealthWarn)
				}
			}
		}
		if len(got) != len(want) {
			t.Fatalf("%s: got %q, want %d warnings", about, got, len(want))
		}
		for i := range want {
			for _, part := range strings.Split(want[i], " ... ") {
				if !strings.Contains(got[i], part) {
					t.Errorf("%s: got %q, want %q", about, got[i], want[i])
				}
			}
		}
	}
	want("an audience, and a campaign without a schedule")
	put("a.yaml", "name: a\n"+head+daily)
	put("b.yaml", "name: b\n"+head+daily+file)
	put("c.yaml", "name: c\n"+head+file+"schedule: {at: '2026-01-02T09:00'}\n")
	const noList = "a.yaml fires at ... and names no list, so nothing will be sent: set recipients.file in it, or audience"
	const past = "c.yaml: schedule.at 2026-01-02T09:00 in UTC has passed, so it never fires: give it a later time"
	want("no list", noList,
		"b.yaml fires at ... and its list l.csv cannot be used: there is no such file: put a whole list there before then", past)
	put("l.csv", "name,city\nAda,Lagos\n")
	want("a list without numbers", noList, "b.yaml fires at ... and its list l.csv cannot be used: ", past)
	put("l.csv", "phone\n+2348031234567\n")
	want("a list", noList, past)
	put("d.db", "this is no database")
	want("a ledger that cannot be read", noList)
	cfg.Role = config.RoleIntake
	want("an intake, which launches nothing")
}

// The doctor names what a clock that was ahead left in the ledger.
func TestTheDoctorNamesFiringsToCome(t *testing.T) {
	dir := t.TempDir()
	const text = "name: spring\nconnections: [conn_1]\ntemplate: {name: a, language: en}\nschedule: {cron: '0 9 * * *'}\n"
	if err := os.WriteFile(filepath.Join(dir, "spring.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	files, err := schedule.Files(dir)
	if err != nil {
		t.Fatal(err)
	}
	l, err := sqlite.Open(t.Context(), filepath.Join(dir, "d.db"), ledger.Options{Sender: true})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	now := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		key  string
		at   time.Time
		want []string
	}{
		{"now", now, nil},
		{"to come", now.AddDate(1, 0, 0), []string{"the ledger was quarantined at ", "its firing of "}},
	} {
		for _, f := range []campaign.Firing{{Campaign: "spring", Outcome: campaign.FiringMissed}, {Outcome: campaign.FiringAdded}} {
			f.Key, f.At = tt.key, tt.at
			if _, err := l.NoteFiring(t.Context(), f); err != nil {
				t.Fatal(err)
			}
		}
		got := checkAhead(t.Context(), config.Default(), l, files, now)
		if len(got) != len(tt.want) {
			t.Fatalf("%s: got %+v, want %d warnings", tt.key, got, len(tt.want))
		}
		for i, c := range got {
			if c.Health != HealthWarn || !strings.Contains(c.Detail, tt.want[i]) {
				t.Errorf("%s: got %+v, want a warning with %q", tt.key, c, tt.want[i])
			}
		}
	}
}

// The doctor names the runs that go on only when a person acts.
func TestTheDoctorNamesRunsThatWaitForAPerson(t *testing.T) {
	l, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "d.db"), ledger.Options{Sender: true})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	run := ledgertest.Load(t, l, 10)
	if got := checkRuns(t.Context(), l); got != good("runs", "1 run is unfinished, and none waits for a person") {
		t.Errorf("got %+v, want one run that waits for nobody", got)
	}
	if _, err := control.Pause(t.Context(), l, run, ""); err != nil {
		t.Fatal(err)
	}
	if _, err := l.AddHolds(t.Context(), []campaign.Hold{{Scope: campaign.HoldConnection, ID: "conn_1", Reason: "131031",
		Source: campaign.HoldByRefusal, Since: time.Now(), Latest: time.Now(), Count: 1}}); err != nil {
		t.Fatal(err)
	}
	const want = "1 run is unfinished; spring-1 is paused, connection conn_1 is held (131031)"
	if got := checkRuns(t.Context(), l); got.Health != HealthWarn || got.Detail != want {
		t.Errorf("got %+v, want a warning: %s", got, want)
	}
}

// The doctor tells of opt-outs that cannot be obeyed yet, because nobody knows the number.
func TestTheDoctorNamesOptOutsWithoutANumber(t *testing.T) {
	l, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "d.db"), ledger.Options{Sender: true})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if got := checkOptOuts(t.Context(), l); got != good("opt-outs", "none waits for the number of its person") {
		t.Errorf("got %+v, want that none waits", got)
	}
	came := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	for n, user := range []string{"US.1349", "US.1350"} {
		if _, err := l.Apply(t.Context(), campaign.Events{Wishes: []campaign.Wish{{UserID: user, Suppression: campaign.Suppression{
			Scope: campaign.ScopeMarketing, Source: "stop", At: came, ReceivedAt: came.Add(time.Duration(n) * time.Minute)}}}}); err != nil {
			t.Fatal(err)
		}
	}
	const want = "2 opt-outs or opt-ins wait for the number of their person, the oldest since 2026-03-02T12:00:00Z (of user id US.1349): " +
		"marketing to it goes on"
	if got := checkOptOuts(t.Context(), l); got.Health != HealthWarn || got.Detail != want {
		t.Errorf("got %+v, want a warning: %s", got, want)
	}
}

// The doctor tells of events that a quarantine leaves to be replayed.
func TestTheDoctorNamesEventsThatWereLost(t *testing.T) {
	l, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "d.db"), ledger.Options{Sender: true})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if got := checkLost(t.Context(), l); len(got) > 0 {
		t.Errorf("nothing was lost: got %+v, want nothing", got)
	}
	since := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	if _, err := l.Quarantine(t.Context(), 5, nil, since); err != nil {
		t.Fatal(err)
	}
	const detail = "events since 2026-03-02T12:00:00Z were lost and not replayed: opt-outs among them are not obeyed"
	if got := checkLost(t.Context(), l); len(got) != 1 || got[0].Health != HealthWarn || got[0].Detail != detail ||
		!strings.Contains(got[0].Remedy, "webhooks replay --since 2026-03-02T12:00:00Z") {
		t.Errorf("after a quarantine: got %+v, want a warning: %s", got, detail)
	}
	if err := l.NoteReplay(t.Context(), reception.Span{Since: since, Until: time.Now().Add(time.Hour)}, time.Now(), 0); err != nil {
		t.Fatal(err)
	}
	if got := checkLost(t.Context(), l); len(got) > 0 {
		t.Errorf("after the replay was asked for: got %+v, want nothing", got)
	}
}

// signed is a ledger with what it knows of signatures.
type signed struct {
	reception.SignatureLedger
	state reception.Signatures
}

func (s signed) Signatures(context.Context) (reception.Signatures, error) { return s.state, nil }

// The intake notes signatures in the ledger up to a minute late, so a run that has its first
// statuses must not read that none has come.
func TestADoctorKnowsThatSignaturesAreNotedLate(t *testing.T) {
	cfg, err := config.Load(filepath.Join(t.TempDir(), "none"), false, nil)
	if err != nil {
		t.Fatal(err)
	}
	last := map[string]time.Time{"a": time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)}
	for want, s := range map[string]reception.Signatures{
		"no event was refused, and none has been verified yet, or the first came less than a minute ago": {},
		"no event was refused lately; the last one was verified at 2026-03-02 09:00:00 UTC":              {Verified: last},
	} {
		health := HealthOK
		if s.Verified == nil {
			health = HealthUnchecked
		}
		if got := checkSignatures(t.Context(), cfg, signed{state: s}); got.Health != health || got.Detail != want {
			t.Errorf("got %+v, want %s %q", got, health, want)
		}
	}
}
