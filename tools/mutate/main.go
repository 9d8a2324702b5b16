package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// mutated lists the packages that are mutated by default.
const mutated = "./campaign/... ./internal/ledger ./internal/ledger/sqlite ./internal/ledger/postgres ./internal/messaging/... " +
	"./internal/webhooks ./internal/config ./internal/schedule ./internal/daemon ./throttle ./recipients ./reporting ./cmd/..."

// options are the flags and the state of one run.
type options struct {
	n        int
	seed     uint64
	packages string
	at       string
	again    string
	written  bool
	args     []string // names and files of mutations; none: all
	list     bool
	report   string
	workers  int

	overlayTo string

	root, work string
	module     string
	cache      string // the folder of cached; "": the user's
	began      time.Time
	mu         sync.Mutex
}

func main() {
	var o options
	flag.IntVar(&o.n, "n", 150, "how many mutations")
	flag.Uint64Var(&o.seed, "seed", 1, "the same seed draws the same mutations of the same code")
	flag.StringVar(&o.packages, "packages", mutated, "packages to mutate, separated by spaces")
	flag.StringVar(&o.at, "at", "", "FILE:LINE: every mutation of this line, instead of a sample")
	flag.StringVar(&o.again, "again", "", "a report: its survivors that are still in the code, instead of a sample")
	flag.BoolVar(&o.written, "written", false,
		"the mutations of mutations.txt and mistakes.txt, or the ones of the NAMES and FILES, instead of a sample")
	flag.StringVar(&o.overlayTo, "overlay", "", "only write the program with these mutations, as a build overlay, to this folder")
	flag.BoolVar(&o.list, "list", false, "print the mutations that may be drawn, and run no test")
	flag.StringVar(&o.report, "o", "", "also write the report to this file")
	flag.IntVar(&o.workers, "workers", 2, "mutations that are tried at the same time")
	flag.Parse()
	o.args = flag.Args()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code, err := run(ctx, &o)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		code = 1
	}
	os.Exit(code)
}

func run(ctx context.Context, o *options) (code int, err error) {
	o.began = time.Now()
	module, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Path}} {{.Dir}}").Output()
	if err != nil {
		return 1, fmt.Errorf("the folder is not of a Go module: %w", err)
	}
	o.module, o.root, _ = strings.Cut(strings.TrimSpace(string(module)), " ")
	if o.overlayTo != "" {
		return o.printOverlay()
	}
	if o.work, err = os.MkdirTemp("", "mutate-"); err != nil {
		return 1, err
	}
	defer func() { _ = os.RemoveAll(o.work) }()
	if o.written {
		return o.tryWritten(ctx)
	}
	equivalents, err := readEntries(filepath.Join(o.root, "tools/mutate/equivalent.txt"))
	if err != nil {
		return 1, err
	}
	all, err := loadPackages(o.root, []string{"./..."})
	if err != nil {
		return 1, err
	}
	chosen, err := loadPackages(o.root, strings.Fields(o.packages))
	if err != nil {
		return 1, err
	}
	var pool [][]*Mutation
	for _, p := range chosen {
		var found []*Mutation
		for _, f := range p.files {
			for _, m := range mutations(f) {
				if o.at == "" || o.at == fmt.Sprintf("%s:%d", o.relative(f.Path), m.Line()) {
					found = append(found, m)
				}
			}
		}
		pool = append(pool, found)
	}
	if o.again != "" {
		report, err := os.ReadFile(o.again)
		if err != nil {
			return 1, err
		}
		for i := range pool {
			pool[i] = survived(string(report), o, pool[i])
		}
	}
	if o.at != "" || o.again != "" {
		o.n = math.MaxInt32 // every mutation
	}
	plan := newPlan(pool, o.n, o.seed)
	if o.list {
		for _, queue := range plan.queues {
			for _, m := range queue {
				m.choose(m.New[0])
				fmt.Printf("%s:%d  %s\n    - %s\n    + %s\n", o.relative(m.File.Path), m.Line(), m.Kind, m.before, m.after)
			}
		}
		return 0, nil
	}
	return o.tryAll(ctx, plan, all, chosen, equivalents)
}

// tryAll tries the plan's mutations, prints the report and returns the exit code.
func (o *options) tryAll(ctx context.Context, plan *plan, all, chosen []*Package, equivalents []entry) (int, error) {
	var tested []*Package
	var cover []string
	for _, p := range chosen {
		cover = append(cover, p.ImportPath)
	}
	for _, p := range all {
		near := slices.ContainsFunc(chosen, func(c *Package) bool {
			return c.ImportPath == p.ImportPath || p.imports(c.ImportPath)
		})
		if near && p.hasTests() && !strings.Contains(p.ImportPath, "/tools/") {
			tested = append(tested, p)
		}
	}
	tests, err := measure(ctx, o, tested, cover)
	if err != nil {
		return 1, err
	}
	x := &index{all: all}
	var verdicts []*Verdict
	var failure error
	o.parallel(o.workers, func(int) {
		for {
			o.mu.Lock()
			m := plan.next()
			done := m == nil || failure != nil
			o.mu.Unlock()
			if done {
				return
			}
			v, err := try(ctx, o, m, tests, x)
			o.mu.Lock()
			plan.tried(m, v != nil)
			if err != nil {
				failure = cmp.Or(failure, err)
			}
			if v != nil && err == nil {
				if !v.killed() {
					v.Reason = reasonOf(equivalents, o.relative(m.File.Path), m)
				}
				verdicts = append(verdicts, v)
				o.note(v, len(verdicts), plan.size)
			}
			o.mu.Unlock()
		}
	})
	if failure != nil {
		return 1, failure
	}
	slices.SortFunc(verdicts, func(a, b *Verdict) int {
		return cmp.Or(strings.Compare(a.File.Path, b.File.Path), cmp.Compare(a.Start, b.Start))
	})
	out := io.Writer(os.Stdout)
	if o.report != "" {
		f, err := os.Create(o.report)
		if err != nil {
			return 1, err
		}
		defer func() { _ = f.Close() }()
		out = io.MultiWriter(out, f)
	}
	return printReport(out, o, verdicts), nil
}

// A plan draws mutations: a share of each package, and in each package the kinds in turn.
type plan struct {
	queues [][]*Mutation // one for each package, in the order of drawing
	want   []int
	size   int
}

// newPlan divides n among the packages by the square root of their numbers of mutations, so that a
// large package does not take nearly all.
func newPlan(pool [][]*Mutation, n int, seed uint64) *plan {
	p := &plan{queues: make([][]*Mutation, len(pool)), want: make([]int, len(pool))}
	sum := 0.0
	for _, found := range pool {
		sum += math.Sqrt(float64(len(found)))
	}
	left := 0.0 // the rounding error of the packages before
	for i, found := range pool {
		r := rand.New(rand.NewPCG(seed, uint64(i)))
		kinds := map[string][]*Mutation{}
		var names []string
		for _, j := range r.Perm(len(found)) {
			m := found[j]
			if kinds[m.Kind] == nil {
				names = append(names, m.Kind)
			}
			kinds[m.Kind] = append(kinds[m.Kind], m)
		}
		slices.Sort(names)
		r.Shuffle(len(names), func(a, b int) { names[a], names[b] = names[b], names[a] })
		for len(p.queues[i]) < len(found) {
			for _, k := range names {
				if len(kinds[k]) > 0 {
					p.queues[i] = append(p.queues[i], kinds[k][0])
					kinds[k] = kinds[k][1:]
				}
			}
		}
		share := float64(n)*math.Sqrt(float64(len(found)))/sum + left
		p.want[i] = min(int(math.Round(share)), len(found))
		left = share - float64(p.want[i])
		p.size += p.want[i]
	}
	return p
}

// next returns the next mutation, from the package that lacks most, and nil when there is none.
func (p *plan) next() *Mutation {
	most := -1
	for i := range p.queues {
		if len(p.queues[i]) > 0 && p.want[i] > 0 && (most < 0 || p.want[i] > p.want[most]) {
			most = i
		}
	}
	if most < 0 {
		return nil
	}
	m := p.queues[most][0]
	p.queues[most] = p.queues[most][1:]
	p.want[most]--
	return m
}

// tried records a tried mutation. One that does not count, because it does not compile, is replaced
// by another of its package.
func (p *plan) tried(m *Mutation, counts bool) {
	if counts {
		return
	}
	for i := range p.queues {
		if len(p.queues[i]) > 0 && p.queues[i][0].File.Package == m.File.Package {
			p.want[i]++
			return
		}
	}
	p.size--
}

func (o *options) relative(path string) string {
	if rel, err := filepath.Rel(o.root, path); err == nil {
		return rel
	}
	return path
}

func (o *options) progress(what string, i, n int) {
	if i%50 == 0 || i == n {
		fmt.Fprintf(os.Stderr, "%6s  %s %d of %d\n", time.Since(o.began).Round(time.Second), what, i, n)
	}
}

func (o *options) note(v *Verdict, i, n int) {
	became := "killed by " + v.By
	if !v.killed() {
		became = "SURVIVED " + strconv.Itoa(v.Tests) + " tests"
	}
	fmt.Fprintf(os.Stderr, "%6s  %3d of %d  %s:%d %s: %s (%s)\n", time.Since(o.began).Round(time.Second), i, n,
		o.relative(v.File.Path), v.Line(), v.Kind, became, v.Took.Round(100*time.Millisecond))
}
