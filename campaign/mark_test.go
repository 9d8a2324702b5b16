package campaign

import (
	"strings"
	"testing"
)

func TestAMarkTellsItsAttempt(t *testing.T) {
	m := NewMarks("0123456789abcdef", []byte("key"))
	for _, want := range []Post{{Run: 1, Seq: 0, Attempt: 1}, {Run: 7, Seq: 42, Attempt: 3}, {Run: 1<<31 - 1, Seq: 1<<32 - 1, Attempt: 99}} {
		mark := m.Make(want)
		if got, ok := m.Read(mark); !ok || got != want || len(mark) > 85 {
			t.Errorf("got %+v, %v from %s; want %+v in at most 85 characters", got, ok, mark, want)
		}
	}
}

func TestAForgedMarkTellsNothing(t *testing.T) {
	m := NewMarks("0123456789abcdef", []byte("key"))
	mark := m.Make(Post{Run: 7, Seq: 42, Attempt: 1})
	for what, forged := range map[string]string{
		"of another row":    strings.Replace(mark, ".42.", ".43.", 1),
		"of another key":    NewMarks("0123456789abcdef", []byte("kez")).Make(Post{Run: 7, Seq: 42, Attempt: 1}),
		"of another ledger": NewMarks("fedcba9876543210", []byte("key")).Make(Post{Run: 7, Seq: 42, Attempt: 1}),
		"without a tag":     mark[:strings.LastIndexByte(mark, '.')],
		"cut":               mark[:len(mark)-1],
		"longer":            mark + "0",
		"empty":             "",
	} {
		if got, ok := m.Read(forged); ok {
			t.Errorf("got %+v from a mark %s, want nothing", got, what)
		}
	}
	for i := range len(mark) {
		b := []byte(mark)
		b[i] ^= 1
		if got, ok := m.Read(string(b)); ok {
			t.Errorf("got %+v from a mark whose byte %d differs, want nothing", got, i)
		}
	}
}

func FuzzReadMark(f *testing.F) {
	m := NewMarks("0123456789abcdef", []byte("key"))
	f.Add(m.Make(Post{Run: 7, Seq: 42, Attempt: 1}))
	f.Add("c1.0123456789abcdef.7.42.1.0011223344556677")
	f.Fuzz(func(t *testing.T, mark string) {
		if p, ok := m.Read(mark); ok && m.Make(p) != mark {
			t.Errorf("got %+v of %q, which has the mark %q", p, mark, m.Make(p))
		}
	})
}
