package drops

import (
	"context"
	"errors"
	"io"
	"iter"
	"os"
	"time"
)

// ErrChanged says that a file is not the version that was seen.
var ErrChanged = errors.New("the file was replaced")

// Object is one version of a file in a bucket.
type Object struct {
	Key  string
	ETag string // changes with the content
	Size int64
	// Fault is why it cannot be a list, for example that it is a link; "": it can.
	Fault string
}

// Bucket stores files: a local folder, or what speaks S3. A key that names no file is
// fs.ErrNotExist.
type Bucket interface {
	// List yields the files whose keys begin with prefix and have no further slash, and the folders
	// there, whose keys end with one.
	List(ctx context.Context, prefix string) iter.Seq2[Object, error]
	// Quiet is how long o must be seen unchanged until it is complete. written means that a process
	// writes it now.
	Quiet(o Object) (least time.Duration, written bool)
	// Every is how often to list.
	Every() time.Duration
	// Written is when a version was written, or earlier; zero if that is not known.
	Written(o Object) time.Time
	Stat(ctx context.Context, key string) (Object, error)
	// Open reads a version from an offset on, or returns ErrChanged.
	Open(ctx context.Context, o Object, offset int64) (io.ReadCloser, error)
	// Create writes a new file at once, or returns fs.ErrExist.
	Create(ctx context.Context, key string, text []byte) error
	// Put writes a file at once, and replaces it.
	Put(ctx context.Context, key string, f *os.File) error
	// Move renames a version. It returns fs.ErrExist when to is another file, and ErrChanged when o is
	// another version now. It may be repeated after it was interrupted.
	Move(ctx context.Context, o Object, to string) error
}
