package dbfile

import (
	"bytes"
	"encoding/binary"
	"testing"
)

// A page of which the description does not fit is left as it is.
func TestOnlyTheFreeSpaceOfAPageIsBlanked(t *testing.T) {
	t.Parallel()
	page := func(change func(p []byte)) []byte {
		p := bytes.Repeat([]byte{'x'}, 4096)
		p[0] = 13                                  // a leaf of a table
		binary.BigEndian.PutUint16(p[1:], 3000)    // its first free block
		binary.BigEndian.PutUint16(p[3:], 2)       // cells
		binary.BigEndian.PutUint16(p[5:], 2000)    // where the first of them begins
		binary.BigEndian.PutUint16(p[3000:], 3500) // the next free block
		binary.BigEndian.PutUint16(p[3002:], 100)
		binary.BigEndian.PutUint16(p[3500:], 0)
		binary.BigEndian.PutUint16(p[3502:], 40)
		if change != nil {
			change(p)
		}
		return p
	}
	set := func(at int, v uint16) func(p []byte) { return func(p []byte) { binary.BigEndian.PutUint16(p[at:], v) } }
	want := page(func(p []byte) {
		for _, free := range [][]byte{p[12:2000], p[3004:3100], p[3504:3540]} {
			clear(free)
		}
	})
	got := page(nil)
	if changed := BlankTree(got, 2); !changed || !bytes.Equal(got, want) {
		t.Errorf("a page: changed %v, as wanted %v; want both", changed, bytes.Equal(got, want))
	}
	if changed := BlankTree(got, 2); changed {
		t.Errorf("a page without anything in its free space: changed %v; want false", changed)
	}
	for name, change := range map[string]func(p []byte){
		"of a long row": func(p []byte) { p[0] = 0 }, "cells in the array": set(5, 11), "cells behind the page": set(5, 4097),
		"more cells than fit": set(3, 3000), "a free block in the array": set(1, 20), "a free block at the end": set(1, 4093),
		"a free block too short": set(3002, 3), "a free block too long": set(3502, 600), "free blocks in a circle": set(3500, 3000),
	} {
		want, got := page(change), page(change)
		if changed := BlankTree(got, 2); changed || !bytes.Equal(got, want) {
			t.Errorf("%s: changed %v; want the page as it was", name, changed)
		}
	}
}
