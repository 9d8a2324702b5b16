package launch_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"campaignd/campaign"
	"campaignd/campaign/launch"
	"campaignd/internal/messaging"
)

// clients is a service whose two connections belong to two clients. An upload has the name of its
// connection and a number.
type clients struct {
	*account
	uploads int
	until   time.Time
	away    error
}

func (s *clients) Connections(ctx context.Context) ([]messaging.Connection, error) {
	all, err := s.account.Connections(ctx)
	var own []messaging.Connection
	for _, c := range all {
		c.CompanyID = "co_of_" + c.ID
		own = append(own, c)
	}
	return own, errors.Join(err, s.away)
}

func (s *clients) UploadMedia(_ context.Context, connection, _, _ string, r io.Reader) (messaging.Asset, error) {
	s.uploads++
	_, err := io.ReadAll(r)
	return messaging.Asset{ID: fmt.Sprint("ast of ", connection, " ", s.uploads), ExpiresAt: s.until}, err
}

// withHeader launches the spring campaign with a header file, for two clients.
func withHeader(t *testing.T, until time.Time) (campaign.Ledger, *clients, campaign.Run, string) {
	t.Helper()
	dir := t.TempDir()
	banner := overwrite(t, filepath.Join(dir, "banner.jpg"), "\xff\xd8\xff\xe0\x00\x10JFIF")
	file := overwrite(t, filepath.Join(dir, "spring.yaml"), strings.Replace(springFile, "assetId: ast_1", "file: banner.jpg", 1))
	list := overwrite(t, filepath.Join(dir, "list.csv"), springList)
	l, s := openLedger(t), &clients{account: service(), until: until}
	return l, s, start(t, launch.Request{Ledger: l, Service: s, File: file, List: list}).Run, banner
}

func assetsOf(t *testing.T, l campaign.Ledger, no campaign.RunNo) map[string]string {
	t.Helper()
	all, err := l.Assets(t.Context(), no)
	if err != nil {
		t.Fatal(err)
	}
	ids := map[string]string{}
	for _, a := range all {
		ids[a.Connection] = a.ID
	}
	return ids
}

// The service keeps a file for the client that uploaded it, so each client of a campaign gets one.
func TestAHeaderFileIsUploadedForEachClient(t *testing.T) {
	l, _, run, _ := withHeader(t, time.Now().Add(30*24*time.Hour))
	want := map[string]string{"conn_1": "ast of conn_1 1", "conn_2": "ast of conn_2 2"}
	if diff := cmp.Diff(want, assetsOf(t, l, run.No)); diff != "" {
		t.Errorf("assets -want +got:\n%s", diff)
	}
}

// A run that outlasts its header is given a new one in time. When the file is gone or another one,
// the run is held a day before the service deletes the old one, until the file is back.
func TestAHeaderIsRenewedBeforeItEnds(t *testing.T) {
	now := time.Now().UTC().Truncate(time.Second)
	l, s, run, banner := withHeader(t, now.Add(30*24*time.Hour))
	renew := func(at time.Duration) (bool, error) {
		return launch.RenewMedia(t.Context(), l, s, run.No, now.Add(at))
	}
	held := func() string {
		holds, err := l.Holds(t.Context(), false)
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range holds {
			if h.Scope == campaign.HoldRun && h.ID == run.ID() && h.Reason == launch.MediaChanged {
				return h.Detail
			}
		}
		return ""
	}
	day := 24 * time.Hour
	if renewed, err := renew(22 * day); renewed || err != nil || s.uploads != 2 {
		t.Errorf("with 8 days left: %v, %v, %d uploads; want nothing done", renewed, err, s.uploads)
	}
	content, err := os.ReadFile(banner)
	if err != nil {
		t.Fatal(err)
	}
	overwrite(t, banner, string(content)+"another")
	if renewed, err := renew(24 * day); renewed || !errors.Is(err, launch.ErrMediaChanged) || held() != "" {
		t.Errorf("another file, 6 days left: %v, %v, held %q; want ErrMediaChanged and no hold", renewed, err, held())
	}
	if renewed, err := renew(29*day + 1); renewed || !errors.Is(err, launch.ErrMediaChanged) || !strings.Contains(held(), "has changed") {
		t.Errorf("another file, less than a day left: %v, %v, held %q; want ErrMediaChanged and a hold that says so", renewed, err, held())
	}
	overwrite(t, banner, string(content))
	s.until = now.Add(60 * day)
	if renewed, err := renew(29*day + 2); !renewed || err != nil || held() != "" {
		t.Errorf("the file is back: %v, %v, held %q; want it renewed and no hold", renewed, err, held())
	}
	want := map[string]string{"conn_1": "ast of conn_1 3", "conn_2": "ast of conn_2 4"}
	if diff := cmp.Diff(want, assetsOf(t, l, run.No)); diff != "" {
		t.Errorf("assets -want +got:\n%s", diff)
	}
	if r, err := l.Run(t.Context(), run.No); err != nil || !r.AssetUntil.Equal(s.until) {
		t.Errorf("kept until %v, %v; want %v", r.AssetUntil, err, s.until)
	}
}
