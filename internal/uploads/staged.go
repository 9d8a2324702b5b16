package uploads

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"campaignd/recipients"
)

// The limits of lists that arrive in parts. A list stays on the disk until a launch takes it, or
// until no part came for KeptFor.
const (
	// KeptFor is how long a list stays without a new part.
	KeptFor = 24 * time.Hour
	// MaxPart is the most bytes of a part, and MaxList of a list, as it is sent.
	MaxPart   = 32 << 20
	MaxList   = recipients.MaxSize
	maxStaged = 16 << 30 // bytes of all of them together
	maxLists  = 1000     // of them
)

// stagedPrefix begins the name of each list that arrives in parts. Its hash follows, its id, or the
// name that the caller has for it.
const stagedPrefix = "staged-"

// Upload is the state of a list that arrives in parts.
type Upload struct {
	ID        string // of a list whose hash is not known yet; "": Hash names it
	Hash      string
	Received  int64 // bytes from its beginning
	ExpiresAt time.Time
}

func (f *Folder) path(name string) string { return filepath.Join(f.dir, stagedPrefix+name) }

// Look returns how much of a list has arrived.
func (f *Folder) Look(hash string) (Upload, error) {
	info, err := os.Stat(f.path(hash))
	if errors.Is(err, os.ErrNotExist) {
		return Upload{}, absent(hash)
	}
	if err != nil {
		return Upload{}, err
	}
	u := Upload{Hash: hash, Received: info.Size(), ExpiresAt: info.ModTime().Add(KeptFor).UTC()}
	if IsID(hash) {
		u.ID, u.Hash = hash, ""
	}
	return u, nil
}

// TakesNone is the fault of a list that is given to a process that sends nothing.
func TakesNone() *Fault {
	return &Fault{Closed, "this process sends nothing, so it takes no list; give the list to one that sends", 0}
}

// begin is hold for what comes of a list.
func (f *Folder) begin(hash string) error {
	if f.Closed {
		return TakesNone()
	}
	return f.hold(hash)
}

// hold keeps all others from changing a list until release.
func (f *Folder) hold(hash string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.writing[hash] {
		return &Fault{Busy, "another request writes to this list; try again when it has ended", 0}
	}
	f.writing[hash] = true
	return nil
}

func (f *Folder) release(hash string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.writing, hash)
}

// Add appends a part whose first byte is at offset in the list. If the part ends early, what
// arrived is kept; if the disk is full, nothing of the part is, because the ledger is on that disk.
// A list that becomes too large is removed, because no further part can correct it.
func (f *Folder) Add(hash string, offset int64, part io.Reader) (u Upload, err error) {
	if err := f.begin(hash); err != nil {
		return u, err
	}
	defer f.release(hash)
	if err := os.MkdirAll(f.dir, 0o700); err != nil {
		return u, err
	}
	if read, err := f.isRead(hash); err != nil {
		return u, err
	} else if read {
		return u, &Fault{NotNow, "the list has come whole, and a launch reads it: no part is missing", 0}
	}
	received, err := f.Look(hash)
	if err != nil && (!is(err, NotFound) || IsID(hash)) {
		return u, err
	}
	free, err := f.free(err != nil)
	if err != nil {
		return u, err
	}
	if received.Received != offset {
		return u, &Fault{WrongOffset,
			fmt.Sprintf("the part begins at byte %d, and %d bytes have come: want the next one", offset, received.Received),
			received.Received}
	}
	if err := f.write(hash, offset, io.LimitReader(part, min(free, f.Limit-offset, MaxPart)+1)); err != nil {
		return u, err
	}
	if u, err = f.Look(hash); err != nil {
		return u, err
	}
	switch added := u.Received - offset; {
	case u.Received > f.Limit:
		return u, errors.Join(f.Fits(u.Received), f.remove(hash))
	case added > MaxPart:
		err = &Fault{TooLarge, tooLargePart, 0}
	case added > free:
		err = f.noRoom()
	default:
		return u, nil
	}
	return u, errors.Join(err, os.Truncate(f.path(hash), offset))
}

const tooLargePart = "a part has at most 32 MiB"

func (f *Folder) noRoom() *Fault {
	return noSpace(fmt.Sprintf("all lists that arrive in parts have at most %s together", binary(f.most)))
}

// binary writes a number of bytes in the largest unit that divides it.
func binary(n int64) string {
	for _, u := range []struct {
		name string
		size int64
	}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}} {
		if n >= u.size && n%u.size == 0 {
			return fmt.Sprint(n/u.size, " ", u.name)
		}
	}
	return fmt.Sprint(n, " bytes")
}

// write appends a part to its file.
func (f *Folder) write(hash string, offset int64, part io.Reader) error {
	list, err := os.OpenFile(f.path(hash), os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	if _, err = list.Seek(offset, io.SeekStart); err == nil {
		_, err = io.Copy(list, part)
	}
	err = errors.Join(err, list.Close())
	switch {
	case err == nil:
		return nil
	case full(err):
		return errors.Join(NoSpaceLeft(), os.Truncate(f.path(hash), offset))
	}
	return &Fault{Broken, fmt.Sprintf("the part was not read to its end: %v", err), 0}
}

// full reports whether err says that a disk, or the share of a user, is full.
func full(err error) bool { return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) }

// NoSpaceLeft is the fault of a full disk.
func NoSpaceLeft() *Fault { return noSpace("the disk of the server is full") }

func noSpace(why string) *Fault {
	return &Fault{NoSpace, why + "; the next part is taken when there is space", 0}
}

// free returns how many more bytes the lists may have, or a fault if there may be no more lists and
// another one begins.
func (f *Folder) free(another bool) (int64, error) {
	all, err := f.all()
	if another && len(all) >= maxLists {
		return 0, noSpace(fmt.Sprintf("%d lists arrive in parts, and there may be no more", len(all)))
	}
	left := f.most
	for _, info := range all {
		left -= info.Size()
	}
	return max(left, 0), err
}

// all returns the files of all lists.
func (f *Folder) all() (files []os.FileInfo, err error) {
	entries, err := os.ReadDir(f.dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	for _, e := range entries {
		if !e.Type().IsRegular() || !strings.HasPrefix(e.Name(), stagedPrefix) {
			continue
		}
		info, err := e.Info()
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		files = append(files, info)
	}
	return files, nil
}

// Kept counts the lists in the folder dir of a process: those that arrive in parts, and those that
// are being checked or imported.
func Kept(dir string) (n int64, err error) {
	for _, pattern := range []string{stagedPrefix + "*", filepath.Join(folderPrefix+"*", ListPrefix+"*")} {
		names, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			return 0, err
		}
		n += int64(len(names))
	}
	return n, nil
}

// Remove removes a list.
func (f *Folder) Remove(hash string) error {
	if err := f.hold(hash); err != nil {
		return err
	}
	defer f.release(hash)
	return f.remove(hash)
}

func (f *Folder) remove(hash string) error {
	if err := os.Remove(f.path(hash)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// Link gives a complete list a second name. If the content does not have the hash, link removes the
// list, because no further part can correct it.
func (f *Folder) Link(ctx context.Context, hash, name string) error {
	if err := f.hold(hash); err != nil {
		return err
	}
	defer f.release(hash)
	if _, err := f.Look(hash); err != nil {
		return err
	}
	got, err := hashOf(ctx, f.path(hash))
	if err != nil {
		return err
	}
	if got != hash {
		return errors.Join(os.Remove(f.path(hash)), wrongHash(hash))
	}
	return os.Link(f.path(hash), name)
}

// Open opens what has come of a list, to read its beginning.
func (f *Folder) Open(name string) (*os.File, error) {
	list, err := os.Open(f.path(name))
	if errors.Is(err, os.ErrNotExist) {
		return nil, absent(name)
	}
	return list, err
}

// Place gives a list that arrived in parts a second name, whatever it is named by. Link is for
// lists that are named by their hash.
func (f *Folder) Place(name, path string) error {
	if err := f.hold(name); err != nil {
		return err
	}
	defer f.release(name)
	if _, err := f.Look(name); err != nil {
		return err
	}
	return os.Link(f.path(name), path)
}

// isRead reports whether a launch, a check or a forecast reads the list, or an import that is not
// finished. They have it under a second name (link), so a further part would change their list.
func (f *Folder) isRead(hash string) (bool, error) {
	staged, err := os.Stat(f.path(hash))
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	names, err := filepath.Glob(filepath.Join(f.dir, folderPrefix+"*", ListPrefix+"*"))
	return slices.ContainsFunc(names, func(name string) bool {
		list, err := os.Stat(name)
		return err == nil && os.SameFile(staged, list)
	}), err
}

// hashOf returns the SHA-256 of a file, and reads no further when ctx has ended.
func hashOf(ctx context.Context, path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	sum, piece := sha256.New(), make([]byte, 1<<20)
	for ctx.Err() == nil {
		n, err := f.Read(piece)
		sum.Write(piece[:n])
		if errors.Is(err, io.EOF) {
			return hex.EncodeToString(sum.Sum(nil)), nil
		}
		if err != nil {
			return "", err
		}
	}
	return "", ctx.Err()
}

// Expire removes the lists without a new part since before.
func (f *Folder) Expire(before time.Time) error {
	all, err := f.all()
	errs := []error{err}
	for _, info := range all {
		if hash := strings.TrimPrefix(info.Name(), stagedPrefix); info.ModTime().Before(before) {
			if err := f.Remove(hash); err != nil {
				errs = append(errs, err)
			}
		}
	}
	return errors.Join(errs...)
}
