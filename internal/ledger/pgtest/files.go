//go:build unix

package pgtest

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"testing/fstest"
)

// Programs finds the folder of initdb and postgres: on PATH, or the newest where Debian puts them.
func Programs() (string, error) {
	if p, err := exec.LookPath("postgres"); err == nil {
		if _, err := os.Stat(filepath.Join(filepath.Dir(p), "initdb")); err == nil {
			return filepath.Dir(p), nil
		}
	}
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	version := func(p string) int {
		n, _ := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(p))))
		return n
	}
	slices.SortFunc(found, func(a, b string) int { return cmp.Compare(version(b), version(a)) })
	if len(found) == 0 {
		return "", ErrMissing
	}
	return filepath.Dir(found[0]), nil
}

// Unprivileged is the user of a server that root starts.
func Unprivileged() (*syscall.Credential, error) {
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err1 := strconv.ParseUint(u.Uid, 10, 32)
		gid, err2 := strconv.ParseUint(u.Gid, 10, 32)
		if err := errors.Join(err1, err2); err != nil {
			return nil, err
		}
		return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
	}
	return nil, errors.New("PostgreSQL does not run as root, and there is no user postgres or nobody")
}

func dataFolder() string {
	if f, err := os.Stat("/dev/shm"); err == nil && f.IsDir() {
		return "/dev/shm"
	}
	return os.TempDir()
}

// FreeAddr returns a loopback address that was free a moment ago.
func FreeAddr() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

// pristine are the files of the first initdb. Copying them makes the other servers of this process
// in a tenth of its time; all of them have one system identifier.
var pristine struct {
	sync.Mutex
	files fstest.MapFS
}

// init makes the server's files.
func (s *Server) init() error {
	pristine.Lock()
	defer pristine.Unlock()
	if pristine.files != nil {
		return s.unpack(pristine.files)
	}
	if err := s.initdb(); err != nil {
		return err
	}
	files := fstest.MapFS{}
	err := fs.WalkDir(os.DirFS(s.data()), ".", func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			files[path] = &fstest.MapFile{Mode: fs.ModeDir | 0o700}
			return err
		}
		b, err := os.ReadFile(filepath.Join(s.data(), path))
		files[path] = &fstest.MapFile{Data: b, Mode: 0o600}
		return err
	})
	if err == nil {
		pristine.files = files
	}
	return err
}

// unpack writes the files of the server for its user alone: PostgreSQL refuses other permissions.
func (s *Server) unpack(files fs.FS) error {
	if err := os.CopyFS(s.data(), files); err != nil {
		return err
	}
	if err := os.Chmod(s.data(), 0o700); err != nil || s.as == nil {
		return err
	}
	return filepath.WalkDir(s.data(), func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Chown(path, int(s.as.Uid), int(s.as.Gid))
	})
}

func (s *Server) initdb() error {
	out, err := s.command(filepath.Join(s.bin, "initdb"), "--pgdata", s.data(), "--username", "postgres", "--auth", "trust",
		"--encoding", "UTF8", "--no-locale", "--no-sync").CombinedOutput()
	if err != nil {
		return fmt.Errorf("initdb: %w: %s", err, out)
	}
	return nil
}
