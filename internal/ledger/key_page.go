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

// ReadKeys adds the numbers of a segment to rows. text has "number seq" for each, with commas
// between.
func ReadKeys(rows []KeyRow, text string) ([]KeyRow, error) {
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

// KeyPages sorts the rows of a part and makes its pages. The first one begins at 0, so that each
// number has its page.
func KeyPages(rows []KeyRow) []KeyPage {
	slices.SortFunc(rows, func(a, b KeyRow) int {
		return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.Row, b.Row))
	})
	pages, from, same := []KeyPage{{}}, 0, 0
	kept := rows[:0]
	for _, r := range rows {
		if n := len(kept); n == 0 || kept[n-1].Key != r.Key {
			same = 0
			if n-from >= keyPageRows {
				pages[len(pages)-1].Keys = packKeys(kept[from:])
				pages, from = append(pages, KeyPage{Lo: r.Key}), n
			}
		}
		if same++; same <= mostOfNumber {
			kept = append(kept, r)
		}
	}
	pages[len(pages)-1].Keys = packKeys(kept[from:])
	return pages
}

// packKeys makes the Keys of a page.
func packKeys(rows []KeyRow) []byte {
	keys, last := []byte{}, int64(0)
	for _, r := range rows {
		keys = binary.AppendUvarint(binary.AppendUvarint(keys, uint64(r.Key-last)), uint64(r.Row))
		last = r.Key
	}
	return keys
}

// ReadKeyPage reads the rows of a page.
func ReadKeyPage(keys []byte) (rows []KeyRow, err error) {
	var key uint64
	for len(keys) > 0 {
		more, a := binary.Uvarint(keys)
		row, b := binary.Uvarint(keys[max(a, 0):])
		if a <= 0 || b <= 0 {
			return nil, fmt.Errorf("a page of numbers is damaged %d bytes before its end", len(keys))
		}
		key += more
		rows, keys = append(rows, KeyRow{int64(key), int64(row)}), keys[a+b:]
	}
	return rows, nil
}

// WithoutKey returns a page without the rows of a number.
func WithoutKey(keys []byte, key int64) ([]byte, error) {
	rows, err := ReadKeyPage(keys)
	if err != nil {
		return nil, err
	}
	return packKeys(slices.DeleteFunc(rows, func(r KeyRow) bool { return r.Key == key })), nil
}
