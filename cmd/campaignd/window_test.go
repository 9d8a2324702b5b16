package main

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/file"
	"campaignd/campaign/launch"
	"campaignd/internal/daemon"
)

func TestCheckSaysWhenSendingWouldBegin(t *testing.T) {
	now := time.Date(2026, 7, 1, 7, 30, 0, 0, time.UTC) // Wednesday: Lagos 08:30, Tokyo 16:30
	for _, c := range []struct {
		window   *file.Window
		approval bool
		want     string
		begins   time.Time
	}{
		{&file.Window{Hours: "09:00-18:00", Timezone: "Africa/Lagos"}, false, "closed; sending would begin Wed 2026-07-01 09:00 WAT",
			time.Date(2026, 7, 1, 8, 0, 0, 0, time.UTC)},
		{&file.Window{Hours: "08:00-18:00", Days: []string{"wed"}, Timezone: "Africa/Lagos"}, true,
			"open until Wed 2026-07-01 18:00 WAT; sending would begin now, after `campaignd approve`", now},
		{&file.Window{Hours: "09:00-18:00", Timezone: "recipient"}, false,
			"open for 7 of 10 recipients, for the next from Wed 2026-07-01 09:00 WAT; sending would begin now", now},
		{&file.Window{}, false, "always open; sending would begin now", now},
	} {
		p := &launch.Preflight{Sendable: 10, Zones: map[string]int64{"Africa/Lagos": 3, "Asia/Tokyo": 7}}
		approval := campaign.Approval(0)
		if c.approval {
			approval = campaign.ApproveAlways
		}
		d := &file.Definition{Window: c.window, Policies: file.Policies{Approval: approval}}
		if err := daemon.CheckWindow(d, p, now); err != nil {
			t.Fatal(err)
		}
		if p.Window.Sentence != c.want || !p.Window.Begins.Equal(c.begins) {
			t.Errorf("%+v: got %q, begins %s, want %q, begins %s", c.window, p.Window.Sentence, p.Window.Begins, c.want, c.begins)
		}
	}
}

func TestCheckPrintsTheWindow(t *testing.T) {
	t.Parallel()
	d := newFixture(t, nil)
	tomorrow := strings.ToLower(time.Now().UTC().AddDate(0, 0, 2).Format("Mon"))
	d.write("c.yaml", campaignFile+"window: {days: ["+tomorrow+"]}\n")
	wantIn(t, "check", d.want(0, "check", d.path("c.yaml")).stdout, "\nwindow all day "+tomorrow+", UTC: closed; sending would begin ")
	var p launch.Preflight
	if err := json.Unmarshal([]byte(d.want(0, "check", d.path("c.yaml"), "-o", "json").stdout), &p); err != nil || p.Window == nil {
		t.Fatalf("check -o json: got window %v, %v, want one", p.Window, err)
	}
	if p.Window.Open != 0 || p.Window.Closed != 40 || !p.Window.Begins.After(time.Now()) {
		t.Errorf("check -o json: got %+v, want 40 rows that wait for the window", p.Window)
	}
}
