// Package draw makes the random draws of the sandbox and of its shop. A draw depends only on its
// keys, such as the seed and what the draw is about, never on the order of goroutines, so that a
// simulation repeats (docs/protocol.md#simulation).
package draw

// Mix hashes its keys to 64 bits with the finaliser of splitmix64
// (https://prng.di.unimi.it/splitmix64.c) over a running sum.
func Mix(keys ...uint64) uint64 {
	h := uint64(0x9e3779b97f4a7c15)
	for _, k := range keys {
		h += k + 0x9e3779b97f4a7c15
		h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
		h = (h ^ h>>27) * 0x94d049bb133111eb
		h ^= h >> 31
	}
	return h
}

// Unit turns a hash into a number in [0, 1).
func Unit(h uint64) float64 { return float64(h>>11) / (1 << 53) }
