// Package safeopen opens files whose folder others can write to. campaign opens campaign files and
// header files with it, recipients the lists.
//
// It promises that it opens regular files only and never waits: a named pipe without a writer, or a
// device, is an error at once. Within also promises that no `..`, absolute path or link leads out
// of the folder, also when a link is replaced between two calls.
package safeopen

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

var (
	// ErrNotRegular says that a path is a folder, a pipe, a device or a socket.
	ErrNotRegular = errors.New("not a regular file")
	// ErrOutside says that a name leads out of its folder.
	ErrOutside = errors.New("leads out of its folder")
)

// readOnly does not wait: without O_NONBLOCK, opening a pipe waits for its writer.
const readOnly = os.O_RDONLY | syscall.O_NONBLOCK

// Open opens the file at path for reading, at its beginning. The error is a *fs.PathError, perhaps
// of ErrNotRegular.
func Open(path string) (*os.File, error) {
	return open(path, func() (fs.FileInfo, error) { return os.Stat(path) },
		func() (*os.File, error) { return os.OpenFile(path, readOnly, 0) }) //nolint:gosec // the caller's own path
}

// Within opens the file name of the folder dir, or of a folder below it, for reading. A link may
// lead to another path below dir. The error is a *fs.PathError with the joined path, perhaps of
// ErrNotRegular or ErrOutside; a link that is absolute counts as one that leads out.
func Within(dir, name string) (*os.File, error) {
	path := filepath.Join(dir, name)
	if filepath.IsAbs(name) {
		path = name
	}
	if !filepath.IsLocal(name) {
		return nil, &fs.PathError{Op: "open", Path: path, Err: ErrOutside}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close() //nolint:errcheck // read only
	f, err := open(path, func() (fs.FileInfo, error) { return root.Stat(name) },
		func() (*os.File, error) { return root.OpenFile(name, readOnly, 0) })
	if err == nil || errors.Is(err, ErrNotRegular) || errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return f, err
	}
	if _, e := os.Stat(path); e == nil { // it is there, but not for the root
		err = ErrOutside
	}
	return nil, &fs.PathError{Op: "open", Path: path, Err: cause(err)}
}

// open checks the path before it opens it, because opening a device can have an effect. Then it
// checks the open file, because the name may belong to another file by then.
func open(path string, stat func() (fs.FileInfo, error), open func() (*os.File, error)) (*os.File, error) {
	info, err := stat()
	if err == nil && !info.Mode().IsRegular() {
		err = ErrNotRegular
	}
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: cause(err)}
	}
	f, err := open()
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: cause(err)}
	}
	if info, err = f.Stat(); err == nil && !info.Mode().IsRegular() {
		err = ErrNotRegular
	}
	if err != nil {
		return nil, errors.Join(&fs.PathError{Op: "open", Path: path, Err: cause(err)}, f.Close())
	}
	return f, nil
}

// cause removes the path from an error.
func cause(err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		return at.Err
	}
	return err
}
