package ledger

import (
	"encoding/binary"
	"errors"
	"math/bits"

	"campaignd/campaign"
)

// HashKey is the secret under which message ids are hashed. The ledger draws it when it is made and
// stores it, so that nobody can choose ids that collide.
type HashKey struct{ k0, k1 uint64 }

// Marks are the marks of the ledger with this id. Their key is made from this one, by a hash that
// does not show it.
func (k HashKey) Marks(id string) campaign.Marks {
	return campaign.NewMarks(id, binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, k.k0), k.k1))
}

// NewHashKey reads a key from its 16 stored bytes.
func NewHashKey(b []byte) (HashKey, error) {
	if len(b) != 16 {
		return HashKey{}, errors.New("its message hash key is damaged: restore a backup")
	}
	return HashKey{binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:])}, nil
}

// MessageHash is SipHash-2-4 of a message id: 8 bytes in the index instead of 60 to 200, which is
// 29 MB a million instead of 107. It covers the id alone, since an event may name no connection. It
// is never 0, which means "no id". The index over it is not unique, so the caller compares the full
// id (docs/protocol.md#orphan-events).
func (k HashKey) MessageHash(id string) int64 {
	if h := int64(k.sum(id)); h != 0 {
		return h
	}
	return 1
}

// sum is SipHash-2-4 (Aumasson and Bernstein, 2012).
func (k HashKey) sum(s string) uint64 {
	v0 := k.k0 ^ 0x736f6d6570736575
	v1 := k.k1 ^ 0x646f72616e646f6d
	v2 := k.k0 ^ 0x6c7967656e657261
	v3 := k.k1 ^ 0x7465646279746573
	last := uint64(len(s)) << 56
	for ; len(s) >= 8; s = s[8:] {
		m := word(s, 8)
		v3 ^= m
		v0, v1, v2, v3 = sipRound(v0, v1, v2, v3)
		v0, v1, v2, v3 = sipRound(v0, v1, v2, v3)
		v0 ^= m
	}
	last |= word(s, len(s))
	v3 ^= last
	v0, v1, v2, v3 = sipRound(v0, v1, v2, v3)
	v0, v1, v2, v3 = sipRound(v0, v1, v2, v3)
	v0 ^= last
	v2 ^= 0xff
	for range 4 {
		v0, v1, v2, v3 = sipRound(v0, v1, v2, v3)
	}
	return v0 ^ v1 ^ v2 ^ v3
}

// word reads the first n bytes of s, little endian.
func word(s string, n int) (w uint64) {
	for i := range n {
		w |= uint64(s[i]) << (8 * i)
	}
	return w
}

func sipRound(v0, v1, v2, v3 uint64) (uint64, uint64, uint64, uint64) {
	v0 += v1
	v1 = bits.RotateLeft64(v1, 13) ^ v0
	v0 = bits.RotateLeft64(v0, 32)
	v2 += v3
	v3 = bits.RotateLeft64(v3, 16) ^ v2
	v0 += v3
	v3 = bits.RotateLeft64(v3, 21) ^ v0
	v2 += v1
	v1 = bits.RotateLeft64(v1, 17) ^ v2
	v2 = bits.RotateLeft64(v2, 32)
	return v0, v1, v2, v3
}
