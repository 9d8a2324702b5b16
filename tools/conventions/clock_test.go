package conventions

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// paced are the tests that may fail because something took too long, or too short, by this
// machine's clock, each with its reason. Real pace is what they are about.
var paced = map[string]string{
	// throttletest.Soon and its like measure how late the machine was, and forgive a busy one.
	"internal/daemon TestCancelEndsARunInEveryState":                          "a cancelled run ends within 5 s",
	"internal/daemon TestAStoppedReplicaHandsOverInTwoSeconds":                "a hand-over takes 2 s",
	"internal/daemon TestADeadReplicasSegmentsAreTakenOverAfterItsLease":      "a take-over ends 5 s after the lease",
	"internal/daemon TestTheEndWaitsForNoUnusedConnection":                    "an unused connection delays the end by its grace alone",
	"internal/daemon TestAnUnknownPaceSendsNothing":                           "sending begins 10 s after the service told the pace",
	"internal/ledger/postgres TestASweepAndAWebhookOfOneMessageNeverDeadlock": "no lock_timeout of a second is waited for",
	"internal/ledger/postgres TestAServerThatIsAwayFailsCallsSoon":            "20 calls fail within 10 s",
	"internal/ledger/postgres TestASilentServerHoldsNoConnectionForLong":      "the timeout of a connection is half the time of a call",
	"throttle TestRedisAwayIsUnavailableAtOnce":                               "1,000 leases fail within 2 s",
	"throttle TestRedisLosesItsMemoryAndNoSecondIsAboveTheLimit":              "an outage of a real Redis ends a second after it",
	// The fastest of up to 200 tries.
	"internal/sandbox/shop TestAMillionRecordsArePagedAtOnce": "a page of a million records takes 50 ms",
	// Scenes with real processes, which ./... does not run.
	"internal/daemon/harness TestALargeDropSurvivesFiveKills": "a large list is launched at a rate",
	"internal/daemon/harness TestEventsOfOrdersSlowNoSending": "events are taken at a rate",
	"internal/daemon/harness within":                          "a fault ends within the limit that the documents name",
	// A real browser.
	"tools/browser TestAPageThatIsOpenStaysAlive": "a page answers while it is updated",
}

// A busy machine is slow, so no test decides by how long something took: it counts bytes, calls or
// requests, or runs in the virtual time of testing/synctest. A deadline after which a wait is given
// up is no such decision. throttletest.Soon forgives a machine that was busy.
func TestNoTestDecidesByTheWallClock(t *testing.T) {
	found := map[string]bool{}
	virtual := virtualTime(t)
	err := filepath.WalkDir("../..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		set := token.NewFileSet()
		f, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Body == nil {
				continue
			}
			for _, at := range timed(fn.Body, virtual[filepath.Dir(path)]) {
				name := filepath.ToSlash(strings.TrimPrefix(filepath.Dir(path), "../../")) + " " + fn.Name.Name
				if found[name] = true; paced[name] == "" {
					t.Errorf("%v: got a decision by the wall clock in %s, want it counted, in virtual time, or listed with its reason",
						set.Position(at), name)
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for name := range paced {
		if !found[name] {
			t.Errorf("%s is listed, and decides nothing by the wall clock; want no such entry", name)
		}
	}
}

// virtualTime returns the functions of each folder whose function literals run in virtual time.
func virtualTime(t *testing.T) map[string]map[string]bool {
	t.Helper()
	all := map[string]map[string]bool{}
	for range 2 { // also those that pass their function literal on
		virtualTimeOf(t, all)
	}
	return all
}

func virtualTimeOf(t *testing.T, all map[string]map[string]bool) {
	t.Helper()
	err := filepath.WalkDir("../..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Body != nil {
				ast.Inspect(fn.Body, func(n ast.Node) bool {
					folder := filepath.Dir(path)
					call, ok := n.(*ast.CallExpr)
					if !ok {
						return true
					}
					name, _ := call.Fun.(*ast.Ident)
					if calls(call, "synctest", "Test") || name != nil && all[folder][name.Name] {
						if all[folder] == nil {
							all[folder] = map[string]bool{}
						}
						all[folder][fn.Name.Name] = true
					}
					return true
				})
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// timed returns the conditions of a function that compare an elapsed time and fail the test, but
// for those in virtual time, and the ends of a wait: a loop that gives up after a time alone.
func timed(body *ast.BlockStmt, virtual map[string]bool) (at []token.Pos) {
	elapsed := map[string]bool{} // variables that have a time.Since
	note := func(n ast.Node) {
		if n, ok := n.(*ast.AssignStmt); ok {
			for i, right := range n.Rhs {
				if name, ok := n.Lhs[min(i, len(n.Lhs)-1)].(*ast.Ident); ok && measures(right, nil) {
					elapsed[name.Name] = true
				}
			}
		}
	}
	var loops []*ast.ForStmt
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			if name, ok := n.Fun.(*ast.Ident); ok && virtual[name.Name] {
				return false
			}
			if calls(n, "throttletest", "Soon") {
				at = append(at, n.Pos())
			}
			return !calls(n, "synctest", "Test")
		case *ast.AssignStmt:
			note(n)
		case *ast.ForStmt:
			loops = append(loops, n)
		case *ast.IfStmt:
			note(n.Init)
			waits := slices.ContainsFunc(loops, func(l *ast.ForStmt) bool { return l.Pos() < n.Pos() && n.End() <= l.End() }) && aloneAfter(n)
			if late(n.Cond, elapsed) && fails(n.Body) && !waits {
				at = append(at, n.Pos())
			}
		}
		return true
	})
	return at
}

// aloneAfter reports whether a condition only asks whether a time is over.
func aloneAfter(n *ast.IfStmt) bool {
	b, ok := n.Cond.(*ast.BinaryExpr)
	if !ok || b.Op != token.GTR || n.Init != nil {
		return false
	}
	call, ok := b.X.(*ast.CallExpr)
	return ok && calls(call, "time", "Since")
}

// late reports whether a condition holds because too much time has passed, or another time than
// expected. That less than a time has passed is no fault of a busy machine.
func late(cond ast.Expr, elapsed map[string]bool) (found bool) {
	ast.Inspect(cond, func(n ast.Node) bool {
		if b, ok := n.(*ast.BinaryExpr); ok {
			switch b.Op {
			case token.LSS, token.LEQ:
				found = found || measures(b.Y, elapsed)
			case token.GTR, token.GEQ:
				found = found || measures(b.X, elapsed)
			case token.EQL, token.NEQ:
				found = found || measures(b.X, elapsed) || measures(b.Y, elapsed)
			}
		}
		return true
	})
	return found
}

// measures reports whether an expression has an elapsed time.
func measures(e ast.Expr, elapsed map[string]bool) (found bool) {
	ast.Inspect(e, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			found = found || calls(n, "time", "Since")
		case *ast.Ident:
			found = found || elapsed[n.Name]
		}
		return true
	})
	return found
}

// fails reports whether a block fails its test.
func fails(b *ast.BlockStmt) (found bool) {
	ast.Inspect(b, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			f, ok := call.Fun.(*ast.SelectorExpr)
			found = found || ok && slices.Contains([]string{"Error", "Errorf", "Fatal", "Fatalf"}, f.Sel.Name)
		}
		return true
	})
	return found
}

// calls reports whether a call is of a function of a package.
func calls(call *ast.CallExpr, in, name string) bool {
	f, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || f.Sel.Name != name {
		return false
	}
	x, ok := f.X.(*ast.Ident)
	return ok && x.Name == in
}
