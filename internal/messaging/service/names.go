package service

import (
	"hash/maphash"
	"sync/atomic"

	"campaignd/internal/rawjson"
)

// names remembers short texts that many events have. Each text has one slot, by its hash, and the
// newest text of a slot stays, so the memory is limited: 256 texts of at most 64 bytes. A nil
// *names remembers nothing.
type names struct {
	seed  maphash.Seed
	slots [256]atomic.Pointer[string]
}

// longestName is the longest text that is remembered, in bytes. An id has about 30.
const longestName = 64

// text returns v.Text().
func (n *names) text(v rawjson.Value) string {
	text, ok := v.Plain()
	if n == nil || !ok || len(text) > longestName {
		return v.Text()
	}
	slot := &n.slots[maphash.Bytes(n.seed, text)%uint64(len(n.slots))]
	if known := slot.Load(); known != nil && *known == string(text) {
		return *known
	}
	name := string(text)
	slot.Store(&name)
	return name
}
