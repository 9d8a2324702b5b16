package ledger

import "testing"

// The vectors of the authors' reference implementation: key 00..0f, message 00, 01, 02 ...
func TestMessageHashIsSipHash(t *testing.T) {
	key := make([]byte, 16)
	for i := range key {
		key[i] = byte(i)
	}
	k, err := NewHashKey(key)
	if err != nil {
		t.Fatalf("the key: %v; want no error", err)
	}
	msg := make([]byte, 64)
	for i := range msg {
		msg[i] = byte(i)
	}
	for n, want := range map[int]uint64{
		0:  0x726fdb47dd0e0e31,
		1:  0x74f839c593dc67fd,
		7:  0xab0200f58b01d137,
		8:  0x93f5f5799a932462,
		15: 0xa129ca6149be45e5,
		63: 0x958a324ceb064572,
	} {
		if got := k.sum(string(msg[:n])); got != want {
			t.Errorf("siphash of %d bytes: %x, want %x", n, got, want)
		}
	}
}
