package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
)

// The smallest shares of killed mutations that pass, in percent.
const (
	minOfAll     = 90
	minOfPackage = 80 // of a package with enough mutations or more
	enough       = 10
)

// tally counts verdicts.
type tally struct{ killed, survived, equivalent int }

func (t *tally) add(v *Verdict) {
	switch {
	case v.killed():
		t.killed++
	case v.Reason != "":
		t.equivalent++
	default:
		t.survived++
	}
}

func (t *tally) percent() float64 {
	if t.killed+t.survived == 0 {
		return 100
	}
	return 100 * float64(t.killed) / float64(t.killed+t.survived)
}

// printReport prints the verdicts and returns the exit code.
func printReport(out io.Writer, o *options, verdicts []*Verdict) int {
	var all tally
	packages, kinds := map[string]*tally{}, map[string]*tally{}
	for _, v := range verdicts {
		all.add(v)
		for m, key := range map[*map[string]*tally]string{&packages: v.File.Package.ImportPath, &kinds: v.Kind} {
			if (*m)[key] == nil {
				(*m)[key] = new(tally)
			}
			(*m)[key].add(v)
		}
	}
	survivors(out, o, verdicts)
	for _, v := range verdicts {
		if v.killed() {
			fmt.Fprintf(out, "killed  %s:%d  %s  by %s\n", o.relative(v.File.Path), v.Line(), v.after, v.By)
		}
	}
	code := 0
	for _, table := range []map[string]*tally{packages, kinds, {"all": &all}} {
		fmt.Fprintln(out)
		w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
		fmt.Fprintln(w, "killed\tsurvived\tequivalent\t%\t\t")
		for _, key := range slices.Sorted(maps.Keys(table)) {
			t := table[key]
			fmt.Fprintf(w, "%d\t%d\t%d\t%.0f\t\t%s\n", t.killed, t.survived, t.equivalent, t.percent(), key)
		}
		_ = w.Flush()
	}
	for name, t := range packages {
		if t.killed+t.survived+t.equivalent >= enough && t.percent() < minOfPackage {
			fmt.Fprintf(out, "\ntoo few are killed in %s: %.1f %%, want %d %%\n", name, t.percent(), minOfPackage)
			code = 1
		}
	}
	if all.percent() < minOfAll {
		fmt.Fprintf(out, "\ntoo few are killed: %.1f %%, want %d %%\n", all.percent(), minOfAll)
		code = 1
	}
	fmt.Fprintf(out, "\nseed %d, %d mutations, %s\n", o.seed, len(verdicts), time.Since(o.began).Round(time.Second))
	return code
}

// survivors prints the survivors, then the equivalent mutations.
func survivors(out io.Writer, o *options, verdicts []*Verdict) {
	sorted := slices.Clone(verdicts)
	slices.SortStableFunc(sorted, func(a, b *Verdict) int {
		return cmp.Compare(min(len(a.Reason), 1), min(len(b.Reason), 1))
	})
	for _, v := range sorted {
		if v.killed() {
			continue
		}
		word := "SURVIVED"
		if v.Reason != "" {
			word = "equivalent"
		}
		fmt.Fprintf(out, "%s  %s:%d  %s, %d tests of %s\n- %s\n+ %s\n", word, o.relative(v.File.Path), v.Line(),
			v.Kind, v.Tests, strings.Join(v.Packages, " "), v.before, v.after)
		if v.Reason != "" {
			fmt.Fprintf(out, "= %s\n", v.Reason)
		}
		fmt.Fprintln(out)
	}
}

// survived returns the mutations that a report names as survivors. If a file has several
// equal ones, it returns the one that is nearest to the line in the report.
func survived(report string, o *options, all []*Mutation) []*Mutation {
	type change struct{ file, kind, before, after string }
	equal := map[change][]*Mutation{}
	for _, m := range all {
		for _, replacement := range m.New {
			c := *m
			c.New = []string{replacement}
			c.choose(replacement)
			key := change{o.relative(m.File.Path), m.Kind, c.before, c.after}
			equal[key] = append(equal[key], &c)
		}
	}
	var found []*Mutation
	for _, m := range survivor.FindAllStringSubmatch(report, -1) {
		line, _ := strconv.Atoi(m[2])
		away := func(m *Mutation) int { return max(m.Line()-line, line-m.Line()) }
		if of := equal[change{m[1], m[3], m[4], m[5]}]; len(of) > 0 {
			found = append(found, slices.MinFunc(of, func(a, b *Mutation) int { return cmp.Compare(away(a), away(b)) }))
		}
	}
	return found
}

// survivor matches a survivor in a report.
var survivor = regexp.MustCompile(`(?m)^SURVIVED  (.+):(\d+)  ([^,]+), .*\n- ?(.*)\n\+ ?(.*)$`)
