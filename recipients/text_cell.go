package recipients

import (
	"bytes"
	"encoding/csv"
	"strings"
	"unicode/utf8"
)

// textCell is the text of a cell written as ="08031234567". Exports write numbers so, because Excel
// then keeps leading zeros and all digits. Any other cell, also any other formula, stays unchanged.
func textCell(cell string) string {
	inner, ok := strings.CutPrefix(cell, `="`)
	if !ok {
		return cell
	}
	if inner, ok = strings.CutSuffix(inner, `"`); !ok {
		return cell
	}
	text := strings.ReplaceAll(inner, `""`, "\x00") // NUL bytes stop a list, so that no cell has one
	if strings.Contains(text, `"`) {
		return cell
	}
	return strings.ReplaceAll(text, "\x00", `"`)
}

// textCells reads a record that csv refused because of cells written as ="text" without quotes of
// CSV around them. It returns nil if the record has another fault.
func textCells(raw []byte, comma rune, columns int) []string {
	var quoted []byte
	sep := utf8.AppendRune(nil, comma)
	raw = bytes.TrimRight(raw, "\r\n")
	for {
		next := cellEnd(raw, sep)
		cell := raw[:next]
		if textCell(string(cell)) != string(cell) {
			quoted = append(quoted, '"')
			quoted = append(quoted, bytes.ReplaceAll(cell, []byte{'"'}, []byte(`""`))...)
			quoted = append(quoted, '"')
		} else {
			quoted = append(quoted, cell...)
		}
		if next == len(raw) {
			break
		}
		quoted = append(quoted, sep...)
		raw = raw[next+len(sep):]
	}
	r := csv.NewReader(bytes.NewReader(quoted))
	r.Comma, r.FieldsPerRecord = comma, columns
	cells, err := r.Read()
	if err != nil || r.InputOffset() != int64(len(quoted)) {
		return nil
	}
	return cells
}

// cellEnd is the length of the first cell of raw: to the next delimiter outside of quotes.
func cellEnd(raw, sep []byte) int {
	inside := false
	for i := range raw {
		switch {
		case raw[i] == '"':
			inside = !inside
		case !inside && bytes.HasPrefix(raw[i:], sep):
			return i
		}
	}
	return len(raw)
}
