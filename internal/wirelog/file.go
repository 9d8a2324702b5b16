package wirelog

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"strconv"
	"strings"

	"campaignd/campaign"
)

const (
	magic      = "campaignd wire log 1"
	headerSize = 4096
	countAt    = 4080
	entrySize  = 32
	// chunk is how many entries a new file has, and by how many it grows: 128 KiB. A number of 1,000/s
	// has about 1,000 attempts without a durable result when answers take 900 ms.
	chunk = 4096
)

var table = crc32.MakeTable(crc32.Castagnoli)

// header says whose log a file is.
type header struct {
	boot, ledger, owner string
	inode               uint64
}

// encode returns the first page of a file with n entries, and the seed of their checksums.
func (h header) encode(n int) (page []byte, seed uint32) {
	text := strings.Join([]string{magic, h.boot, h.ledger, h.owner, strconv.FormatUint(h.inode, 10), ""}, "\n")
	seed = crc32.Checksum([]byte(text), table)
	page = make([]byte, headerSize)
	copy(page, fmt.Sprintf("%s%08x\n", text, seed))
	copy(page[countAt:], encodeCount(n))
	return page, seed
}

// encodeCount returns the number of entries with its checksum.
func encodeCount(n int) []byte {
	b := binary.LittleEndian.AppendUint32(nil, uint32(n)) //nolint:gosec // below 2^27: an entry has 32 bytes
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, table))
}

// entry is an attempt. With a zero Attempt it is free.
type entry struct {
	campaign.Post
	epoch int64
}

// encode writes the entry i into b.
func (e entry) encode(b *[entrySize]byte, seed uint32, i int) {
	le := binary.LittleEndian
	le.PutUint64(b[0:], uint64(e.Run))      //nolint:gosec // kept bit by bit
	le.PutUint64(b[8:], uint64(e.Seq))      //nolint:gosec // kept bit by bit
	le.PutUint64(b[16:], uint64(e.epoch))   //nolint:gosec // kept bit by bit
	le.PutUint32(b[24:], uint32(e.Attempt)) //nolint:gosec // attempts are few
	le.PutUint32(b[28:], entrySum(b[:28], seed, i))
}

// entrySum is the checksum of the entry i.
func entrySum(b []byte, seed uint32, i int) uint32 {
	var at [8]byte
	binary.LittleEndian.PutUint32(at[:], seed)
	binary.LittleEndian.PutUint32(at[4:], uint32(i)) //nolint:gosec // below 2^27
	return crc32.Update(crc32.Checksum(at[:], table), table, b)
}

// free returns the free entries from first to end.
func free(seed uint32, first, end int) []byte {
	all := make([]byte, 0, (end-first)*entrySize)
	var b [entrySize]byte
	for i := first; i < end; i++ {
		entry{}.encode(&b, seed, i)
		all = append(all, b[:]...)
	}
	return all
}

var errDamaged = errors.New("it is damaged")

// decode reads a file. An error means that the file proves nothing.
func decode(b []byte) (h header, posts []campaign.Post, err error) {
	if len(b) < headerSize {
		return h, nil, fmt.Errorf("%w: %d bytes", errDamaged, len(b))
	}
	lines := bytes.SplitN(b[:countAt], []byte("\n"), 7)
	if len(lines) < 7 || string(lines[0]) != magic {
		return h, nil, fmt.Errorf("%w: no header", errDamaged)
	}
	h = header{boot: string(lines[1]), ledger: string(lines[2]), owner: string(lines[3])}
	if h.inode, err = strconv.ParseUint(string(lines[4]), 10, 64); err != nil {
		return h, nil, fmt.Errorf("%w: no inode", errDamaged)
	}
	le := binary.LittleEndian
	n := int(le.Uint32(b[countAt:]))
	page, seed := h.encode(n)
	if !bytes.Equal(page, b[:headerSize]) {
		return h, nil, fmt.Errorf("%w: the header's checksum is wrong", errDamaged)
	}
	// Bytes behind the last entry belong to a growth that did not end.
	if (len(b)-headerSize)/entrySize < n {
		return h, nil, fmt.Errorf("%w: %d bytes for %d entries", errDamaged, len(b), n)
	}
	for i := range n {
		s := b[headerSize+i*entrySize:][:entrySize]
		if le.Uint32(s[28:]) != entrySum(s[:28], seed, i) {
			return h, nil, fmt.Errorf("%w: the checksum of entry %d is wrong", errDamaged, i)
		}
		if attempt := le.Uint32(s[24:]); attempt > 0 {
			posts = append(posts, campaign.Post{Run: campaign.RunNo(le.Uint64(s)), //nolint:gosec // kept bit by bit
				Seq: int64(le.Uint64(s[8:])), Attempt: int(attempt)}) //nolint:gosec // kept bit by bit
		}
	}
	return h, posts, nil
}
