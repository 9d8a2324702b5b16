package reporting

import (
	"bufio"
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/price"
	"campaignd/internal/spreadsheet"
)

// columns are the fixed columns of the export, in order
// (docs/operations.md#what-scripts-may-rely-on). The list's own columns follow them.
var columns = [...]string{
	"row", "to", "connection", "status", "reason", "code", "message_id", "attempts",
	"accepted_at", "sent_at", "delivered_at", "read_at", "failed_at",
	"category", "type", "market", "cost", "currency",
}

// WriteCSV writes one line per row of the run's list, in the order of the file. The fixed columns
// come first: row, to, connection, status, reason, code, message_id, attempts, accepted_at,
// sent_at, delivered_at, read_at, failed_at, category, type, market, cost, currency. Times are RFC
// 3339 in UTC with milliseconds, or empty. The last five are empty if the platform told no price;
// cost and currency are by these rates, which may be nil (docs/cloud.md#cost).
// The list's own columns follow; one with the name of a fixed column is written list_NAME. Every
// cell goes through spreadsheet.Escape.
//
// It streams: memory does not grow with the list, and rows are written at least every few hundred.
// A row with fewer cells than the header is padded. In a row with more cells (malformed_row) the
// surplus is left out, since no reader could tell which columns it belongs to.
func WriteCSV(ctx context.Context, w io.Writer, l campaign.ReportLedger, run campaign.Run, rates *price.Rates) error {
	return export(ctx, csv.NewWriter(bufio.NewWriterSize(w, 64<<10)), l, run, rates, nil)
}

// WriteExcel writes the lines of WriteCSV so that Excel opens them as they are: with a byte order
// mark, CRLF, and cells separated by comma, which is to be the list's own delimiter. A number that
// Excel would round or shorten is written as ="08031234567"; recipients reads such a cell as text.
func WriteExcel(ctx context.Context, w io.Writer, l campaign.ReportLedger, run campaign.Run, rates *price.Rates, comma rune) error {
	b := bufio.NewWriterSize(w, 64<<10)
	if _, err := b.WriteString("\uFEFF"); err != nil {
		return fmt.Errorf("export of run %s: %w", run.ID(), err)
	}
	out := csv.NewWriter(b)
	out.Comma, out.UseCRLF = comma, true
	if err := export(ctx, out, l, run, rates, spreadsheet.AsText); err != nil {
		return err
	}
	return b.Flush()
}

// export writes the header and the lines. cell changes each cell once more; nil changes none.
func export(
	ctx context.Context, out *csv.Writer, l campaign.ReportLedger, run campaign.Run, rates *price.Rates, cell func(string) string,
) error {
	record := exportHeader(run.Header)
	if err := out.Write(record); err != nil {
		return fmt.Errorf("export of run %s: %w", run.ID(), err)
	}
	pricer := NewPricer(rates)
	for line, err := range l.Lines(ctx, run.No) {
		if err != nil {
			return fmt.Errorf("export of run %s: %w", run.ID(), err)
		}
		record = appendLine(record[:0], &line, pricer.Bill(line.Priced()), len(run.Header))
		if cell != nil {
			for i := range record {
				record[i] = cell(record[i])
			}
		}
		if err := out.Write(record); err != nil {
			return fmt.Errorf("export of run %s, row %d: %w", run.ID(), line.Row, err)
		}
	}
	out.Flush()
	if err := out.Error(); err != nil {
		return fmt.Errorf("export of run %s: %w", run.ID(), err)
	}
	return nil
}

// exportHeader is the export's header for a list with these columns.
func exportHeader(list []string) []string {
	header := append(make([]string, 0, len(columns)+len(list)), columns[:]...)
	for _, name := range list {
		if slices.Contains(columns[:], name) {
			name = "list_" + name
			for slices.Contains(list, name) { // the list has a column list_row as well as row
				name = "list_" + name
			}
		}
		header = append(header, spreadsheet.Escape(name))
	}
	return header
}

func appendLine(record []string, l *campaign.Line, b Bill, own int) []string {
	record = append(record,
		strconv.FormatInt(l.Row, 10), spreadsheet.Escape(l.To), spreadsheet.Escape(l.Connection), string(l.Status),
		spreadsheet.Escape(l.Reason), spreadsheet.Escape(l.Code), spreadsheet.Escape(l.MessageID), strconv.Itoa(l.Attempts),
		instant(l.AcceptedAt), instant(l.SentAt), instant(l.DeliveredAt), instant(l.ReadAt), instant(l.FailedAt),
		b.Category, b.Type, b.Market, b.Cost, b.Currency)
	for i := range own {
		if i < len(l.Cells) {
			record = append(record, spreadsheet.Escape(l.Cells[i]))
		} else {
			record = append(record, "")
		}
	}
	return record
}

// instant is RFC 3339 in UTC with three digits of a second, or "" for the zero time.
func instant(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	t = t.UTC()
	var buffer [32]byte
	b := t.AppendFormat(buffer[:0], time.RFC3339) // package time is fast for this layout; one with .000 takes three times as long
	ms := t.Nanosecond() / 1e6
	return string(append(b[:len(b)-1], '.', byte('0'+ms/100), byte('0'+ms/10%10), byte('0'+ms%10), 'Z'))
}
