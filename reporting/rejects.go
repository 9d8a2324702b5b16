package reporting

import (
	"encoding/csv"
	"io"
	"slices"
	"strconv"

	"campaignd/campaign"
	"campaignd/internal/spreadsheet"
)

// Rejects writes the rows of a list that a correction can help. The result is a list again: its own
// columns, then reject_line, reject_reason and reject_note. After correction it can be imported.
// Every cell goes through spreadsheet.Escape. It has the delimiter of the list, which a spreadsheet
// of the list's country expects.
type Rejects struct {
	w       *csv.Writer
	columns int
}

// NewRejects writes the header line; the error is the writer's.
func NewRejects(w io.Writer, header []string, comma rune) (*Rejects, error) {
	r := &Rejects{csv.NewWriter(w), len(header)}
	r.w.Comma = comma
	line := append(slices.Clone(header), "reject_line", "reject_reason", "reject_note")
	for i := range line {
		line[i] = spreadsheet.Escape(line[i])
	}
	return r, r.w.Write(line)
}

// Add writes one row. A row with fewer cells than the header is padded; surplus cells are left out.
func (r *Rejects) Add(row campaign.Reject) error {
	line := make([]string, 0, r.columns+3)
	for i := range r.columns {
		cell := ""
		if i < len(row.Cells) {
			cell = spreadsheet.Escape(row.Cells[i])
		}
		line = append(line, cell)
	}
	return r.w.Write(append(line, strconv.Itoa(row.Line), string(row.Reason), spreadsheet.Escape(row.Note)))
}

// Close writes the buffered rows. It does not close the writer.
func (r *Rejects) Close() error {
	r.w.Flush()
	return r.w.Error()
}
