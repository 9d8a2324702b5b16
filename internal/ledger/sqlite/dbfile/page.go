package dbfile

import "encoding/binary"

// Blank overwrites b, and reports whether it was blank before.
func Blank(b []byte) (was bool) {
	was = true
	for i := range b {
		if b[i] != 0 {
			b[i], was = 0, false
		}
	}
	return was
}

// BlankTree overwrites the free space of page number no if it is one of a b-tree, and reports
// whether there was something in it. The free space is between the array of cells and the first
// cell, and in the free blocks behind that, whose first four bytes list them
// (https://www.sqlite.org/fileformat2.html#b_tree_pages). A page that does not fit this description
// is one of a long row, and stays as it is.
func BlankTree(page []byte, no int64) (changed bool) {
	header := 0
	if no == 1 {
		header = 100 // behind that of the file
	}
	array := header + 8
	switch page[header] {
	case 2, 5: // of an index, of a table: with a pointer to the last child
		array += 4
	case 10, 13: // their leaves
	default:
		return false
	}
	number := func(at int) int { return int(binary.BigEndian.Uint16(page[at:])) }
	array += 2 * number(header+3)
	cells := number(header + 5)
	if cells == 0 {
		cells = 1 << 16
	}
	if array > cells || cells > len(page) {
		return false
	}
	var blocks [][]byte
	for at := number(header + 1); at != 0; {
		if at < cells || at+4 > len(page) || number(at+2) < 4 || at+number(at+2) > len(page) || number(at) != 0 && number(at) <= at {
			return false
		}
		blocks = append(blocks, page[at+4:at+number(at+2)])
		at = number(at)
	}
	changed = !Blank(page[array:cells])
	for _, b := range blocks {
		changed = !Blank(b) || changed
	}
	return changed
}
