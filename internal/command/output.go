package command

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"campaignd/internal/sentence"
)

// Output is the -o flag: a table for people or JSON for machines.
type Output string

// AddOutput gives a command -o.
func AddOutput(cmd *cobra.Command) *Output {
	o := Output("table")
	cmd.Flags().VarP(&o, "output", "o", "table or json")
	return &o
}

func (o *Output) String() string { return string(*o) }

// Type is the word that stands for the value in the help.
func (o *Output) Type() string { return outputType }

// outputType is the type of -o in help texts.
const outputType = "FORMAT"

// Set refuses every value but table and json.
func (o *Output) Set(s string) error {
	if s != "table" && s != "json" {
		return fmt.Errorf("want table or json")
	}
	*o = Output(s)
	return nil
}

// JSON reports whether the result is JSON.
func (o *Output) JSON() bool { return *o == "json" }

// ResultWriter is standard output. It remembers the first error, with which the command then fails:
// a result that is cut off must not look complete to a script.
type ResultWriter struct {
	io.Writer
	Err error
}

func (w *ResultWriter) Write(p []byte) (int, error) {
	n, err := w.Writer.Write(p)
	w.Err = cmp.Or(w.Err, err)
	return n, err
}

// WriteJSON writes v for scripts: indented, and without HTML escapes.
func WriteJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// Say prints v as JSON if -o asks for that, else the text.
func (p *Program) Say(o *Output, v any, text string) error {
	if o.JSON() {
		return WriteJSON(p.Stdout, v)
	}
	_, err := fmt.Fprintln(p.Stdout, text)
	return err
}

// WriteList prints a list as JSON if -o asks for that, else as a table with a row for each.
func WriteList[T any](p *Program, o *Output, heads []string, all []T, row func(T) []string) error {
	if o.JSON() {
		return WriteJSON(p.Stdout, append([]T{}, all...)) // an empty list is [], not null
	}
	return WriteTable(p.Stdout, heads, Rows(all, row))
}

// Rows returns the row of cells of each.
func Rows[T any](all []T, row func(T) []string) [][]string {
	rows := make([][]string, 0, len(all))
	for _, v := range all {
		rows = append(rows, row(v))
	}
	return rows
}

// WriteTable writes aligned columns: the heads, then the rows. It replaces unprintable characters
// in the cells, and breaks a long last cell into lines.
func WriteTable(w io.Writer, heads []string, rows [][]string) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, strings.Join(heads, "\t"))
	for _, r := range rows {
		for i := range r {
			r[i] = sentence.Printable(r[i])
		}
		for n, part := range sentence.Wrap(r[len(r)-1], maxCell) {
			if n > 0 {
				r = make([]string, len(heads))
			}
			r[len(r)-1] = part
			fmt.Fprintln(t, strings.Join(r, "\t"))
		}
	}
	return t.Flush()
}

// maxLine is the largest width of a line of a sentence.
const maxLine = 190

// paragraph breaks a sentence of any length into lines. It replaces unprintable characters.
func paragraph(text string) string {
	return strings.Join(sentence.Wrap(sentence.Printable(text), maxLine), "\n  ")
}

// WriteParagraph writes the paragraph of a sentence.
func WriteParagraph(w io.Writer, text string) { fmt.Fprintln(w, paragraph(text)) }

// maxCell is the largest width of a line in the last column of a table, which is a sentence.
const maxCell = 100

// PrintableLines is sentence.Printable for a text of several lines.
func PrintableLines(s string) string {
	lines := strings.Split(s, "\n")
	for i := range lines {
		lines[i] = sentence.Printable(lines[i])
	}
	return strings.Join(lines, "\n")
}

// Clock is sentence.Instant, with "-" for the zero time.
func Clock(t time.Time) string { return cmp.Or(sentence.Instant(t), "-") }

// fileOf returns the file that w writes to; nil: w writes to none.
func fileOf(w io.Writer) *os.File {
	if r, ok := w.(*ResultWriter); ok {
		w = r.Writer
	}
	f, _ := w.(*os.File)
	return f
}

// IsTerminal reports whether w is a terminal.
func IsTerminal(w io.Writer) bool {
	f := fileOf(w)
	return f != nil && term.IsTerminal(int(f.Fd()))
}

// Width returns the columns of the terminal w. It returns 0, no wrapping, for other writers.
func Width(w io.Writer) int {
	if f := fileOf(w); f != nil {
		if columns, _, err := term.GetSize(int(f.Fd())); err == nil {
			return columns
		}
	}
	return 0
}
