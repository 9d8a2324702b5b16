package recipients

import (
	"math/bits"
	"math/rand/v2"
)

// KeySet is a set of keys of recipients, for lists of millions of rows. It takes less than 16 bytes
// a key, also while it grows: it has 256 shards, and one shard at a time grows by two fifths.
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

// Add puts key into the set and reports whether it was new. The key 0 is not a number: it is always
// new and never counted.
func (s *KeySet) Add(key int64) (added bool) {
	if key == 0 {
		return true
	}
	if s.seed == 0 {
		s.seed = rand.Uint64() | 1 // so that nobody can write a list whose keys collide
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

// Len is how many keys are in the set.
func (s *KeySet) Len() int { return s.n }

// Has reports whether key is in the set. 0 never is.
func (s *KeySet) Has(key int64) bool {
	h := s.hash(key)
	sh := &s.shards[h>>56]
	return key != 0 && sh.n > 0 && sh.slots[sh.find(key, h)] == key
}

func (s *KeySet) grow(sh *keyShard) {
	old := sh.slots
	sh.slots, sh.n = make([]int64, max(8, len(old)*7/5)), 0
	for _, key := range old {
		if key != 0 {
			sh.put(key, s.hash(key))
		}
	}
}

// hash mixes with the finalizer of SplitMix64. The top byte selects the shard, the rest the slot.
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

// find is the slot that has key, or the empty slot where it belongs.
func (sh *keyShard) find(key int64, h uint64) int {
	i := sh.home(h)
	for sh.slots[i] != key && sh.slots[i] != 0 {
		if i++; i == len(sh.slots) {
			i = 0
		}
	}
	return i
}

func (sh *keyShard) put(key int64, h uint64) bool {
	i := sh.find(key, h)
	if sh.slots[i] == key {
		return false
	}
	sh.slots[i] = key
	sh.n++
	return true
}
