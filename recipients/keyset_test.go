package recipients

import (
	"math/rand/v2"
	"runtime"
	"testing"

	"pgregory.net/rapid"
)

func TestKeySetIsASet(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var s KeySet
		model := map[int64]bool{}
		for _, key := range rapid.SliceOfN(rapid.Int64Range(0, 400), 0, 2000).Draw(t, "keys") {
			if got := s.Has(key); got != model[key] {
				t.Fatalf("Has(%d) = %v, want %v", key, got, model[key])
			}
			if added, want := s.Add(key), key == 0 || !model[key]; added != want {
				t.Fatalf("Add(%d) = %v, want %v", key, added, want)
			}
			if key != 0 {
				model[key] = true
			}
			if s.n != len(model) {
				t.Fatalf("n = %d, want %d", s.n, len(model))
			}
		}
	})
}

// Nobody can write a list whose keys collide: each set has its own hash, and keeps it.
func TestEveryKeySetHasAHashOfItsOwn(t *testing.T) {
	seen := map[uint64]bool{}
	for range 64 {
		var s KeySet
		s.Add(2348031234567)
		h := s.hash(2348031234567)
		s.Add(2348031234568)
		if again := s.hash(2348031234567); again != h {
			t.Errorf("hash after another number = %x, want %x again", again, h)
		}
		seen[h] = true
	}
	if got, want := len(seen), 64; got != want {
		t.Errorf("%d hashes of one number in 64 sets, want %d", got, want)
	}
}

// With a million keys, at no size do the tables exceed 16 bytes a key, with the old shard beside
// the new one.
func TestKeySetTakesAtMost16BytesAKey(t *testing.T) {
	const n = 1_200_000
	var s KeySet
	worst, largest := 0.0, 0
	rng := rand.New(rand.NewPCG(7, 8))
	for s.n < n {
		s.Add(234_800_0000000 + rng.Int64N(1e9))
		if s.n%997 == 0 && s.n > 50_000 {
			slots := 0
			for i := range s.shards {
				slots += len(s.shards[i].slots)
				largest = max(largest, len(s.shards[i].slots))
			}
			worst = max(worst, float64(8*(slots+largest))/float64(s.n))
		}
	}
	t.Logf("at worst %.1f bytes a key", worst)
	if worst > 16 {
		t.Errorf("%.1f bytes a key, want at most 16", worst)
	}
	runtime.GC()
	var with, without runtime.MemStats
	runtime.ReadMemStats(&with)
	last := s.n
	s = KeySet{}
	runtime.GC()
	runtime.ReadMemStats(&without)
	if heap := float64(with.HeapAlloc-without.HeapAlloc) / float64(last); heap > 16 {
		t.Errorf("the heap held %.1f bytes a key, want at most 16", heap)
	} else {
		t.Logf("the heap held %.1f bytes a key at %d", heap, last)
	}
}

func BenchmarkKeySet(b *testing.B) {
	var s KeySet
	i := int64(0)
	b.ReportAllocs()
	for b.Loop() {
		i++
		s.Add(2348000000000 + i)
	}
}
