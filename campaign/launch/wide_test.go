package launch_test

import (
	"fmt"
	"strings"
	"testing"

	"campaignd/campaign/launch"
)

// A row may have a megabyte. The rows held at a time are bounded in bytes, too; 2,000 such rows
// would be two gigabytes.
func TestWideRowsAreTakenAFewAtATime(t *testing.T) {
	var b strings.Builder
	b.WriteString("phone,first_name,note\n")
	const rows, wide = 40, 500 << 10
	for i := range rows {
		fmt.Fprintf(&b, "+23480312%05d,Name,%s\n", i, strings.Repeat("x", wide))
	}
	d := parse(t, `
name: wide
connections: [conn_1]
template: {name: hello_world, language: en_US, body: ["{{ .first_name }}"]}
recipients: {columns: {to: phone}}
`)
	path := writeFile(t, "wide.csv", b.String())
	few := func(what string, progress []int64) {
		t.Helper()
		before := int64(0)
		for _, n := range progress {
			if held := (n - before) * wide; held > 9<<20 {
				t.Errorf("%s: %d rows of %d bytes at a time, want at most 9 MiB", what, n-before, wide)
			}
			before = n
		}
		if before != rows {
			t.Errorf("%s: %d rows, want %d", what, before, rows)
		}
	}
	var checked, imported []int64
	if _, err := launch.RunPreflight(t.Context(),
		launch.PreflightInput{Definition: d, File: "wide.yaml", List: path, Source: []byte("name: wide\n"),
			Progress: func(n int64) { checked = append(checked, n) }}); err != nil {
		t.Fatal(err)
	}
	few("preflight", checked)
	l := openLedger(t)
	run := newRun(t, l, d, path)
	if _, err := launch.Import(t.Context(),
		launch.ImportInput{Ledger: l, Run: run, Definition: d, List: path,
			Progress: func(n int64) { imported = append(imported, n) }}); err != nil {
		t.Fatal(err)
	}
	few("import", imported)
}
