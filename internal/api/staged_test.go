package api

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"campaignd/internal/client"
)

func sumOf(text string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(text))) }

func newStaging(t *testing.T, most int64) *staging {
	t.Helper()
	return &staging{dir: filepath.Join(t.TempDir(), "uploads"), most: most, busy: map[string]bool{}}
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

func wantCode(t *testing.T, what string, err error, code string) {
	t.Helper()
	var told *Error
	if !errors.As(err, &told) || told.Code != code {
		t.Errorf("%s: got %v, want %s", what, err, code)
	}
}

func TestAPartThatBreaksOffIsKept(t *testing.T) {
	s := newStaging(t, maxStaged)
	hash := sumOf("0123456789")
	_, err := s.add(hash, 0, broken("01234"))
	wantCode(t, "a part that breaks off", err, client.CodeInvalid)
	for _, offset := range []int64{0, 4, 6, 10} {
		_, err := s.add(hash, offset, strings.NewReader("x"))
		wantCode(t, fmt.Sprint("offset ", offset), err, client.CodeWrongOffset)
		var told *Error
		if errors.As(err, &told) && told.Meta["received"] != int64(5) {
			t.Errorf("offset %d: got %v, want 5 received", offset, told.Meta)
		}
	}
	wantCode(t, "a list that is not whole", s.link(t.Context(), sumOf("other"), "x"), client.CodeNotFound)
	if u, err := s.add(hash, 5, strings.NewReader("56789")); err != nil || u.Received != 10 {
		t.Fatalf("got %+v and %v, want 10 bytes", u, err)
	}
	name := filepath.Join(t.TempDir(), "list")
	if err := s.link(t.Context(), hash, name); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(name); err != nil || string(text) != "0123456789" {
		t.Errorf("got %q and %v, want the whole list", text, err)
	}
}

// A part that comes while a launch reads the list would change the list under it.
func TestAPartOfALaunchedListIsRefused(t *testing.T) {
	s := newStaging(t, maxStaged)
	hash := sumOf("0123456789")
	if _, err := s.add(hash, 0, strings.NewReader("0123456789")); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(s.dir, uploadPrefix+"1")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, listPrefix+"x.csv")
	if err := s.link(t.Context(), hash, name); err != nil {
		t.Fatal(err)
	}
	_, err := s.add(hash, 10, strings.NewReader("more"))
	wantCode(t, "a part of a list that is launched", err, client.CodeNotNow)
	if text, err := os.ReadFile(name); err != nil || string(text) != "0123456789" {
		t.Errorf("the list of the launch: got %q and %v, want it unchanged", text, err)
	}
	if err := os.RemoveAll(dir); err != nil { // the launch has ended
		t.Fatal(err)
	}
	_, err = s.add(hash, 7, strings.NewReader("more"))
	wantCode(t, "after the launch", err, client.CodeWrongOffset)
}

// A list whose content does not have its hash is never launched, and can be uploaded again.
func TestAListThatIsNotThatOfItsHashIsRemoved(t *testing.T) {
	s := newStaging(t, maxStaged)
	hash := sumOf("0123456789")
	for _, text := range []string{"012345678x", "01234", "01234567890"} {
		if _, err := s.add(hash, 0, strings.NewReader(text)); err != nil {
			t.Fatal(err)
		}
		wantCode(t, text, s.link(t.Context(), hash, filepath.Join(t.TempDir(), "list")), client.CodeWrongHash)
		_, err := s.look(hash)
		wantCode(t, text+", afterwards", err, client.CodeNotFound)
	}
}

func TestOneRequestWritesToAListAtATime(t *testing.T) {
	s := newStaging(t, maxStaged)
	hash := sumOf("ab")
	part, w := io.Pipe()
	ended := make(chan error)
	go func() {
		_, err := s.add(hash, 0, part)
		ended <- err
	}()
	_, _ = io.WriteString(w, "a") // it has begun
	_, err := s.add(hash, 0, strings.NewReader("ab"))
	wantCode(t, "a second part", err, client.CodeBusy)
	wantCode(t, "a launch", s.link(t.Context(), hash, "x"), client.CodeBusy)
	wantCode(t, "a removal", s.remove(hash), client.CodeBusy)
	if err := errors.Join(w.Close(), <-ended); err != nil {
		t.Fatal(err)
	}
	if u, err := s.add(hash, 1, strings.NewReader("b")); err != nil || u.Received != 2 {
		t.Errorf("got %+v and %v, want 2 bytes", u, err)
	}
}

func TestPartsHaveBounds(t *testing.T) {
	s := newStaging(t, 10)
	first, second := sumOf("a"), sumOf("b")
	if _, err := s.add(first, 0, strings.NewReader("0123456")); err != nil {
		t.Fatal(err)
	}
	_, err := s.add(second, 0, strings.NewReader("0123"))
	wantCode(t, "more than all lists may have", err, client.CodeNoSpace)
	if u, err := s.look(second); err != nil || u.Received != 0 {
		t.Errorf("after a refusal: got %+v and %v, want nothing received", u, err)
	}
	if u, err := s.add(second, 0, strings.NewReader("012")); err != nil || u.Received != 3 {
		t.Errorf("got %+v and %v, want 3 bytes", u, err)
	}
	s = newStaging(t, maxStaged)
	_, err = s.add(first, 0, io.LimitReader(zeros{}, client.MaxPart+1))
	wantCode(t, "a part that is too large", err, client.CodeTooLarge)
	if err := os.Truncate(s.path(first), maxList-1); err != nil { // sparse
		t.Fatal(err)
	}
	_, err = s.add(first, maxList-1, strings.NewReader("xx"))
	wantCode(t, "a list that is too large", err, client.CodeTooLarge)
	if u, err := s.look(first); err != nil || u.Received != maxList-1 {
		t.Errorf("after a refusal: got %+v and %v, want what was there before", u, err)
	}
}

// zeros reads as zeros for ever.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

func TestAListIsForgottenADayAfterItsLastPart(t *testing.T) {
	s := newStaging(t, maxStaged)
	hash := sumOf("a")
	u, err := s.add(hash, 0, strings.NewReader("a"))
	if err != nil || time.Until(u.ExpiresAt) < stagedFor-time.Minute {
		t.Fatalf("got %+v and %v, want a day", u, err)
	}
	other := filepath.Join(s.dir, "other")
	if err := os.WriteFile(other, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.expire(u.ExpiresAt.Add(-time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := s.look(hash); err != nil {
		t.Errorf("before its end: got %v, want the list", err)
	}
	if err := s.expire(u.ExpiresAt.Add(time.Second)); err != nil {
		t.Fatal(err)
	}
	_, err = s.look(hash)
	wantCode(t, "after its end", err, client.CodeNotFound)
	if _, err := os.Stat(other); err != nil {
		t.Errorf("another file: got %v, want it", err)
	}
}

// A full disk refuses the part, and what was there stays.
func TestAFullDiskRefusesAPart(t *testing.T) {
	s := newStaging(t, maxStaged)
	hash := sumOf("a")
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/dev/full", s.path(hash)); err != nil {
		t.Fatal(err)
	}
	_, err := s.add(hash, 0, strings.NewReader("a"))
	wantCode(t, "a full disk", err, client.CodeNoSpace)
}

// A caller's id of a request stands in the log, so it has plain characters only.
func TestAnIDOfARequestIsPlain(t *testing.T) {
	for given, kept := range map[string]bool{"": false, "az-AZ_09.": true, strings.Repeat("a", 100): true, strings.Repeat("a", 101): false,
		"a b": false, "a\nb": false, "a/b": false, "a:b": false, "a@b": false, "a[b": false, "a`b": false, "a{b": false, "é": false} {
		if got := requestID(given); (got == given) != kept || got == "" {
			t.Errorf("%q: got %q, want it kept: %v", given, got, kept)
		}
	}
}

// The name of an upload becomes that of a file.
func TestANameOfAFileIsPlain(t *testing.T) {
	for given, want := range map[string]string{"az.AZ-09": "az.AZ-09", "a/b\\c": "a_b_c", "a\x80b": "a_b", "ü 1.csv": "__1.csv",
		strings.Repeat("a", 90) + ".csv": strings.Repeat("a", 76) + ".csv"} {
		if got := plainName(given); got != want {
			t.Errorf("%q: got %q, want %q", given, got, want)
		}
	}
}
