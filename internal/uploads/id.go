package uploads

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"
)

// idPrefix begins the id of a list whose hash is not known yet. 32 hexadecimal digits follow.
const idPrefix = "up_"

// IsID reports whether name has the form of an id.
func IsID(name string) bool {
	digits, ok := strings.CutPrefix(name, idPrefix)
	return ok && len(digits) == 32 && strings.Trim(digits, "0123456789abcdef") == ""
}

func absent(name string) *Fault {
	if IsID(name) {
		return &Fault{NotFound, fmt.Sprintf("no list arrives as %s: it has come whole and its hash names it, or it was removed; "+
			"it is removed when no part came for %d hours", name, KeptFor/time.Hour), 0}
	}
	return &Fault{NotFound, "nothing of the list " + name + " has been uploaded", 0}
}

// Start begins a list whose hash is not known yet, and gives it an id. Parts are added to the id,
// and Finish names the list by its hash.
func (f *Folder) Start() (Upload, error) {
	if f.Closed {
		return Upload{}, TakesNone()
	}
	if err := os.MkdirAll(f.dir, 0o700); err != nil {
		return Upload{}, err
	}
	if _, err := f.free(true); err != nil {
		return Upload{}, err
	}
	b := make([]byte, 16)
	_, _ = rand.Read(b) // it never fails
	id := idPrefix + hex.EncodeToString(b)
	list, err := os.OpenFile(f.path(id), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err == nil {
		err = list.Close()
	}
	if full(err) {
		return Upload{}, NoSpaceLeft()
	}
	if err != nil {
		return Upload{}, err
	}
	return f.Look(id)
}

// Finish names a list that has come whole by its hash, in place of its id. If the content does not
// have the hash, Finish removes the list, because no further part can correct it. A second call
// with the same hash, as after an answer that was lost, has the same result.
func (f *Folder) Finish(ctx context.Context, id, hash string) (Upload, error) {
	if err := f.hold(id); err != nil {
		return Upload{}, err
	}
	defer f.release(id)
	if err := f.hold(hash); err != nil {
		return Upload{}, err
	}
	defer f.release(hash)
	if _, err := f.Look(id); is(err, NotFound) {
		if got, _ := hashOf(ctx, f.path(hash)); got != hash {
			return Upload{}, err
		}
		return f.Look(hash)
	} else if err != nil {
		return Upload{}, err
	}
	got, err := hashOf(ctx, f.path(id))
	if err != nil {
		return Upload{}, err
	}
	if got != hash {
		return Upload{}, errors.Join(os.Remove(f.path(id)), wrongHash(hash))
	}
	if err := os.Rename(f.path(id), f.path(hash)); err != nil {
		return Upload{}, err
	}
	return f.Look(hash)
}

func wrongHash(hash string) *Fault {
	return &Fault{WrongHash, "the uploaded parts are not the list " + hash + "; they are removed: upload the list again", 0}
}
