package recipients

import (
	"math/bits"
	"math/rand/v2"
)

// KeySet is a set of phone keys for lists of millions of rows. At its peak, growth
// included, it takes less than 16 bytes a key: it is cut into shards that grow one
// at a time by two fifths, so that no doubling of the whole ever happens.
//
//	8 bytes / (0.82 full / 1.4 growth) = 13.7 bytes a key just after growing
//
// The zero value is an empty set. It is not safe for concurrent use.
type KeySet struct {
	shards [256]keyShard
	seed   uint64
	n      int
}

type keyShard struct {
	slots []int64 // open addressing, linear probing; 0 is empty
	n     int
}

// Add puts key into the set and reports whether it was new. The key 0 is no number
// and equals nothing: it is always new, and never counted.
func (s *KeySet) Add(key int64) (added bool) {
	if key == 0 {
		return true
	}
	if s.seed == 0 {
		s.seed = rand.Uint64() | 1 // a list cannot be written to collide
	}
	h := s.hash(key)
	sh := &s.shards[h>>56]
	if sh.n >= len(sh.slots)*82/100 {
		s.grow(sh)
	}
	if !sh.put(key, h) {
		return false
	}
	s.n++
	return true
}

// Has reports whether key is in the set; never for 0.
func (s *KeySet) Has(key int64) bool {
	h := s.hash(key)
	sh := &s.shards[h>>56]
	if key == 0 || sh.n == 0 {
		return false
	}
	for i := sh.home(h); ; {
		switch sh.slots[i] {
		case key:
			return true
		case 0:
			return false
		}
		if i++; i == len(sh.slots) {
			i = 0
		}
	}
}

// Len is how many keys the set holds.
func (s *KeySet) Len() int { return s.n }

func (s *KeySet) grow(sh *keyShard) {
	old := sh.slots
	sh.slots, sh.n = make([]int64, max(8, len(old)*7/5)), 0
	for _, key := range old {
		if key != 0 {
			sh.put(key, s.hash(key))
		}
	}
}

// hash mixes with the finalizer of SplitMix64: the top byte picks the shard, the rest the slot.
func (s *KeySet) hash(key int64) uint64 {
	h := uint64(key) ^ s.seed
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>27) * 0x94d049bb133111eb
	return h ^ h>>31
}

func (sh *keyShard) home(h uint64) int {
	hi, _ := bits.Mul64(h<<8, uint64(len(sh.slots)))
	return int(hi)
}

func (sh *keyShard) put(key int64, h uint64) bool {
	for i := sh.home(h); ; {
		switch sh.slots[i] {
		case key:
			return false
		case 0:
			sh.slots[i] = key
			sh.n++
			return true
		}
		if i++; i == len(sh.slots) {
			i = 0
		}
	}
}
