package safeopen_test

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"campaignd/internal/safeopen"
)

// layout makes a folder with links, beside a secret, and returns it.
func layout(t *testing.T) (dir string) {
	t.Helper()
	base := t.TempDir()
	dir = filepath.Join(base, "campaigns")
	for _, d := range []string{dir, filepath.Join(dir, "..2026"), filepath.Join(dir, "lists")} {
		if err := os.Mkdir(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for path, text := range map[string]string{
		filepath.Join(base, "secret"): "key", filepath.Join(dir, "..2026", "a.yaml"): "name: a", filepath.Join(dir, "lists", "l.csv"): "to",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{
		"..data": "..2026", "a.yaml": "..data/a.yaml", // as Kubernetes mounts a ConfigMap
		"out.yaml": "../secret", "absolute.yaml": filepath.Join(base, "secret"), "up": "..", "loop.yaml": "loop.yaml", "none.yaml": "nothing",
	} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestNoNameLeadsOutOfItsFolder(t *testing.T) {
	dir := layout(t)
	for name, want := range map[string]error{
		"a.yaml": nil, "lists/l.csv": nil, "lists/../a.yaml": nil,
		"../secret": safeopen.ErrOutside, "out.yaml": safeopen.ErrOutside, "absolute.yaml": safeopen.ErrOutside, "up/secret": safeopen.ErrOutside,
		filepath.Join(dir, "a.yaml"): safeopen.ErrOutside, "lists/../../secret": safeopen.ErrOutside, "": safeopen.ErrOutside,
		"lists": safeopen.ErrNotRegular, ".": safeopen.ErrNotRegular, "nothing.yaml": fs.ErrNotExist, "none.yaml": fs.ErrNotExist,
	} {
		f, err := safeopen.Within(dir, name)
		if !errors.Is(err, want) {
			t.Errorf("%q: got %v, want %v", name, err, want)
		}
		if err != nil {
			continue
		}
		if text, err := io.ReadAll(f); err != nil || len(text) == 0 {
			t.Errorf("%q: got %q, %v, want its content", name, text, err)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, err := safeopen.Within(dir, "loop.yaml"); err == nil {
		t.Error("a link to itself: got no error, want one")
	}
	if _, err := safeopen.Within(filepath.Join(dir, "nothing"), "a.yaml"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no folder: got %v, want %v", err, fs.ErrNotExist)
	}
}
