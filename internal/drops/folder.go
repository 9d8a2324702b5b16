package drops

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path"
	"strings"
	"sync"
	"syscall"
	"time"
)

// The rule of docs/operations.md#dropped-files for complete files.
const (
	// quietKnown is how long a file stays unchanged that no process has open for writing. An editor
	// that saves twice, or writes a file and then its attributes, does so within milliseconds.
	quietKnown = time.Second
	// quietUnknown counts where the kernel cannot tell: another system than Linux, another owner's
	// file, a file system of the network. A copy that pauses longer is taken too early.
	quietUnknown = 10 * time.Second
	// folderEvery is how often a folder is listed.
	folderEvery = 500 * time.Millisecond
)

// The modes of what Folder makes. Results contain phone numbers: the group reads them, and nobody
// else.
const (
	dirMode  = 0o750
	fileMode = 0o640
)

// Folder is a local folder as a bucket. No key and no link leads out of it, also if a link is
// replaced during a call. A folder that is made, mounted or replaced later is found then.
type Folder struct {
	dir string

	mu   sync.Mutex
	root *os.Root
	is   fs.FileInfo // of root
}

var _ Bucket = (*Folder)(nil)

// OpenFolder returns the folder dir. It need not exist yet.
func OpenFolder(dir string) *Folder { return &Folder{dir: dir} }

// folder is an open folder.
type folder struct{ *os.Root }

// at returns the folder that has the name now.
func (b *Folder) at() (folder, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	is, err := os.Stat(b.dir)
	if err != nil {
		return folder{}, err
	}
	if b.root == nil || !os.SameFile(is, b.is) {
		root, err := os.OpenRoot(b.dir) // the garbage collector closes the one before
		if err != nil {
			return folder{}, err
		}
		b.root, b.is = root, is
	}
	return folder{b.root}, nil
}

// Every implements Bucket.
func (b *Folder) Every() time.Duration { return folderEvery }

// List implements Bucket.
func (b *Folder) List(ctx context.Context, prefix string) iter.Seq2[Object, error] {
	return func(yield func(Object, error) bool) {
		at, err := b.at()
		if err != nil {
			yield(Object{}, err)
			return
		}
		name := path.Dir(prefix + "x")
		dir, err := at.Root.Open(name)
		if errors.Is(err, fs.ErrNotExist) {
			return // nobody has dropped anything there
		}
		if err != nil {
			yield(Object{}, err)
			return
		}
		defer dir.Close() //nolint:errcheck // read only
		for ctx.Err() == nil {
			entries, err := dir.ReadDir(1000)
			for _, e := range entries {
				key := path.Join(name, e.Name())
				if !strings.HasPrefix(key, prefix) {
					continue
				}
				o, err := Object{Key: key + "/"}, error(nil)
				if !e.IsDir() {
					o, err = at.lstat(key)
				}
				if errors.Is(err, fs.ErrNotExist) {
					continue // it was moved meanwhile
				}
				if !yield(o, err) {
					return
				}
			}
			if err != nil {
				if !errors.Is(err, io.EOF) {
					yield(Object{}, err)
				}
				return
			}
		}
		yield(Object{}, ctx.Err())
	}
}

// lstat is Stat without following a link.
func (b folder) lstat(key string) (Object, error) {
	info, err := b.Lstat(key)
	if err != nil {
		return Object{Key: key}, err
	}
	return objectOf(key, info), nil
}

func objectOf(key string, info fs.FileInfo) Object {
	o := Object{Key: key, Size: info.Size(), ETag: fmt.Sprintf("%x-%x-%x", inode(info), info.Size(), info.ModTime().UnixNano())}
	switch mode := info.Mode(); {
	case mode.IsRegular():
	case mode&fs.ModeSymlink != 0:
		o.Fault = "it is a link, which is not followed"
	default:
		o.Fault = "it is not a regular file"
	}
	return o
}

// Stat implements Bucket.
func (b *Folder) Stat(_ context.Context, key string) (Object, error) {
	at, err := b.at()
	if err != nil {
		return Object{}, notThere(err)
	}
	return at.lstat(key)
}

// notThere hides fs.ErrNotExist of the folder itself, which says nothing about a file.
func notThere(err error) error { return fmt.Errorf("the folder cannot be opened: %s", err) } //nolint:errorlint // hidden

// open opens a version for reading. It waits for no pipe, and follows no link to another file.
func (b folder) open(o Object) (*os.File, error) {
	now, err := b.lstat(o.Key) // opening a device can have an effect
	if err != nil {
		return nil, err
	}
	if now.Fault != "" || now.ETag != o.ETag {
		return nil, ErrChanged
	}
	f, err := b.Root.OpenFile(o.Key, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && objectOf(o.Key, info) != o {
		err = ErrChanged
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// Quiet implements Bucket.
func (b *Folder) Quiet(o Object) (least time.Duration, written bool) {
	at, err := b.at()
	if err != nil {
		return quietUnknown, false
	}
	f, err := at.open(o)
	if err != nil {
		return quietUnknown, errors.Is(err, ErrChanged)
	}
	defer f.Close() //nolint:errcheck // read only
	written, known := hasWriter(f)
	if known {
		return quietKnown, written
	}
	return quietUnknown, false
}

// Open implements Bucket.
func (b *Folder) Open(_ context.Context, o Object, offset int64) (io.ReadCloser, error) {
	at, err := b.at()
	if err != nil {
		return nil, notThere(err)
	}
	f, err := at.open(o)
	if err != nil {
		return nil, err
	}
	if _, err := f.Seek(offset, io.SeekStart); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// Create implements Bucket.
func (b *Folder) Create(_ context.Context, key string, text []byte) error {
	at, err := b.at()
	if err != nil {
		return notThere(err)
	}
	return at.write(key, bytes.NewReader(text), func(temporary string) error {
		err := at.Link(temporary, key) // unlike a renaming, it replaces nothing
		if err == nil || errors.Is(err, fs.ErrExist) {
			return errors.Join(err, at.Remove(temporary))
		}
		// A file system without links. A crash between the two calls leaves an empty file.
		f, err := at.OpenFile(key, os.O_WRONLY|os.O_CREATE|os.O_EXCL, fileMode)
		if err != nil {
			return errors.Join(err, at.Remove(temporary))
		}
		return errors.Join(f.Close(), at.Rename(temporary, key))
	})
}

// Put implements Bucket.
func (b *Folder) Put(_ context.Context, key string, f *os.File) error {
	at, err := b.at()
	if err != nil {
		return notThere(err)
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	return at.write(key, f, func(temporary string) error { return at.Rename(temporary, key) })
}

// write writes a temporary file beside key, which publish renames to key. A link at key is not
// followed.
func (b folder) write(key string, from io.Reader, publish func(temporary string) error) error {
	if err := b.MkdirAll(path.Dir(key), dirMode); err != nil {
		return err
	}
	temporary := temporaryOf(key)
	_ = b.Remove(temporary) // of a process that died
	f, err := b.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, fileMode)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, from)
	if err = errors.Join(err, f.Close()); err != nil {
		return errors.Join(err, b.Remove(temporary))
	}
	return publish(temporary)
}

// temporaryOf is the name of what is not complete yet beside key; names that begin with a dot are
// never taken.
func temporaryOf(key string) string { return path.Join(path.Dir(key), "."+path.Base(key)+".part") }

// Move implements Bucket. It links the file to its new name, which replaces nothing, and then
// removes the old name. A newer file that got the old name meanwhile gets it back.
func (b *Folder) Move(_ context.Context, o Object, to string) error {
	at, err := b.at()
	if err != nil {
		return notThere(err)
	}
	aside := asideOf(o.Key)
	if err := at.putBack(aside, o, to); err != nil {
		return err
	}
	now, err := at.lstat(o.Key)
	if err != nil {
		return err
	}
	if now != o {
		return ErrChanged
	}
	if err := at.MkdirAll(path.Dir(to), dirMode); err != nil {
		return err
	}
	err = at.Link(o.Key, to)
	if errors.Is(err, fs.ErrExist) || err == nil {
		moved, e := at.lstat(to)
		if e != nil {
			return e
		}
		if moved.ETag != o.ETag && err == nil { // replaced between the two calls
			return errors.Join(ErrChanged, at.Remove(to))
		}
		if moved.ETag != o.ETag {
			return fs.ErrExist
		}
	} else if _, e := at.lstat(to); e == nil {
		return fs.ErrExist
	} else if err := at.Rename(o.Key, to); err != nil { // a file system without links
		return err
	} else {
		return nil
	}
	if err := at.Rename(o.Key, aside); err != nil {
		return err
	}
	return at.putBack(aside, o, to)
}

// asideOf is the name of what a move has taken from key. It is no name that another program gives
// to a copy under way.
func asideOf(key string) string { return path.Join(path.Dir(key), "."+path.Base(key)+".campaignd") }

// putBack ends a move: what was set aside is removed if it is the file that is at its new name. A
// newer file gets its old name back, or the next free one, for example list-2.csv, if a third
// version has the name by now.
func (b folder) putBack(aside string, o Object, to string) error {
	was, err := b.lstat(aside)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if moved, err := b.lstat(to); err == nil && moved.ETag == was.ETag {
		return b.Remove(aside)
	}
	for n := 1; n <= mostNames; n++ {
		name := path.Join(path.Dir(o.Key), numbered(path.Base(o.Key), n))
		err := b.Link(aside, name)
		if errors.Is(err, fs.ErrExist) {
			if there, e := b.lstat(name); e != nil || there.ETag != was.ETag {
				continue
			}
			err = nil // it got the name before the process died
		}
		if err != nil {
			return err
		}
		return b.Remove(aside)
	}
	return fmt.Errorf("%d files have the name %s; a newer version of it waits as %s", mostNames, o.Key, aside)
}
