package api

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"campaignd/internal/client"
	"campaignd/internal/client/resource"
)

// The limits of lists that arrive in parts. A list stays on the disk until a launch takes it, or
// until no part came for stagedFor.
const (
	stagedFor = 24 * time.Hour
	maxStaged = 16 << 30 // bytes of all of them together
)

// stagedPrefix begins the name of each list that arrives in parts; its hash follows.
const stagedPrefix = "staged-"

// staging keeps lists that arrive in parts. The name of a list is the SHA-256 of its content, so
// that a client that restarts finds what it sent before. Only the length of the file tells how much
// has arrived, so that after a crash no other record can disagree with it.
type staging struct {
	dir  string
	most int64 // maxStaged

	mu   sync.Mutex
	busy map[string]bool // hashes of the lists to which a part is being written
}

func (s *staging) path(hash string) string { return filepath.Join(s.dir, stagedPrefix+hash) }

// look returns how much of a list has arrived.
func (s *staging) look(hash string) (resource.Upload, error) {
	info, err := os.Stat(s.path(hash))
	if errors.Is(err, os.ErrNotExist) {
		return resource.Upload{}, &Error{http.StatusNotFound, client.CodeNotFound, "nothing of the list " + hash + " has been uploaded", nil}
	}
	if err != nil {
		return resource.Upload{}, err
	}
	return resource.Upload{Hash: hash, Received: info.Size(), ExpiresAt: info.ModTime().Add(stagedFor).UTC()}, nil
}

// hold keeps all others from changing a list until release.
func (s *staging) hold(hash string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.busy[hash] {
		return &Error{http.StatusServiceUnavailable, client.CodeBusy, "another request writes to this list; try again when it has ended", nil}
	}
	s.busy[hash] = true
	return nil
}

func (s *staging) release(hash string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.busy, hash)
}

// add appends a part whose first byte is at offset in the list. If the part ends early, what
// arrived is kept.
func (s *staging) add(hash string, offset int64, part io.Reader) (u resource.Upload, err error) {
	if err := s.hold(hash); err != nil {
		return u, err
	}
	defer s.release(hash)
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return u, err
	}
	if read, err := s.isRead(hash); err != nil {
		return u, err
	} else if read {
		return u, &Error{http.StatusConflict, client.CodeNotNow, "the list has come whole, and a launch reads it: no part is missing", nil}
	}
	free, err := s.free()
	if err != nil {
		return u, err
	}
	received, err := s.look(hash)
	var told *Error
	if err != nil && (!errors.As(err, &told) || told.Code != client.CodeNotFound) {
		return u, err
	}
	if received.Received != offset {
		return u, &Error{http.StatusConflict, client.CodeWrongOffset,
			fmt.Sprintf("the part begins at byte %d, and %d bytes have come: want the next one", offset, received.Received),
			map[string]any{"received": received.Received}}
	}
	if err := s.write(hash, offset, io.LimitReader(part, min(free, maxList-offset, client.MaxPart)+1)); err != nil {
		return u, err
	}
	if u, err = s.look(hash); err != nil {
		return u, err
	}
	switch added := u.Received - offset; {
	case u.Received > maxList:
		err = &Error{http.StatusRequestEntityTooLarge, client.CodeTooLarge, fmt.Sprintf("a list has at most %d bytes", int64(maxList)), nil}
	case added > client.MaxPart:
		err = &Error{http.StatusRequestEntityTooLarge, client.CodeTooLarge, tooLargePart, nil}
	case added > free:
		err = noSpace(fmt.Sprintf("all lists that arrive in parts have at most %d bytes together", s.most))
	default:
		return u, nil
	}
	return u, errors.Join(err, os.Truncate(s.path(hash), offset))
}

const tooLargePart = "a part has at most 32 MiB"

// write appends a part to its file.
func (s *staging) write(hash string, offset int64, part io.Reader) error {
	f, err := os.OpenFile(s.path(hash), os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	if _, err = f.Seek(offset, io.SeekStart); err == nil {
		_, err = io.Copy(f, part)
	}
	err = errors.Join(err, f.Close())
	switch {
	case err == nil:
		return nil
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return noSpace("the disk of the server is full")
	}
	return refuse("the part was not read to its end: %v", err)
}

func noSpace(why string) *Error {
	return &Error{http.StatusInsufficientStorage, client.CodeNoSpace, why + "; the next part is taken when there is space", nil}
}

// free returns how many more bytes the lists may have.
func (s *staging) free() (int64, error) {
	all, err := s.all()
	left := s.most
	for _, info := range all {
		left -= info.Size()
	}
	return max(left, 0), err
}

// all returns the files of all lists.
func (s *staging) all() (files []os.FileInfo, err error) {
	entries, err := os.ReadDir(s.dir)
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

// remove removes a list.
func (s *staging) remove(hash string) error {
	if err := s.hold(hash); err != nil {
		return err
	}
	defer s.release(hash)
	if err := os.Remove(s.path(hash)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// link gives a complete list a second name. If the content does not have the hash, link removes the
// list, because no further part can correct it.
func (s *staging) link(ctx context.Context, hash, name string) error {
	if err := s.hold(hash); err != nil {
		return err
	}
	defer s.release(hash)
	if _, err := s.look(hash); err != nil {
		return err
	}
	got, err := hashOf(ctx, s.path(hash))
	if err != nil {
		return err
	}
	if got != hash {
		return errors.Join(os.Remove(s.path(hash)), &Error{http.StatusUnprocessableEntity, client.CodeWrongHash,
			"the uploaded parts are not the list " + hash + "; they are removed: upload the list again", nil})
	}
	return os.Link(s.path(hash), name)
}

// isRead reports whether a launch, a check or a forecast reads the list, or an import that is not
// finished. They have it under a second name (link), so a further part would change their list.
func (s *staging) isRead(hash string) (bool, error) {
	staged, err := os.Stat(s.path(hash))
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	names, err := filepath.Glob(filepath.Join(s.dir, uploadPrefix+"*", listPrefix+"*"))
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

// expire removes the lists without a new part for stagedFor.
func (s *staging) expire(now time.Time) error {
	all, err := s.all()
	errs := []error{err}
	for _, info := range all {
		if hash := strings.TrimPrefix(info.Name(), stagedPrefix); now.Sub(info.ModTime()) > stagedFor {
			if err := s.remove(hash); err != nil {
				errs = append(errs, err)
			}
		}
	}
	return errors.Join(errs...)
}
