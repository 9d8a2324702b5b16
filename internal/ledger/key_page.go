package ledger

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"campaignd/campaign"
)

// partSegments is how many segments are a part of a run: some 1,000,000 rows.
const partSegments = 256

// partRows is how many seqs a part has.
const partRows = partSegments * campaign.SegmentSize

// PartOf is the key of the first segment of the part in which a segment lies.
func PartOf(segment int64) int64 { return segment &^ (partSegments - 1) }

// PartRows are the run of a part, its first seq, and one past its last seq.
func PartRows(part int64) (no campaign.RunNo, from, to int64) {
	from = seqOf(part) * campaign.SegmentSize
	return RunOf(part), from, from + partRows
}

// KeyRow is a row of a part: its number, and its seq counted from the part's first one.
type KeyRow struct{ Key, Row int64 }

func (r KeyRow) compare(o KeyRow) int {
	if r.Key != o.Key {
		return cmp.Compare(r.Key, o.Key)
	}
	return cmp.Compare(r.Row, o.Row)
}

// KeyPage has the rows of a part whose numbers are at least Lo and lower than the Lo of the next
// page. Keys are the rows in order of their numbers, each as the difference from the number before
// and the row, both as uvarints.
type KeyPage struct {
	Lo   int64
	Keys []byte
}

const (
	// keyPageRows is how many rows a page has, but for many rows of one number: some 4 kB.
	keyPageRows = 1024
	// mostOfNumber is how many rows of one number a part keeps: its first ones.
	mostOfNumber = 64
)

// readKeys adds the numbers of a segment to rows.
func readKeys(rows []KeyRow, text string) ([]KeyRow, error) {
	if text == "" {
		return rows, nil
	}
	for s := range strings.SplitSeq(text, ",") {
		a, b, _ := strings.Cut(s, " ")
		key, err := strconv.ParseInt(a, 10, 64)
		if err != nil {
			return nil, err
		}
		seq, err := strconv.ParseInt(b, 10, 64)
		if err != nil {
			return nil, err
		}
		rows = append(rows, KeyRow{key, seq % partRows})
	}
	return rows, nil
}

// PartKeys sorts the numbers of a part. It sorts chunks of them, keeps the chunks packed like
// pages, with some 6 bytes a row instead of the 16 of a KeyRow, and merges them: a part of
// 1,000,000 rows takes 8 MB. Add all numbers first, then take the pages. The zero value has no
// numbers.
type PartKeys struct {
	rows   []KeyRow // that are in no chunk yet; later those of a page
	chunks []keyChunk
	begun  bool // the first page was taken
}

// keyChunk is what is left of a sorted chunk: its first row, and the rows behind it.
type keyChunk struct {
	first KeyRow
	rest  []byte
}

// chunkRows is how many rows a chunk has, but for the last segment: 1 MB while they are sorted.
const chunkRows = 16 * campaign.SegmentSize

// Add adds the numbers of a segment. text has "number seq" for each, with commas between.
func (p *PartKeys) Add(text string) (err error) {
	if p.rows, err = readKeys(p.rows, text); err == nil && len(p.rows) >= chunkRows {
		err = p.pack()
	}
	return err
}

// pack makes a chunk of the rows.
func (p *PartKeys) pack() error {
	slices.SortFunc(p.rows, KeyRow.compare)
	c := keyChunk{rest: packKeys(p.rows)}
	p.rows = p.rows[:0]
	more, err := c.next()
	if more {
		p.chunks = append(p.chunks, c)
	}
	return err
}

// Pages returns the next n pages, or fewer if they are the last, and whether there are more. The
// first page begins at 0, so that each number has its page.
func (p *PartKeys) Pages(n int) (pages []KeyPage, more bool, err error) {
	if !p.begun {
		if err := p.pack(); err != nil {
			return nil, false, err
		}
	}
	for len(pages) < n && (!p.begun || len(p.chunks) > 0) {
		page := KeyPage{}
		if p.begun {
			page.Lo = p.chunks[p.least()].first.Key
		}
		if page.Keys, err = p.page(); err != nil {
			return nil, false, err
		}
		p.begun, pages = true, append(pages, page)
	}
	return pages, len(p.chunks) > 0, nil
}

// page takes the rows of the next page from the chunks.
func (p *PartKeys) page() ([]byte, error) {
	kept, same := p.rows[:0], 0
	for len(p.chunks) > 0 {
		at := p.least()
		c := &p.chunks[at]
		if n := len(kept); n == 0 || kept[n-1].Key != c.first.Key {
			if same = 0; n >= keyPageRows {
				break
			}
		}
		if same++; same <= mostOfNumber {
			kept = append(kept, c.first)
		}
		switch more, err := c.next(); {
		case err != nil:
			return nil, err
		case !more:
			p.chunks = slices.Delete(p.chunks, at, at+1)
		}
	}
	p.rows = kept
	return packKeys(kept), nil
}

// least is the chunk with the least row. There are at most 17.
func (p *PartKeys) least() (at int) {
	for i := range p.chunks {
		if p.chunks[i].first.compare(p.chunks[at].first) < 0 {
			at = i
		}
	}
	return at
}

// next takes the first row off the chunk. more is false when the chunk has no other row.
func (c *keyChunk) next() (more bool, err error) {
	if len(c.rest) == 0 {
		return false, nil
	}
	c.first, c.rest, err = cutKey(c.rest, c.first.Key)
	return err == nil, err
}

// packKeys makes the Keys of a page.
func packKeys(rows []KeyRow) []byte {
	keys, last := make([]byte, 0, 6*len(rows)), int64(0)
	for _, r := range rows {
		keys = binary.AppendUvarint(binary.AppendUvarint(keys, uint64(r.Key-last)), uint64(r.Row))
		last = r.Key
	}
	return keys
}

// ReadKeyPage reads the rows of a page.
func ReadKeyPage(keys []byte) (rows []KeyRow, err error) {
	var r KeyRow
	for len(keys) > 0 {
		if r, keys, err = cutKey(keys, r.Key); err != nil {
			return nil, err
		}
		rows = append(rows, r)
	}
	return rows, nil
}

// cutKey reads the first of packed rows, and returns the others. last is the number of the row
// before; 0: there is none.
func cutKey(keys []byte, last int64) (r KeyRow, rest []byte, err error) {
	more, a := binary.Uvarint(keys)
	row, b := binary.Uvarint(keys[max(a, 0):])
	if a <= 0 || b <= 0 {
		return r, nil, fmt.Errorf("a page of numbers is damaged %d bytes before its end", len(keys))
	}
	return KeyRow{last + int64(more), int64(row)}, keys[a+b:], nil
}

// WithoutKey returns a page without the rows of a number.
func WithoutKey(keys []byte, key int64) ([]byte, error) {
	rows, err := ReadKeyPage(keys)
	if err != nil {
		return nil, err
	}
	return packKeys(slices.DeleteFunc(rows, func(r KeyRow) bool { return r.Key == key })), nil
}
