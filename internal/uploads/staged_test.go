package uploads

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"
	"time"
)

func sumOf(text string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(text))) }

func newFolder(t *testing.T, most int64) *Folder {
	t.Helper()
	f := New(filepath.Join(t.TempDir(), "uploads"), nil)
	f.most = most
	return f
}

// broken is a part whose connection ends after text.
func broken(text string) io.Reader {
	r, w := io.Pipe()
	go func() {
		_, _ = io.WriteString(w, text) // the reader takes it all
		w.CloseWithError(io.ErrUnexpectedEOF)
	}()
	return r
}

func wantCode(t *testing.T, what string, err error, code Kind) {
	t.Helper()
	var told *Fault
	if !errors.As(err, &told) || told.Kind != code {
		t.Errorf("%s: got %v, want %s", what, err, code)
	}
}

func TestAPartThatBreaksOffIsKept(t *testing.T) {
	s := newFolder(t, maxStaged)
	hash := sumOf("0123456789")
	_, err := s.Add(hash, 0, broken("01234"))
	wantCode(t, "a part that breaks off", err, Broken)
	for _, offset := range []int64{0, 4, 6, 10} {
		_, err := s.Add(hash, offset, strings.NewReader("x"))
		wantCode(t, fmt.Sprint("offset ", offset), err, WrongOffset)
		var told *Fault
		if errors.As(err, &told) && told.Received != 5 {
			t.Errorf("offset %d: got %d, want 5 received", offset, told.Received)
		}
	}
	wantCode(t, "a list that is not whole", s.Link(t.Context(), sumOf("other"), "x"), NotFound)
	if u, err := s.Add(hash, 5, strings.NewReader("56789")); err != nil || u.Received != 10 {
		t.Fatalf("got %+v and %v, want 10 bytes", u, err)
	}
	name := filepath.Join(t.TempDir(), "list")
	if err := s.Link(t.Context(), hash, name); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(name); err != nil || string(text) != "0123456789" {
		t.Errorf("got %q and %v, want the whole list", text, err)
	}
}

// A part that comes while a launch reads the list would change the list under it.
func TestAPartOfALaunchedListIsRefused(t *testing.T) {
	s := newFolder(t, maxStaged)
	hash := sumOf("0123456789")
	if _, err := s.Add(hash, 0, strings.NewReader("0123456789")); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(s.dir, folderPrefix+"1")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, ListPrefix+"x.csv")
	if err := s.Link(t.Context(), hash, name); err != nil {
		t.Fatal(err)
	}
	_, err := s.Add(hash, 10, strings.NewReader("more"))
	wantCode(t, "a part of a list that is launched", err, NotNow)
	if text, err := os.ReadFile(name); err != nil || string(text) != "0123456789" {
		t.Errorf("the list of the launch: got %q and %v, want it unchanged", text, err)
	}
	if err := os.RemoveAll(dir); err != nil { // the launch has ended
		t.Fatal(err)
	}
	_, err = s.Add(hash, 7, strings.NewReader("more"))
	wantCode(t, "after the launch", err, WrongOffset)
}

// A list whose content does not have its hash is never launched, and can be uploaded again.
func TestAListThatIsNotThatOfItsHashIsRemoved(t *testing.T) {
	s := newFolder(t, maxStaged)
	hash := sumOf("0123456789")
	for _, text := range []string{"012345678x", "01234", "01234567890"} {
		if _, err := s.Add(hash, 0, strings.NewReader(text)); err != nil {
			t.Fatal(err)
		}
		wantCode(t, text, s.Link(t.Context(), hash, filepath.Join(t.TempDir(), "list")), WrongHash)
		_, err := s.Look(hash)
		wantCode(t, text+", afterwards", err, NotFound)
	}
}

func TestOneRequestWritesToAListAtATime(t *testing.T) {
	s := newFolder(t, maxStaged)
	hash := sumOf("ab")
	part, w := io.Pipe()
	ended := make(chan error)
	go func() {
		_, err := s.Add(hash, 0, part)
		ended <- err
	}()
	_, _ = io.WriteString(w, "a") // it has begun
	_, err := s.Add(hash, 0, strings.NewReader("ab"))
	wantCode(t, "a second part", err, Busy)
	wantCode(t, "a launch", s.Link(t.Context(), hash, "x"), Busy)
	wantCode(t, "a removal", s.Remove(hash), Busy)
	if err := errors.Join(w.Close(), <-ended); err != nil {
		t.Fatal(err)
	}
	if u, err := s.Add(hash, 1, strings.NewReader("b")); err != nil || u.Received != 2 {
		t.Errorf("got %+v and %v, want 2 bytes", u, err)
	}
}

func TestPartsHaveBounds(t *testing.T) {
	s := newFolder(t, 10)
	first, second := sumOf("a"), sumOf("b")
	if _, err := s.Add(first, 0, strings.NewReader("0123456")); err != nil {
		t.Fatal(err)
	}
	_, err := s.Add(second, 0, strings.NewReader("0123"))
	wantCode(t, "more than all lists may have", err, NoSpace)
	if u, err := s.Look(second); err != nil || u.Received != 0 {
		t.Errorf("after a refusal: got %+v and %v, want nothing received", u, err)
	}
	if u, err := s.Add(second, 0, strings.NewReader("012")); err != nil || u.Received != 3 {
		t.Errorf("got %+v and %v, want 3 bytes", u, err)
	}
	s = newFolder(t, maxStaged)
	_, err = s.Add(first, 0, io.LimitReader(zeros{}, MaxPart+1))
	wantCode(t, "a part that is too large", err, TooLarge)
	if err := os.Truncate(s.path(first), MaxList-1); err != nil { // sparse
		t.Fatal(err)
	}
	_, err = s.Add(first, MaxList-1, strings.NewReader("xx"))
	wantCode(t, "a list that is too large", err, TooLarge)
	_, err = s.Look(first)
	wantCode(t, "after a refusal", err, NotFound)
}

// zeros reads as zeros for ever.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

func TestAListIsForgottenADayAfterItsLastPart(t *testing.T) {
	s := newFolder(t, maxStaged)
	hash := sumOf("a")
	u, err := s.Add(hash, 0, strings.NewReader("a"))
	if err != nil || time.Until(u.ExpiresAt) < KeptFor-time.Minute {
		t.Fatalf("got %+v and %v, want a day", u, err)
	}
	other := filepath.Join(s.dir, "other")
	if err := os.WriteFile(other, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.Expire(u.ExpiresAt.Add(-time.Second - KeptFor)); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Look(hash); err != nil {
		t.Errorf("before its end: got %v, want the list", err)
	}
	if err := s.Expire(u.ExpiresAt.Add(time.Second - KeptFor)); err != nil {
		t.Fatal(err)
	}
	_, err = s.Look(hash)
	wantCode(t, "after its end", err, NotFound)
	if _, err := os.Stat(other); err != nil {
		t.Errorf("another file: got %v, want it", err)
	}
}

// A full disk refuses the part, and what was there stays.
func TestAFullDiskRefusesAPart(t *testing.T) {
	s := newFolder(t, maxStaged)
	hash := sumOf("a")
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/dev/full", s.path(hash)); err != nil {
		t.Fatal(err)
	}
	_, err := s.Add(hash, 0, strings.NewReader("a"))
	wantCode(t, "a full disk", err, NoSpace)
}

// The ledger is on the same disk, so what a refused part had written is given back.
func TestAFullDiskKeepsNothingOfAPart(t *testing.T) {
	s := newFolder(t, maxStaged)
	hash := sumOf("a")
	if _, err := s.Add(hash, 0, strings.NewReader("abc")); err != nil {
		t.Fatal(err)
	}
	_, err := s.Add(hash, 3, io.MultiReader(strings.NewReader("defg"), iotest.ErrReader(syscall.ENOSPC)))
	wantCode(t, "a disk that becomes full", err, NoSpace)
	if u, err := s.Look(hash); err != nil || u.Received != 3 {
		t.Errorf("after it: got %d bytes (%v), want the 3 of the part before", u.Received, err)
	}
}
