package launch_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/launch"
	"campaignd/internal/messaging"
	"campaignd/recipients"
)

// counting counts the calls of a launch to the service.
type counting struct {
	*account
	calls atomic.Int64
}

func (c *counting) Connections(ctx context.Context) ([]messaging.Connection, error) {
	c.calls.Add(1)
	return c.account.Connections(ctx)
}

func (c *counting) Numbers(ctx context.Context) ([]messaging.Number, error) {
	c.calls.Add(1)
	return c.account.Numbers(ctx)
}

func (c *counting) Templates(ctx context.Context, id string) ([]messaging.TemplateRecord, error) {
	c.calls.Add(1)
	return c.account.Templates(ctx, id)
}

// importing is a run of the spring campaign whose import has begun, with its launch key, its launch
// and its service.
func importing(t *testing.T, key string) (launch.Request, campaign.Run, *counting) {
	t.Helper()
	dir := t.TempDir()
	file, list := filepath.Join(dir, "spring.yaml"), filepath.Join(dir, "list.csv")
	for path, text := range map[string]string{file: springFile, list: springList} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	hash, _, err := recipients.Hash(list)
	if err != nil {
		t.Fatal(err)
	}
	l := openLedger(t)
	run, err := l.CreateRun(t.Context(), campaign.Run{
		Campaign: "spring-sale", ListHash: hash, ListName: list, Launch: key, Definition: []byte(springFile),
		Header: []string{"phone", "first_name", "discount", "slug"}, Template: "spring_sale", Language: "en_US", Wanted: campaign.WantRun,
	})
	if err != nil {
		t.Fatal(err)
	}
	service := &counting{account: service()}
	return launch.Request{Ledger: l, Service: service, File: file, List: list, Key: key, Owner: "another", NoWait: true}, run, service
}

// While another process imports, every replica tries again every few seconds. Such an attempt
// neither reads the list nor asks the service.
func TestAnotherProcesssImportIsLeftAlone(t *testing.T) {
	const firing = campaign.FiringKey + "spring-sale 2026-11-02T09:00:00Z"
	for name, tt := range map[string]struct {
		key   string
		again func(context.Context, launch.Request, campaign.Run) (launch.Outcome, error)
	}{
		"taken up": {"", func(ctx context.Context, l launch.Request, r campaign.Run) (launch.Outcome, error) {
			return l.Resume(ctx, r)
		}},
		"fired again": {firing, func(ctx context.Context, l launch.Request, _ campaign.Run) (launch.Outcome, error) {
			return l.Start(ctx)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			l, run, service := importing(t, tt.key)
			held, ok, err := l.Ledger.AcquireJob(t.Context(), fmt.Sprintf("import %d", run.No), "the importer", time.Hour)
			if err != nil || !ok {
				t.Fatal(ok, err)
			}
			away := l.List + ".away" // an attempt that reads the list now fails
			if err := os.Rename(l.List, away); err != nil {
				t.Fatal(err)
			}
			for range 4 {
				if _, err := tt.again(t.Context(), l, run); !errors.Is(err, campaign.ErrTaken) {
					t.Errorf("%v, want that another is at it", err)
				}
			}
			if err := os.Rename(away, l.List); err != nil {
				t.Fatal(err)
			}
			for range 4 {
				if _, err := tt.again(t.Context(), l, run); !errors.Is(err, campaign.ErrTaken) {
					t.Errorf("%v, want that another is at it", err)
				}
			}
			if n := service.calls.Load(); n != 0 {
				t.Errorf("the service was asked %d times while another process imports, want 0", n)
			}
			if err := l.Ledger.ReleaseJob(t.Context(), held); err != nil {
				t.Fatal(err)
			}
			launched, err := tt.again(t.Context(), l, run)
			if err != nil || !launched.Imported || launched.Run.State != campaign.Ready {
				t.Errorf("after the importer has gone: %+v, %v; want the import finished", launched, err)
			}
			// run was read before its import ended.
			if launched, err = l.Resume(t.Context(), run); err != nil || launched.Imported || launched.Run.State != campaign.Ready {
				t.Errorf("an import that has ended: %+v, %v; want a ready run that this launch did not import", launched, err)
			}
		})
	}
}

// Eight replicas find the same interrupted import; one of them checks and imports it.
func TestAnInterruptedImportIsCheckedAndImportedOnce(t *testing.T) {
	alone, run, service := importing(t, "")
	if _, err := alone.Resume(t.Context(), run); err != nil {
		t.Fatal(err)
	}
	once := service.calls.Load()

	l, run, service := importing(t, "")
	var imported atomic.Int64
	var all sync.WaitGroup
	for i := range 8 {
		l := l
		l.Owner = fmt.Sprint("replica ", i)
		all.Go(func() {
			launched, err := l.Resume(t.Context(), run)
			if err != nil && !errors.Is(err, campaign.ErrTaken) {
				t.Error(err)
			}
			if launched.Imported {
				imported.Add(1)
			}
		})
	}
	all.Wait()
	if got := service.calls.Load(); imported.Load() != 1 || got != once {
		t.Errorf("imported by %d of 8, with %d calls to the service; want 1 with %d", imported.Load(), got, once)
	}
}

// A launch with --new and a key is a run of its own, whatever runs its list has. The same key is
// the same run.
func TestANewKeyIsOneRunOfItsOwn(t *testing.T) {
	l, run, _ := importing(t, "")
	if _, err := l.Ledger.SetState(t.Context(), run.No, []campaign.State{campaign.Importing}, campaign.Finished, "", ""); err != nil {
		t.Fatal(err)
	}
	l.New = true
	for _, c := range []struct {
		key  string
		want campaign.RunNo
	}{{"one", run.No + 1}, {"one", run.No + 1}} {
		l.NewKey = c.key
		got, err := l.Start(t.Context())
		if err != nil || got.Run.No != c.want {
			t.Errorf("key %q: got run %d, %v; want run %d", c.key, got.Run.No, err, c.want)
		}
	}
	l.NewKey = "two"
	var unfinished *launch.UnfinishedError
	if got, err := l.Start(t.Context()); !errors.As(err, &unfinished) {
		t.Errorf("another key beside an unfinished run: got run %d, %v; want that it is unfinished", got.Run.No, err)
	}
}

// A limit that was changed in the file of an unfinished run is changed by another command.
func TestAChangedLimitNamesItsCommand(t *testing.T) {
	for _, tt := range []struct{ was, is, want string }{
		{"", "limits: {rate: 40}\n", "`campaignd limits spring-sale-1 --rate 40`"},
		{"limits: {rate: 80, deadline: 6h}\n", "limits: {rate: 40, deadline: 8h}\n", "`campaignd limits spring-sale-1 --deadline 8h --rate 40`"},
		{"limits: {rate: 80, weight: 4, deadline: 6h}\n", "", "`campaignd limits spring-sale-1 --deadline none --rate none --weight 1`"},
		{"", "limits: {not_after: 48h}\n", ""},
	} {
		r := newRelaunch(t)
		overwrite(t, r.file, springFile+tt.was)
		request := r.of("list.csv", springList, "")
		start(t, request)
		overwrite(t, r.file, springFile+tt.is)
		var changed *launch.ChangedError
		_, err := request.Start(t.Context())
		if !errors.As(err, &changed) || !strings.Contains(err.Error(), tt.want) ||
			strings.Contains(err.Error(), "campaignd limits") != (tt.want != "") {
			t.Errorf("%q to %q: got %v, want %q in it", tt.was, tt.is, err, tt.want)
		}
	}
}

// The key of a request belongs to one list and one campaign file.
func TestOneRequestKeyIsOneLaunch(t *testing.T) {
	r := newRelaunch(t)
	request := r.of("list.csv", springList, "")
	request.New, request.NewKey = true, "k-1"
	first := start(t, request).Run
	if again := start(t, request); again.Run.No != first.No || !again.Resumed {
		t.Errorf("the same request: got %+v, want run %d", again, first.No)
	}
	for _, ended := range []bool{false, true} {
		if ended {
			r.end(first, campaign.Finished)
		}
		overwrite(t, r.file, springFile+"limits: {rate: 40}\n")
		if got, err := request.Start(t.Context()); !errors.Is(err, launch.ErrKeyUsed) || !strings.Contains(err.Error(), "limits.rate") {
			t.Errorf("ended %v, with another campaign file: got %+v and %v, want ErrKeyUsed and what differs", ended, got.Run.ID(), err)
		}
		overwrite(t, r.file, springFile)
		other := r.of("other.csv", springList+"\n", "")
		other.New, other.NewKey = true, "k-1"
		if got, err := other.Start(t.Context()); !errors.Is(err, launch.ErrKeyUsed) {
			t.Errorf("ended %v, with another list: got %+v and %v, want ErrKeyUsed", ended, got.Run.ID(), err)
		}
	}
	if again := start(t, request); again.Run.No != first.No || !again.Ended {
		t.Errorf("the same request after the end: got %+v, want run %d", again, first.No)
	}
}
