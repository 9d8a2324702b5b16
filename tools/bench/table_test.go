//go:build unix

package main

import (
	"strings"
	"testing"
)

func TestAFigureIsTheMedianBetweenItsExtremes(t *testing.T) {
	for _, c := range []struct {
		values []float64
		want   string
	}{
		{[]float64{3}, "3.00 (3.00..3.00)"},
		{[]float64{9, 1, 2}, "2.00 (1.00..9.00)"},
		{[]float64{4, 1, 2, 9}, "3.00 (1.00..9.00)"},
		{[]float64{0.033}, "0.033 (0.033..0.033)"},
		{[]float64{82.34, 80, 90}, "82.3 (80.0..90.0)"},
		{[]float64{16_915.4}, "16915 (16915..16915)"},
		{[]float64{blank, blank}, ""},
	} {
		if got := figureOf(c.values).String(); got != c.want {
			t.Errorf("figureOf(%v) = %q, want %q", c.values, got, c.want)
		}
	}
}

// scripts/bench-beside.sh reads the rows by their names and columns.
func TestATableHasARowForEachName(t *testing.T) {
	table := newTable("statuses", "", "messages/s", "CPU us/message")
	for _, rate := range []float64{100, 120} {
		table.add("singly\tbare net/http loop", rate, 20)
		table.add("singly\tcampaignd / bare", 0.5, blank)
	}
	var out strings.Builder
	if err := table.print(&out, "Sending %d messages.", 7); err != nil {
		t.Fatal(err)
	}
	const want = "\nSending 7 messages.\n" +
		"statuses                        messages/s             CPU us/message\n" +
		"singly     bare net/http loop   110.0 (100.0..120.0)   20.0 (20.0..20.0)\n" +
		"singly     campaignd / bare     0.50 (0.50..0.50)      \n"
	if out.String() != want {
		t.Errorf("print = %q, want %q", out.String(), want)
	}
}

// Each side is first in some repetition.
func TestTheOrderOfSidesAlternates(t *testing.T) {
	var got strings.Builder
	side := func(name string) func() error {
		return func() error { got.WriteString(name); return nil }
	}
	for i := range 3 {
		if err := inTurn(i, side("a"), side("b"), side("c")); err != nil {
			t.Fatal(err)
		}
	}
	if got.String() != "abcbcacab" {
		t.Errorf("three repetitions measured %s, want abcbcacab", got.String())
	}
}
