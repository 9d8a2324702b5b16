package launch_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"campaignd/campaign"
	"campaignd/campaign/file"
	"campaignd/campaign/launch"
	"campaignd/internal/messaging"
	"campaignd/recipients"
)

func whats(all []file.Finding) (out []string) {
	for _, f := range all {
		if !strings.Contains(f.What, "US numbers") {
			out = append(out, f.What)
		}
	}
	return out
}

// Each kind of medium that expires, and the campaigns in which that matters.
func TestMediaThatExpireGetAWarning(t *testing.T) {
	const schedule, window, limit = "schedule: {cron: '@daily'}\n", "window: {hours: '09:00-18:00'}\n", "limits: {not_after: 48h}\n"
	const recurs = "template.header.image.assetId: the service deletes an asset 30 days after its upload, and this campaign recurs"
	const late = "template.header.image.assetId: the service deletes an asset 30 days after its upload; sends after that are refused"
	for name, c := range map[string]struct {
		medium, more string
		want         []string
	}{
		"an asset": {"assetId: ast_1", "", nil}, "and a schedule": {"assetId: ast_1", schedule, []string{recurs}},
		"and both":     {"assetId: ast_1", schedule + window, []string{recurs}},
		"and a window": {"assetId: ast_1", window, []string{late}}, "and a window until": {"assetId: ast_1", window + limit, nil},
		"and a limit": {"assetId: ast_1", limit, nil},
		"an id": {"id: '1'", "",
			[]string{"template.header.image.id: the platform keeps a media id for 30 days (7 when it came from a webhook)"}},
		"an id and a schedule": {"id: '1'", schedule,
			[]string{"template.header.image.id: the platform keeps a media id for 30 days (7 when it came from a webhook)"}},
		"a link": {"link: 'https://a/b.png'", "",
			[]string{"template.header.image.link: the platform fetches a link by itself while sending, which is slower and may fail (131053)"}},
	} {
		p := preflight(t, springInput(t, strings.Replace(springFile, "assetId: ast_1", c.medium, 1)+c.more, springList))
		if diff := cmp.Diff(c.want, whats(p.Findings)); diff != "" {
			t.Errorf("%s: findings -want +got:\n%s", name, diff)
		}
	}
}

// Without a pace from the service the default is assumed, and the check says so.
func TestAnAssumedPaceIsSaid(t *testing.T) {
	in := springInput(t, springFile, springList)
	a := service()
	a.numbers = a.numbers[:1]
	in.Service = a
	const assumed = "connections[1]: the service does not tell the throughput of conn_2: 80 messages per second (STANDARD) are assumed"
	if got := whats(preflight(t, in).Warnings()); !slices.Contains(got, assumed) {
		t.Errorf("warnings %q, want %q", got, assumed)
	}
	in.Rate = func(string) float64 { return 20 }
	if got := whats(preflight(t, in).Warnings()); slices.Contains(got, assumed) {
		t.Errorf("warnings %q, want none of a rate that is configured", got)
	}
}

// Preflight shows the connection and the number as the service describes them.
func TestConnectionsAreShownAsTheServiceTells(t *testing.T) {
	in := springInput(t, springFile, springList)
	a := service()
	a.numbers[0].Phone, a.numbers[1].Phone = "+1", "+2348031234501" // conn_1 keeps its own phone
	a.connections[1].Phone = ""
	in.Service = a
	p := preflight(t, in)
	want := []launch.ConnectionCheck{
		{ID: "conn_1", Phone: "+234 803 123 4599", Quality: "GREEN", Tier: "TIER_2K", Throughput: 80, Pace: p.Connections[0].Pace},
		{ID: "conn_2", Phone: "+2348031234501", Quality: "GREEN", Coexistence: true, Pace: p.Connections[1].Pace},
	}
	if diff := cmp.Diff(want, p.Connections); diff != "" {
		t.Errorf("connections -want +got:\n%s", diff)
	}
	if diff := cmp.Diff([]int64{2348031234599, 2348031234501}, p.Senders); diff != "" {
		t.Errorf("senders -want +got:\n%s", diff)
	}
	in = springInput(t, springFile, springList)
	for conn2, pace := range map[float64]float64{0: 12.6, 10: 6.3} { // 6.3 = 10 x 0.70 x 0.90
		in.Rate = func(id string) float64 { return map[string]float64{"conn_1": 10, "conn_2": conn2}[id] } // x 0.95 x 0.90
		if p := preflight(t, in); math.Abs(p.Connections[0].Pace-8.55) > 1e-9 || math.Abs(p.Connections[1].Pace-pace) > 1e-9 {
			t.Errorf("pace of %+v, want the configured 8.55 and %v of a coexistence number", p.Connections, pace)
		}
	}
	for status, warned := range map[string]bool{"": false, "active": false, "CONNECTED": false, "Enabled": false, "live": false,
		"ok": false, "PENDING": true} {
		a := service()
		a.connections[1].Status = status
		in := springInput(t, springFile, springList)
		in.Service = a
		if got, want := whats(preflight(t, in).Findings),
			"connections[1]: the service says that this connection is "+strings.ToLower(status); (len(got) == 1 &&
			got[0] == want) != warned || !warned && len(got) != 0 {
			t.Errorf("status %q: got %q, want a warning: %v", status, got, warned)
		}
	}
	for n, want := range map[int]string{
		0: "it reaches none; check service.api_key",
		1: "it reaches account-00",
		12: "it reaches account-00, account-01, account-02, account-03, account-04, account-05, account-06, account-07, account-08, " +
			"account-09, account-10, account-11",
		13: "it reaches account-00, account-01, account-02, account-03, account-04, account-05, account-06, account-07, account-08, " +
			"account-09, account-10, account-11 and 1 more",
	} {
		a := service()
		a.connections = nil
		for i := range n {
			a.connections = append(a.connections, messaging.Connection{ID: fmt.Sprintf("account-%02d", i)})
		}
		in := springInput(t, springFile, springList)
		in.Service = a
		if got := preflight(t, in).Warnings(); len(got) == 0 || got[0].Remedy != want {
			t.Errorf("%d connections: got %v, want %s", n, got, want)
		}
	}
	utility := service() // a template that is marketing in one account counts as marketing
	utility.templates["conn_1"][0].Category = "UTILITY"
	in = springInput(t, springFile, springList)
	in.Service = utility
	if p := preflight(t, in); p.Category != "MARKETING" || !p.Marketing || p.Template != &utility.templates["conn_1"][0] {
		t.Errorf("category = %s, marketing %v, template %+v, want MARKETING and the first", p.Category, p.Marketing, p.Template)
	}
	utility.templates["conn_1"][0].Category, utility.templates["conn_2"][0].Category = "MARKETING", "UTILITY"
	if p := preflight(t, in); p.Category != "MARKETING" {
		t.Errorf("category = %s, want MARKETING", p.Category)
	}
}

// Five rows of each reason are shown, or as many as are asked for. Progress is reported after each
// thousand.
func TestAPreflightShowsTheFirstRowsOfEachReason(t *testing.T) {
	for ask, want := range map[int]int{0: 5, 3: 3, 6: 6, 9: 7} {
		in := springInput(t, minimal+"recipients: {validate: possible}\n", "to\n"+strings.Repeat("x\n", 7)+"+2348031234501\n")
		in.Service, in.Examples = nil, ask
		p := preflight(t, in)
		if len(p.Examples) != want || p.Examples[0].To != "x" || p.Examples[0].Row != 1 || p.Examples[0].Line != 2 {
			t.Errorf("%d asked for: got %+v, want %d from row 1 on line 2", ask, p.Examples, want)
		}
		for i, e := range p.Examples {
			if whole := len(e.Cells) == 1 && e.Cells[0] == "x"; whole != (i < launch.FewExamples) {
				t.Errorf("%d asked for: got the cells %q of example %d, want cells in the first five alone", ask, e.Cells, i+1)
			}
		}
	}
	for rows, want := range map[int][]int64{999: {999}, 1000: {1000, 1000}, 1001: {1000, 1001}} {
		var got []int64
		in := springInput(t, minimal+"recipients: {validate: possible}\n", "to\n"+strings.Repeat("x\n", rows))
		in.Service, in.Progress = nil, func(n int64) { got = append(got, n) }
		preflight(t, in)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%d rows: progress -want +got:\n%s", rows, diff)
		}
	}
}

// The largest header file of each kind, and one with a byte more.
func TestAHeaderFileIsHeldToItsKind(t *testing.T) {
	dir := t.TempDir()
	const ftyp, zip, ole = "\x00\x00\x00\x18ftyp", "PK\x03\x04", "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
	const office = "application/vnd.openxmlformats-officedocument."
	for _, c := range []struct {
		kind, name, head string
		size             int64
		want             string // content type, or the error after the path
	}{
		{"image", "a.png", "\x89PNG\r\n\x1a\n", 5 << 20, "image/png"},
		{"image", "b.png", "\x89PNG\r\n\x1a\n", 5<<20 + 1, ": has 5.0 MB; the platform takes at most 5 MB of a header of type image"},
		{"video", "a.mp4", ftyp + "isom", 16 << 20, "video/mp4"},
		{"video", "b.mp4", ftyp + "isom", 16<<20 + 1, ": has 16.0 MB; the platform takes at most 16 MB of a header of type video"},
		{"document", "a.pdf", "%PDF-1.7", 100 << 20, "application/pdf"},
		{"document", "b.pdf", "%PDF-1.7", 100<<20 + 1, ": has 100.0 MB; the platform takes at most 100 MB of a header of type document"},
		{"video", "c.3gpp", ftyp + "3gp4", 0, "video/3gpp"}, {"video", "d.mp4", ftyp + "isom", 0, "video/mp4"},
		{"video", "e.mp4", ftyp + "iso", 0, ": its content is application/octet-stream; a header of type video takes .3gp, .mp4"},
		{"document", "a.doc", ole, 0, "application/msword"}, {"document", "a.ppt", ole, 0, "application/vnd.ms-powerpoint"},
		{"document", "a.xlsx", zip, 0, office + "spreadsheetml.sheet"}, {"document", "a.pptx", zip, 0, office + "presentationml.presentation"},
		{"document", "b.doc", zip, 0, ": its content is application/zip; " +
			"a header of type document takes .doc, .docx, .pdf, .ppt, .pptx, .txt, .xls, .xlsx"},
		{"document", "b.docx", ole, 0, ": its content is application/octet-stream; a header of type document takes"},
		{"document", "c.pdf", "hello", 0,
			": its content is text/plain, but its name does not end in .txt; the platform refuses a file whose name and content differ (131053)"},
	} {
		path := overwrite(t, filepath.Join(dir, c.name), c.head)
		if c.size > 0 {
			if err := os.Truncate(path, c.size); err != nil {
				t.Fatal(err)
			}
		}
		got, err := file.CheckMedia(c.kind, dir, c.name)
		if err != nil {
			got += strings.TrimPrefix(err.Error(), path)
		}
		if err == nil && got != c.want || !strings.HasPrefix(got, c.want) {
			t.Errorf("%s\ngot  %s, %v\nwant %s", c.name, got, err, c.want)
		}
	}
	if err := errors.Join(os.WriteFile(filepath.Join(filepath.Dir(dir), "passwd"), []byte("root:x:0:0"), 0o600),
		os.Symlink("../passwd", filepath.Join(dir, "link.txt")), os.Symlink("/etc/passwd", filepath.Join(dir, "absolute.txt"))); err != nil {
		t.Fatal(err)
	}
	const outside = "is not in the folder of the campaign file or below it"
	for path, want := range map[string]string{".": "is not a file", "a.png/x": "not a directory", "none": "there is no such file",
		"link.txt": outside, "absolute.txt": outside, "../passwd": outside, "/etc/passwd": outside} {
		if got, err := file.CheckMedia("document", dir, path); err == nil || got != "" || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %q, %v, want %s", path, got, err, want)
		}
	}
	if got := file.Beside("/c/a.yaml", "/x/b"); got != "/x/b" {
		t.Errorf("beside = %s, want /x/b", got)
	}
	if got := file.Beside("/c/a.yaml", ""); got != "" {
		t.Errorf("beside = %q, want nothing", got)
	}
}

// refusing is a suppression list that fails one call, counted from 1.
type refusing struct {
	launch.KeyLedger
	*fuse
}

func (r refusing) SuppressedKeys(context.Context, []int64, bool, []string, time.Time) (map[int64]campaign.SkipReason, error) {
	return nil, r.call("SuppressedKeys")
}

// The suppression list is asked for a thousand rows at a time, and not for rows that are skipped
// anyway. An error of any call is returned.
func TestAnErrorOfTheSuppressionListIsReturned(t *testing.T) {
	const header = "phone,first_name,discount,slug\n"
	var b strings.Builder
	b.WriteString(header)
	for i := range 2001 {
		fmt.Fprintf(&b, "+2348031%06d,Ada,x,a\n", 200000+i)
	}
	for _, c := range []struct {
		list        string
		fails, want int // the call that fails, and how many are made
	}{{b.String(), 1, 1}, {b.String(), 2, 2}, {b.String(), 3, 3}, {b.String(), 0, 3}, {header + "1,a,b,c\n2,a,b,c\n", 1, 0}} {
		in := springInput(t, springFile, c.list)
		f := &fuse{left: c.fails}
		in.Suppressions = refusing{fuse: f}
		_, err := launch.RunPreflight(t.Context(), in)
		if made := c.fails - f.left; made != c.want || errors.Is(err, errAway) != (f.what != "") || c.want == c.fails && f.what == "" {
			t.Errorf("call %d fails: %d calls, %v, want %d and its error when it is made", c.fails, made, err, c.want)
		}
	}
}

// capping is a ledger in which some recipients have got messages.
type capping struct {
	launch.KeyLedger
	capped []string
}

func (c capping) CappedKeys(_ context.Context, keys []int64, _ campaign.FrequencyLimit, _ time.Time) (map[int64]bool, error) {
	found := map[int64]bool{}
	for _, to := range c.capped {
		if key := recipients.Key(to); slices.Contains(keys, key) {
			found[key] = true
		}
	}
	return found, nil
}

// Rows that the frequency cap would stop now are counted and told; they can be sent to later.
func TestACheckTellsWhomTheFrequencyCapStops(t *testing.T) {
	for action, want := range map[string]struct {
		becomes string
		rows    int64 // that a forecast sends
	}{campaign.CapSkip: {"they are skipped (frequency_cap)", 3}, campaign.CapDefer: {"they wait until it allows another one", 5}} {
		file := springFile + "policies: {frequency_cap: {messages: 2, per: 24h, action: " + action + "}}\n"
		in := springInput(t, file, springList)
		in.Suppressions = capping{openLedger(t), []string{"+2348031234501", "+33612345678", "+4915112345678"}}
		p := preflight(t, in)
		told := "policies.frequency_cap: 2 recipients have already had as many messages as it allows (2 in 24h): " +
			"if they are sent to now, " + want.becomes
		if p.Sendable != 5 || p.Capped != 2 || p.Zones[""] != want.rows || !slices.Contains(whats(p.Warnings()), told) {
			t.Errorf("%s: got %d sendable, %d capped, %v by zone and %q, want 5, 2, %d and %q", action, p.Sendable, p.Capped, p.Zones,
				whats(p.Warnings()), want.rows, told)
		}
	}
}
