package uploads

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"
)

// left returns the names of the files in the folder.
func (f *Folder) left(t *testing.T) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(f.dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// A list whose length nobody told stops at the bound, and holds no space afterwards.
func TestNothingStaysOfAListThatIsTooLarge(t *testing.T) {
	s := newFolder(t, maxStaged)
	s.Limit = 8 << 10
	if err := s.Fits(8<<10 + 1); err == nil || !strings.Contains(err.Error(), "at most 8 KiB; divide it") {
		t.Errorf("got %v, want the bound and what to do", err)
	}
	if err := s.Fits(8 << 10); err != nil {
		t.Errorf("the largest list: got %v, want it to fit", err)
	}
	endless := &counted{Reader: zeros{}}
	_, err := s.Whole("a", endless)
	wantCode(t, "an endless list", err, TooLarge)
	if endless.n > s.Limit+1 {
		t.Errorf("got %d bytes read, want the bound of %d and one more", endless.n, s.Limit)
	}
	if _, err := s.Add("b", 0, io.LimitReader(zeros{}, s.Limit)); err != nil {
		t.Errorf("a list of the bound in parts: got %v, want it taken", err)
	}
	_, err = s.Add("b", s.Limit, strings.NewReader("x"))
	wantCode(t, "a byte more", err, TooLarge)
	if left := s.left(t); len(left) > 0 {
		t.Errorf("got the files %q, want none", left)
	}
}

type counted struct {
	io.Reader
	n int64
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.n += int64(n)
	return n, err
}

func TestNothingStaysOfAListThatIsNotWhole(t *testing.T) {
	s := newFolder(t, 10)
	for what, c := range map[string]struct {
		list io.Reader
		want Kind
	}{
		"a list that breaks off":    {broken("01234"), Broken},
		"a disk that becomes full":  {io.MultiReader(strings.NewReader("0123"), iotest.ErrReader(syscall.ENOSPC)), NoSpace},
		"more than all may have":    {strings.NewReader("0123456789x"), NoSpace},
		"nothing, and then a fault": {iotest.ErrReader(errors.New("reset")), Broken},
	} {
		_, err := s.Whole("a", c.list)
		wantCode(t, what, err, c.want)
		if left := s.left(t); len(left) > 0 {
			t.Errorf("%s: got the files %q, want none", what, left)
		}
	}
	if u, err := s.Whole("a", strings.NewReader("0123456789")); err != nil || u.Received != 10 {
		t.Errorf("as much as all may have: got %+v and %v, want 10 bytes", u, err)
	}
	if u, err := s.Whole("a", strings.NewReader("ab")); err != nil || u.Received != 2 {
		t.Errorf("another list: got %+v and %v, want it in place of the first", u, err)
	}
}

// Two lists that come under one name at once are never mixed.
func TestOneListComesUnderANameAtATime(t *testing.T) {
	s := newFolder(t, maxStaged)
	list, w := io.Pipe()
	ended := make(chan error)
	go func() {
		_, err := s.Whole("a", list)
		ended <- err
	}()
	_, _ = io.WriteString(w, "0123") // it has begun
	_, err := s.Whole("a", strings.NewReader("x"))
	wantCode(t, "a second list", err, Busy)
	_, err = s.Add("a", 4, strings.NewReader("x"))
	wantCode(t, "a part of another", err, Busy)
	_, err = s.Replace(t.Context(), "a", "b", "")
	wantCode(t, "the end of another", err, Busy)
	_ = w.Close() // it never fails
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(s.path("a")); err != nil || string(text) != "0123" {
		t.Errorf("got %q and %v, want the first list", text, err)
	}
}

// The list of before stays until the next one has come whole and is the one that was meant.
func TestAListIsReplacedByAWholeOneAlone(t *testing.T) {
	s := newFolder(t, maxStaged)
	add := func(name, text string) {
		t.Helper()
		if _, err := s.Whole(name, strings.NewReader(text)); err != nil {
			t.Fatal(err)
		}
	}
	is := func(when, want string) {
		t.Helper()
		if text, err := os.ReadFile(s.path("list")); err != nil || string(text) != want {
			t.Errorf("%s: got the list %q (%v), want %q", when, text, err, want)
		}
	}
	sum := func(text string) string { return sumOf(string(sumBytes(text))) }
	add("list", "old")
	add("next", "mixed")
	_, err := s.Replace(t.Context(), "next", "list", sum("other"))
	wantCode(t, "parts of two files", err, WrongHash)
	is("after it", "old")
	_, err = s.Replace(t.Context(), "next", "list", sum("other"))
	wantCode(t, "again", err, NotFound)
	add("next", "new")
	read := filepath.Join(t.TempDir(), "read")
	if err := s.Place("list", read); err != nil {
		t.Fatal(err)
	}
	for _, again := range []string{"", ", again after a lost answer"} {
		if u, err := s.Replace(t.Context(), "next", "list", sum("new")); err != nil || u.Received != 3 {
			t.Errorf("the whole list%s: got %+v and %v, want it", again, u, err)
		}
		is("the end"+again, "new")
	}
	if text, err := os.ReadFile(read); err != nil || string(text) != "old" {
		t.Errorf("a launch that reads the list of before: got %q (%v), want it as it was", text, err)
	}
}

func sumBytes(text string) []byte {
	one := sha256.Sum256([]byte(text))
	return one[:]
}

func TestASumIsOfTheHashesOfAllPieces(t *testing.T) {
	first := bytes.Repeat([]byte{'a'}, Piece)
	for what, c := range map[string]struct {
		list []byte
		want []byte
	}{
		"nothing":           {nil, nil},
		"less than a piece": {[]byte("b"), sumBytes("b")},
		"one piece":         {first, sumBytes(string(first))},
		"a byte more":       {append(bytes.Clone(first), 'b'), append(sumBytes(string(first)), sumBytes("b")...)},
	} {
		if got, err := Sum(t.Context(), bytes.NewReader(c.list)); err != nil || got != sumOf(string(c.want)) {
			t.Errorf("%s: got %s (%v), want %s", what, got, err, sumOf(string(c.want)))
		}
	}
}
