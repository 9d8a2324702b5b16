package wirelog

import (
	"bytes"
	"testing"

	"campaignd/campaign"
)

// image is the file of a log with the given entries in its first places.
func image(n int, entries ...entry) []byte {
	page, seed := header{boot, "ledger-1", "a", 12}.encode(n)
	b := append(page, free(seed, 0, n)...)
	for i, e := range entries {
		var s [entrySize]byte
		e.encode(&s, seed, i)
		copy(b[headerSize+i*entrySize:], s[:])
	}
	return b
}

// A file that is not exactly what an owner wrote is damage, never fewer posts.
func FuzzDecode(f *testing.F) {
	whole := image(8, entry{campaign.Post{Run: 7, Seq: 5, Attempt: 1}, 3}, entry{campaign.Post{Run: 7, Seq: 6, Attempt: 2}, 3})
	f.Add(whole)
	f.Add(whole[:headerSize+40])
	f.Add(image(0))
	f.Add([]byte(magic + "\n\n\n\n\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		h, posts, err := decode(b)
		if err != nil {
			return
		}
		page, seed := h.encode((len(b) - headerSize) / entrySize)
		if !bytes.Equal(page[:countAt], b[:countAt]) {
			t.Errorf("got the header %+v, want what the file says", h)
		}
		for _, p := range posts {
			if p.Attempt <= 0 || seed == 0 {
				t.Errorf("got the post %+v, want an attempt from 1", p)
			}
		}
	})
}

func TestEveryDamagedByteShows(t *testing.T) {
	whole := image(4, entry{campaign.Post{Run: 7, Seq: 5, Attempt: 1}, 3})
	if _, posts, err := decode(whole); err != nil || len(posts) != 1 {
		t.Fatalf("got %v, %v; want one post", posts, err)
	}
	for i := range whole {
		whole[i] ^= 0x20
		if _, posts, err := decode(whole); err == nil {
			t.Errorf("byte %d is damaged: got the posts %v, want an error", i, posts)
		}
		whole[i] ^= 0x20
	}
}
