package launch_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"campaignd/campaign"
	"campaignd/campaign/file"
	"campaignd/campaign/launch"
	"campaignd/internal/safeopen"
	"campaignd/recipients"
)

// asNobody runs do on a thread that cannot read other users' files, even when root runs the tests.
// The thread ends with do.
func asNobody(do func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		syscall.Setfsuid(65534)
		do()
	}()
	<-done
}

// The error for a file that may not be read has its name, the system's reason and the remedy.
func TestAFileThatMayNotBeReadIsNamed(t *testing.T) {
	dir := t.TempDir()
	for _, d := range []string{filepath.Dir(dir), dir} {
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	in := springInput(t, springFile, springList)
	d, l := in.Definition, openLedger(t)
	in.List = overwrite(t, filepath.Join(dir, "list.csv"), springList)
	run := newRun(t, l, d, in.List)
	name, banner := overwrite(t, filepath.Join(dir, "spring.yaml"), springFile), overwrite(t, filepath.Join(dir, "a.png"), "\x89PNG\r\n\x1a\n")
	for _, path := range []string{in.List, name, banner} {
		if err := os.Chmod(path, 0); err != nil {
			t.Fatal(err)
		}
	}
	asNobody(func() {
		_, source, err := file.Load(name)
		if want := "campaign file: open " + name + ": permission denied; check its permissions"; source != nil ||
			!errors.Is(err, fs.ErrPermission) || err.Error() != want {
			t.Errorf("campaign: got %q, %v, want nothing and %s", source, err, want)
		}
		kind, err := file.CheckMedia("image", dir, filepath.Base(banner))
		if kind != "" || !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), banner) {
			t.Errorf("header file: got %q, %v, want %v of %s", kind, err, fs.ErrPermission, banner)
		}
		const said, remedy = "the list cannot be opened", "check its path and permissions"
		_, err = launch.OpenList(in.List, d.Recipients.Options())
		var bad *recipients.FileError
		if !errors.As(err, &bad) || bad.File != in.List || bad.Message != said || bad.Remedy != remedy || !errors.Is(err, fs.ErrPermission) {
			t.Errorf("list: got %+v, want %s of %s: %s; %s", err, said, in.List, fs.ErrPermission, remedy)
		}
		if _, err = launch.Import(t.Context(),
			launch.ImportInput{Ledger: l, Run: run, Definition: d, List: in.List}); !errors.Is(err, fs.ErrPermission) {
			t.Errorf("import: got %v, want %v", err, fs.ErrPermission)
		}
		p, err := launch.RunPreflight(t.Context(), in)
		if err != nil || len(p.Errors()) != 1 {
			t.Errorf("preflight: got %+v, %v, want one finding", p, err)
			return
		}
		if f, want := p.Errors()[0], said+": permission denied"; f.Where != in.List || f.What != want || f.Remedy != remedy {
			t.Errorf("preflight: got %+v, want %s: %s; %s", f, in.List, want, remedy)
		}
	})
	if now, err := l.Run(t.Context(), run.No); err != nil || now.State != campaign.Importing {
		t.Errorf("the run is %s (%v), want it importing, to be tried again", now.State, err)
	}
	if _, _, err := file.Load(dir); !errors.Is(err, safeopen.ErrNotRegular) || !strings.Contains(err.Error(), dir) {
		t.Errorf("directory: got %v, want %v of %s", err, safeopen.ErrNotRegular, dir)
	}
}
