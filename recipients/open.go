package recipients

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"campaignd/internal/safeopen"
)

// Open opens the list at path, a regular file, and reads it as NewReader does. Close closes the
// file.
func Open(path string, o Options) (*Reader, error) {
	f, err := OpenFile(path, o.Within)
	if err != nil {
		return nil, err
	}
	r, err := NewReader(f, path, o)
	if err != nil {
		_ = f.Close() // it was only read
		return nil, err
	}
	// The file is closed last, since closers run backwards.
	r.closers = append([]func() error{f.Close}, r.closers...)
	return r, nil
}

// Hash returns the SHA-256 (lower-case hex) and the size in bytes of the file as stored, before any
// unpacking or decoding: the identity of a list. The errors are errors of Open.
func Hash(path string) (sha256hex string, size int64, err error) {
	f, err := OpenFile(path, "")
	if err != nil {
		return "", 0, err
	}
	defer func() { _ = f.Close() }() // it was only read
	h := sha256.New()
	size, err = io.Copy(h, f)
	if err != nil {
		return "", 0, &FileError{File: path, Message: "the list cannot be read", Err: err, Remedy: "try again, or copy it anew"}
	}
	return hex.EncodeToString(h.Sum(nil)), size, nil
}

// OpenFile opens a regular file that is not empty, as it is stored. within is Options.Within. The
// error is a *FileError.
func OpenFile(path, within string) (*os.File, error) {
	if path == "" {
		return nil, &FileError{File: "recipients", Message: "no list was given", Remedy: "name it with --recipients or recipients.file"}
	}
	f, err := open(path, within)
	if err == nil {
		var st fs.FileInfo
		if st, err = f.Stat(); err == nil && st.Size() > 0 {
			return f, nil
		}
		_ = f.Close() // it was not read
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, &FileError{
			File:    path,
			Message: "there is no such file",
			Remedy:  "check the path; recipients.file is relative to the campaign file",
		}
	case errors.Is(err, safeopen.ErrOutside):
		return nil, &FileError{
			File:    path,
			Message: "the list that a campaign file names is not in the folder of that file or below it",
			Remedy:  "copy it there, or name it with --recipients",
		}
	case errors.Is(err, safeopen.ErrNotRegular):
		if st, err := os.Stat(path); err == nil && st.IsDir() {
			return nil, &FileError{File: path, Message: "this is a folder", Remedy: "name a CSV file in it"}
		}
		return nil, &FileError{
			File:    path,
			Message: "this is not a regular file",
			Remedy:  "save the list to a file first: it is read more than once",
		}
	case err != nil:
		return nil, &FileError{File: path, Message: "the list cannot be opened", Err: cause(err), Remedy: "check its path and permissions"}
	}
	return nil, emptyList(path)
}

func emptyList(name string) *FileError {
	return &FileError{
		File:    name,
		Message: "the list is empty",
		Remedy:  "give it a header line, such as to,first_name, and one recipient on each line after it",
	}
}

func open(path, within string) (*os.File, error) {
	if within == "" {
		return safeopen.Open(path)
	}
	name, err := filepath.Rel(within, path)
	if err != nil {
		return nil, safeopen.ErrOutside
	}
	return safeopen.Within(within, name)
}

// cause removes the path from an error, since FileError names it.
func cause(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}
