package uploads

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func start(t *testing.T, s *Folder) string {
	t.Helper()
	u, err := s.Start()
	if err != nil || !IsID(u.ID) || u.Hash != "" || u.Received != 0 || time.Until(u.ExpiresAt) < KeptFor-time.Minute {
		t.Fatalf("got %+v and %v, want an id for a day", u, err)
	}
	return u.ID
}

// A list whose hash is known at its end alone goes on after a broken connection, and then has its
// hash as a list that was named by it from the beginning.
func TestAListGetsItsHashAtItsEnd(t *testing.T) {
	s := newFolder(t, maxStaged)
	id, hash := start(t, s), sumOf("0123456789")
	_, err := s.Add(id, 0, broken("01234"))
	wantCode(t, "a part that breaks off", err, Broken)
	u, err := s.Look(id)
	if err != nil || u.ID != id || u.Received != 5 {
		t.Fatalf("after it: got %+v and %v, want 5 bytes of the id", u, err)
	}
	_, err = s.Add(id, 6, strings.NewReader("6789"))
	wantCode(t, "an offset behind the end", err, WrongOffset)
	if _, err := s.Add(id, 5, strings.NewReader("56789")); err != nil {
		t.Fatal(err)
	}
	for _, again := range []string{"", ", again after a lost answer"} {
		if u, err = s.Finish(t.Context(), id, hash); err != nil || u.ID != "" || u.Hash != hash || u.Received != 10 {
			t.Errorf("the end%s: got %+v and %v, want the hash and 10 bytes", again, u, err)
		}
	}
	_, err = s.Add(id, 10, strings.NewReader("x"))
	wantCode(t, "a part after the end", err, NotFound)
	list := filepath.Join(t.TempDir(), "list")
	if err := s.Link(t.Context(), hash, list); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(list); err != nil || string(text) != "0123456789" {
		t.Errorf("got the list %q (%v), want the parts", text, err)
	}
}

func TestAnIDWhoseListHasAnotherHashIsRemoved(t *testing.T) {
	s := newFolder(t, maxStaged)
	id, hash := start(t, s), sumOf("ab")
	if _, err := s.Add(id, 0, strings.NewReader("ax")); err != nil {
		t.Fatal(err)
	}
	_, err := s.Finish(t.Context(), id, hash)
	wantCode(t, "another content", err, WrongHash)
	_, err = s.Look(id)
	wantCode(t, "afterwards", err, NotFound)
	if _, err = s.Add(hash, 0, strings.NewReader("a")); err != nil {
		t.Fatal(err)
	}
	_, err = s.Finish(t.Context(), id, hash)
	wantCode(t, "a list of the hash that is not whole", err, NotFound)
	if u, err := s.Look(hash); err != nil || u.Received != 1 {
		t.Errorf("got %+v and %v, want the other list as it was", u, err)
	}
}

func TestOnlyAnIDThatWasGivenTakesParts(t *testing.T) {
	s := newFolder(t, maxStaged)
	for _, id := range []string{"up_" + strings.Repeat("0", 32), start(t, s)} {
		if s.Remove(id) != nil {
			t.Errorf("%s: got an error of the removal, want none", id)
		}
		_, err := s.Add(id, 0, strings.NewReader("a"))
		wantCode(t, id, err, NotFound)
	}
	for name, want := range map[string]bool{"up_" + strings.Repeat("f", 32): true, "up_" + strings.Repeat("F", 32): false,
		strings.Repeat("0", 64): false, "up_" + strings.Repeat("0", 31): false, "up_../../../../../../etc/passwd00000": false} {
		if IsID(name) != want {
			t.Errorf("%q: got an id: %v, want %v", name, !want, want)
		}
	}
}

func TestTwoRequestsDoNotEndAList(t *testing.T) {
	s := newFolder(t, maxStaged)
	id, hash := start(t, s), sumOf("a")
	part, w := io.Pipe()
	ended := make(chan error)
	go func() {
		_, err := s.Add(id, 0, part)
		ended <- err
	}()
	_, _ = io.WriteString(w, "a") // it has begun
	_, err := s.Finish(t.Context(), id, hash)
	wantCode(t, "the end beside a part", err, Busy)
	_ = w.Close() // it never fails
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if err := s.hold(hash); err != nil {
		t.Fatal(err)
	}
	_, err = s.Finish(t.Context(), id, hash)
	wantCode(t, "the end beside a list of the hash", err, Busy)
	s.release(hash)
	if _, err = s.Finish(t.Context(), id, hash); err != nil {
		t.Errorf("alone: got %v, want the end", err)
	}
}

func TestListsThatBeginHaveABound(t *testing.T) {
	s := newFolder(t, maxStaged)
	first := start(t, s)
	for i := 1; i < maxLists; i++ {
		if err := os.WriteFile(s.path(fmt.Sprint(i)), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	_, err := s.Start()
	wantCode(t, "one more", err, NoSpace)
	_, err = s.Add(sumOf("a"), 0, strings.NewReader("a"))
	wantCode(t, "one more by its hash", err, NoSpace)
	if _, err = s.Add(first, 0, strings.NewReader("a")); err != nil {
		t.Errorf("a part of one that has begun: got %v, want it taken", err)
	}
}
