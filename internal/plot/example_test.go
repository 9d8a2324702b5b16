package plot_test

import (
	"fmt"

	"campaignd/internal/plot"
)

// A table with bars.
func Example() {
	t := plot.Table{
		Caption: "Codes",
		Columns: []plot.Column{{Name: "Code"}},
		Rows:    [][]plot.Cell{{{Text: "131049"}}, {{Text: "<b>"}}},
	}
	fmt.Println(t.HTML())
	// Output:
	// <table><caption class="hidden">Codes</caption><thead><tr><th scope="col">Code</th></tr></thead>
	// <tbody><tr><th scope="row">131049</th></tr>
	// <tr><th scope="row">&lt;b&gt;</th></tr>
	// </tbody></table>
}
