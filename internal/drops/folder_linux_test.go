package drops

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// inbox is a folder for a test. Its fields are paths.
type inbox struct {
	*testing.T
	*Folder
	dir string
}

func newInbox(t *testing.T) *inbox {
	t.Helper()
	dir := t.TempDir()
	return &inbox{t, OpenFolder(dir), dir}
}

func (b *inbox) path(key string) string { return filepath.Join(b.dir, filepath.FromSlash(key)) }

func (b *inbox) ok(err error) {
	b.Helper()
	if err != nil {
		b.Fatalf("got %v, want no error", err)
	}
}

func (b *inbox) write(key, text string) {
	b.Helper()
	b.ok(os.MkdirAll(filepath.Dir(b.path(key)), 0o700))
	b.ok(os.WriteFile(b.path(key), []byte(text), 0o600))
}

// text reads a file, "" if there is none.
func (b *inbox) text(key string) string {
	b.Helper()
	text, err := os.ReadFile(b.path(key))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		b.Error(err)
	}
	return string(text)
}

func (b *inbox) stat(key string) Object {
	b.Helper()
	o, err := b.Stat(b.Context(), key)
	b.ok(err)
	return o
}

// files lists the files below the folder.
func (b *inbox) files() (all []string) {
	b.Helper()
	b.ok(filepath.WalkDir(b.dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			key, _ := filepath.Rel(b.dir, path)
			all = append(all, filepath.ToSlash(key))
		}
		return err
	}))
	return all
}

// A pipe without a writer would block the process that opens it, and a link leads to files of
// others.
func TestAFolderListsFilesAndOpensNothingElse(t *testing.T) {
	b := newInbox(t)
	secret := filepath.Join(t.TempDir(), "secret.csv")
	b.ok(os.WriteFile(secret, []byte("hush"), 0o600))
	b.write("spring/list.csv", "phone\n1\n")
	b.write("spring/done/old.csv", "phone\n2\n")
	b.write("springtime.csv", "phone\n3\n")
	for name, target := range map[string]string{"link.csv": secret, "up.csv": "../springtime.csv",
		"none.csv": "nowhere", "self.csv": "list.csv"} {
		b.ok(os.Symlink(target, b.path("spring/"+name)))
	}
	b.ok(syscall.Mkfifo(b.path("spring/pipe.csv"), 0o600))
	got := map[string]string{}
	for o, err := range b.List(t.Context(), "spring/") {
		b.ok(err)
		got[o.Key] = o.Fault
		if o.Fault == "" {
			continue
		}
		if r, err := b.Open(t.Context(), o, 0); !errors.Is(err, ErrChanged) {
			t.Errorf("open %s: %v and %v, want ErrChanged", o.Key, r, err)
		}
		if _, written := b.Quiet(o); !written {
			t.Errorf("%s: quiet, want that it is never complete", o.Key)
		}
	}
	const link = "it is a link, which is not followed"
	want := map[string]string{"spring/list.csv": "", "spring/pipe.csv": "it is not a regular file", "spring/link.csv": link,
		"spring/up.csv": link, "spring/none.csv": link, "spring/self.csv": link, "spring/done/": ""}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("listed -want +got:\n%s", diff)
	}
	for _, key := range []string{"../secret.csv", "/etc/hostname", "spring/../../x.csv"} {
		if _, err := b.Stat(t.Context(), key); err == nil {
			t.Errorf("%s: got a file, want an error", key)
		}
		if err := b.Create(t.Context(), key, []byte("x")); err == nil {
			t.Errorf("create %s: got no error, want one", key)
		}
	}
	for range OpenFolder(b.path("none")).List(t.Context(), "") {
		return
	}
	t.Error("a folder that is not there: got an empty list, want an error")
}

// The name is exchanged for a link between the listing and the opening.
func TestAFileThatWasExchangedIsNotOpened(t *testing.T) {
	b := newInbox(t)
	b.write("list.csv", "phone\n1\n")
	o := b.stat("list.csv")
	r, err := b.Open(t.Context(), o, 6)
	b.ok(err)
	text, err := io.ReadAll(r)
	if err = errors.Join(err, r.Close()); err != nil || string(text) != "1\n" {
		t.Errorf("from 6 on: got %q and %v, want %q", text, err, "1\n")
	}
	b.write("other.csv", "phone\n2\n")
	b.ok(os.Rename(b.path("other.csv"), b.path("list.csv")))
	if _, err := b.Open(t.Context(), o, 0); !errors.Is(err, ErrChanged) {
		t.Errorf("another file: got %v, want ErrChanged", err)
	}
	b.ok(os.Remove(b.path("list.csv")))
	if _, err := b.Open(t.Context(), o, 0); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: got %v, want that it does not exist", err)
	}
	b.ok(os.Symlink("/etc/hostname", b.path("list.csv")))
	if _, err := b.Open(t.Context(), o, 0); !errors.Is(err, ErrChanged) {
		t.Errorf("a link: got %v, want ErrChanged", err)
	}
}

// A copy may pause for any time, and a mapping of the file counts too.
func TestAFileWithAWriterIsNotComplete(t *testing.T) {
	b := newInbox(t)
	b.write("list.csv", "phone\n")
	f, err := os.OpenFile(b.path("list.csv"), os.O_WRONLY, 0)
	b.ok(err)
	o := b.stat("list.csv")
	if least, written := b.Quiet(o); !written && least != quietUnknown {
		t.Errorf("with a writer: got %v and written %v, want written, or %v where the kernel cannot tell", least, written, quietUnknown)
	}
	b.ok(f.Close())
	if least, written := b.Quiet(o); written || least != quietKnown && least != quietUnknown {
		t.Errorf("without one: got %v and written %v, want %v", least, written, quietKnown)
	}
	reader, err := os.Open(b.path("list.csv"))
	b.ok(err)
	defer reader.Close()
	if _, written := b.Quiet(o); written {
		t.Error("a reader: got written, want not")
	}
}

func TestAMoveReplacesNothing(t *testing.T) {
	b := newInbox(t)
	b.write("list.csv", "new")
	b.write("done/list.csv", "old")
	o := b.stat("list.csv")
	if err := b.Move(t.Context(), o, "done/list.csv"); !errors.Is(err, fs.ErrExist) {
		t.Errorf("onto another file: got %v, want that it exists", err)
	}
	b.ok(b.Move(t.Context(), o, "done/list-2.csv"))
	if err := b.Move(t.Context(), o, "done/list-2.csv"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("again: got %v, want that it does not exist", err)
	}
	if err := b.Create(t.Context(), "done/list.csv", []byte("x")); !errors.Is(err, fs.ErrExist) {
		t.Errorf("create: got %v, want that it exists", err)
	}
	if b.text("done/list.csv") != "old" || b.text("done/list-2.csv") != "new" {
		t.Errorf("got %q and %q, want old and new", b.text("done/list.csv"), b.text("done/list-2.csv"))
	}
	if diff := cmp.Diff([]string{"done/list-2.csv", "done/list.csv"}, b.files()); diff != "" {
		t.Errorf("files -want +got:\n%s", diff)
	}
}

// Each instant of a move at which the process may be killed, and a newer file that gets the old
// name at that instant.
func TestAMoveLosesNoNewerFile(t *testing.T) {
	for name, crash := range map[string]func(b *inbox){
		"linked": func(b *inbox) { b.ok(os.Link(b.path("list.csv"), b.path("done/list.csv"))) },
		"set aside": func(b *inbox) {
			b.ok(os.Link(b.path("list.csv"), b.path("done/list.csv")))
			b.ok(os.Rename(b.path("list.csv"), b.path(asideOf("list.csv"))))
		},
		"newer before": func(b *inbox) { b.write("newer", "newer"); b.ok(os.Rename(b.path("newer"), b.path("list.csv"))) },
		"newer linked": func(b *inbox) {
			b.ok(os.Link(b.path("list.csv"), b.path("done/list.csv")))
			b.write("newer", "newer")
			b.ok(os.Rename(b.path("newer"), b.path("list.csv")))
		},
		"newer set aside": func(b *inbox) {
			b.ok(os.Rename(b.path("list.csv"), b.path("done/list.csv")))
			b.write(asideOf("list.csv"), "newer")
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newInbox(t)
			b.write("list.csv", "old")
			o := b.stat("list.csv")
			b.ok(os.Mkdir(b.path("done"), 0o700))
			crash(b)
			newer := strings.HasPrefix(name, "newer")
			err := b.Move(t.Context(), o, "done/list.csv")
			switch {
			case newer && !errors.Is(err, ErrChanged):
				t.Errorf("got %v, want ErrChanged", err)
			case newer && b.text("list.csv") != "newer":
				t.Errorf("list.csv: got %q, want the newer file", b.text("list.csv"))
			case !newer && err != nil && !errors.Is(err, fs.ErrNotExist):
				t.Errorf("got %v, want no error", err)
			case !newer && b.text("done/list.csv") != "old":
				t.Errorf("done/list.csv: got %q, want old", b.text("done/list.csv"))
			}
			if n := len(b.files()); n > 2 || !newer && n != 1 {
				t.Errorf("got the files %v, want no other ones", b.files())
			}
		})
	}
}

// Three versions of one name within an instant: the second was set aside for the first, and the
// third got the name meanwhile. The second one gets another name, also when the process died as it
// gave it.
func TestAMoveHidesNoVersion(t *testing.T) {
	for name, crash := range map[string]func(b *inbox){
		"set aside":    func(*inbox) {},
		"second there": func(b *inbox) { b.write("list-2.csv", "of another") },
		"linked":       func(b *inbox) { b.ok(os.Link(b.path(asideOf("list.csv")), b.path("list-2.csv"))) },
	} {
		t.Run(name, func(t *testing.T) {
			b := newInbox(t)
			b.write("list.csv", "first")
			o := b.stat("list.csv")
			b.ok(os.Mkdir(b.path("done"), 0o700))
			b.ok(os.Rename(b.path("list.csv"), b.path("done/list.csv")))
			b.write(asideOf("list.csv"), "second")
			b.write("list.csv", "third")
			crash(b)
			if err := b.Move(t.Context(), o, "done/list.csv"); !errors.Is(err, ErrChanged) {
				t.Errorf("got %v, want ErrChanged", err)
			}
			want := map[string]string{"done/list.csv": "first", "list-2.csv": "second", "list.csv": "third"}
			if name == "second there" {
				want["list-2.csv"], want["list-3.csv"] = "of another", "second"
			}
			got := map[string]string{}
			for _, key := range b.files() {
				got[key] = b.text(key)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("files -want +got:\n%s", diff)
			}
		})
	}
}

// Programs give copies under way such names as .list.csv.part.
func TestAMoveLeavesCopiesOfOthersAlone(t *testing.T) {
	b := newInbox(t)
	b.write("list.csv", "old")
	b.write(".list.csv.part", "half of a new one")
	b.ok(b.Move(t.Context(), b.stat("list.csv"), "done/list.csv"))
	if got := b.text(".list.csv.part"); got != "half of a new one" || b.text("done/list.csv") != "old" {
		t.Errorf("got the copy %q and the moved list %q, want both untouched", got, b.text("done/list.csv"))
	}
}

// A mount that comes later, and a folder that is exchanged, are found by name.
func TestAFolderIsFoundAgain(t *testing.T) {
	base := t.TempDir()
	b := &inbox{t, OpenFolder(filepath.Join(base, "in")), filepath.Join(base, "in")}
	count := func() (n int, err error) {
		for _, e := range b.List(t.Context(), "") {
			if err = e; err == nil {
				n++
			}
		}
		return n, err
	}
	if n, err := count(); n != 0 || err == nil {
		t.Errorf("no folder: got %d files and %v, want an error", n, err)
	}
	b.write("a.csv", "a")
	if n, err := count(); n != 1 || err != nil {
		t.Errorf("made later: got %d files and %v, want 1", n, err)
	}
	b.ok(os.Rename(b.dir, b.dir+".old"))
	b.write("b.csv", "b")
	b.write("c.csv", "c")
	if n, err := count(); n != 2 || err != nil {
		t.Errorf("exchanged: got %d files and %v, want 2", n, err)
	}
	if b.Every() > time.Second {
		t.Errorf("listed every %v, want at least each second", b.Every())
	}
}
