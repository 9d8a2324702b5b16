//go:build mutants

package harness

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// entry is a row of a list with its expected outcome.
type entry struct {
	to   string // E.164; "" when the cell holds no number
	skip string // the reason for which the row must be skipped; "": it must be sent
	text string // the line of the file
}

// phoneOf returns the i-th number of a list: a Nigerian mobile, with ten digits after the country
// code.
func phoneOf(i int) string { return fmt.Sprintf("+234803%07d", i) }

// listOf makes a list of which one row in thirty is bad.
func listOf(rows int, draw *rand.Rand) []entry {
	all := make([]entry, 0, rows)
	var good []string
	for i := range rows {
		e := entry{to: phoneOf(i), text: fmt.Sprintf("%s,Name %d,A-%d", phoneOf(i), i, i)}
		switch draw.IntN(90) {
		case 0:
			e = entry{skip: "invalid_phone", text: fmt.Sprintf("9.18E+11,Name %d,A-%d", i, i)}
		case 1:
			e = entry{skip: "missing_phone", text: fmt.Sprintf(",Name %d,A-%d", i, i)}
		case 2:
			if len(good) > 0 {
				twin := good[draw.IntN(len(good))]
				e = entry{to: twin, skip: "duplicate", text: fmt.Sprintf("%s,Name %d,A-%d", twin, i, i)}
			}
		}
		if e.skip == "" {
			good = append(good, e.to)
		}
		all = append(all, e)
	}
	return all
}

// fileOf returns the text of the list's file.
func fileOf(list []entry) string {
	var b strings.Builder
	b.WriteString("phone,first_name,order\n")
	for _, e := range list {
		b.WriteString(e.text + "\n")
	}
	return b.String()
}
