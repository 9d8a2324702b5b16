package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/token"
	"slices"
	"strings"
)

// A Mutation replaces the bytes from Start to End of a file.
type Mutation struct {
	File       *File
	Kind       string
	Start, End int
	New        []string // replacements; the first that compiles is used

	before, after string // the lines of the change, set by choose
}

// Line returns the number of the first changed line.
func (m *Mutation) Line() int { return m.File.line(m.Start) }

// apply returns the file's text with a replacement.
func (m *Mutation) apply(replacement string) []byte {
	return bytes.Join([][]byte{m.File.text[:m.Start], []byte(replacement), m.File.text[m.End:]}, nil)
}

// choose sets before and after to the lines of the change, without their indentation.
func (m *Mutation) choose(replacement string) {
	text := m.File.text
	from := bytes.LastIndexByte(text[:m.Start], '\n') + 1
	to := len(text)
	if i := bytes.IndexByte(text[m.End:], '\n'); i >= 0 {
		to = m.End + i
	}
	m.before = flat(string(text[from:to]))
	m.after = flat(string(text[from:m.Start]) + replacement + string(text[m.End:to]))
}

// flat joins lines to one of 240 bytes at most.
func flat(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if len(s) > 240 {
		s = s[:240] + " ..."
	}
	return s
}

// The kinds of mutation.
const (
	negate     = "condition negated"
	shift      = "comparison shifted"
	logic      = "and/or exchanged"
	constant   = "constant changed"
	arithmetic = "operator exchanged"
	argument   = "argument dropped"
	branch     = "branch dropped"
	statement  = "statement dropped"
	wrongError = "another error returned"
	query      = "SQL changed"
	script     = "Lua changed"
)

// opposite is the operator that replaces another.
var opposite = map[token.Token]string{
	token.EQL: "!=", token.NEQ: "==", token.LSS: "<=", token.LEQ: "<", token.GTR: ">=", token.GEQ: ">",
	token.LAND: "||", token.LOR: "&&", token.ADD: "-", token.SUB: "+", token.MUL: "/", token.QUO: "*",
}

// mutations returns every mutation of a file.
func mutations(f *File) []*Mutation {
	if f.tree == nil {
		if strings.HasSuffix(f.Path, ".lua") {
			return scripts(f, 0, string(f.text), script, luaRules)
		}
		return nil
	}
	w := &walker{file: f}
	for _, d := range f.tree.Decls {
		g, ok := d.(*ast.GenDecl)
		if ok && g.Tok != token.CONST && g.Tok != token.VAR {
			continue // types and imports
		}
		ast.Inspect(d, w.visit)
	}
	return w.found
}

// walker collects the mutations of a Go file.
type walker struct {
	file  *File
	found []*Mutation
}

func (w *walker) add(kind string, from, to token.Pos, replacement ...string) {
	start, end := w.file.offset(from), w.file.offset(to)
	w.found = append(w.found, &Mutation{File: w.file, Kind: kind, Start: start, End: end, New: replacement})
}

func (w *walker) source(n ast.Node) string {
	return string(w.file.text[w.file.offset(n.Pos()):w.file.offset(n.End())])
}

func (w *walker) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.CallExpr:
		if untested(w.source(n.Fun)) {
			return false
		}
		w.call(n)
		if sized := sizes(n); sized < len(n.Args) {
			for _, arg := range n.Args[:sized] {
				ast.Inspect(arg, w.visit)
			}
			return false
		}
	case *ast.IfStmt:
		if strings.Contains(w.source(n.Cond), "mutant.") { // a crash point
			return false
		}
		w.condition(n.Cond)
		w.add(branch, n.Cond.Pos(), n.Cond.End(), "false && ("+w.source(n.Cond)+")")
		if n.Else != nil {
			w.add(branch, n.Body.End(), n.Else.End(), "")
		}
	case *ast.ForStmt:
		if n.Cond != nil {
			w.condition(n.Cond)
		}
	case *ast.CaseClause:
		if len(n.Body) > 0 && len(n.List) > 0 {
			w.add(branch, n.Body[0].Pos(), n.Body[len(n.Body)-1].End(), "")
		}
	case *ast.BinaryExpr:
		w.binary(n)
	case *ast.BasicLit:
		w.literal(n)
	case *ast.ExprStmt:
		if call, ok := n.X.(*ast.CallExpr); ok && !untested(w.source(call.Fun)) {
			w.add(statement, n.Pos(), n.End(), "")
		}
	case *ast.AssignStmt:
		if n.Tok != token.DEFINE {
			w.add(statement, n.Pos(), n.End(), "", "_ = "+w.source(n.Rhs[0]))
		}
	case *ast.IncDecStmt:
		w.add(statement, n.Pos(), n.End(), "")
	case *ast.BranchStmt:
		if n.Label == nil && n.Tok != token.FALLTHROUGH {
			w.add(statement, n.Pos(), n.End(), "")
		}
	case *ast.ReturnStmt:
		w.result(n)
	}
	return true
}

// condition negates a condition. binary changes comparisons.
func (w *walker) condition(c ast.Expr) {
	if b, ok := c.(*ast.BinaryExpr); ok && opposite[b.Op] != "" {
		return
	}
	if not, ok := c.(*ast.UnaryExpr); ok && not.Op == token.NOT {
		w.add(negate, c.Pos(), c.End(), w.source(not.X))
		return
	}
	w.add(negate, c.Pos(), c.End(), "!("+w.source(c)+")")
}

func (w *walker) binary(n *ast.BinaryExpr) {
	var kind string
	switch n.Op {
	case token.EQL, token.NEQ:
		kind = negate
	case token.LSS, token.LEQ, token.GTR, token.GEQ:
		kind = shift
	case token.LAND, token.LOR:
		kind = logic
	case token.ADD, token.SUB, token.MUL, token.QUO:
		kind = arithmetic
		if unit(n.X) || unit(n.Y) { // in 90 * time.Second the constant is mutated instead
			return
		}
	default:
		return
	}
	w.add(kind, n.OpPos, n.OpPos+token.Pos(len(n.Op.String())), opposite[n.Op])
}

// unit reports whether an expression is a unit of time.
func unit(e ast.Expr) bool {
	s, ok := e.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	x, ok := s.X.(*ast.Ident)
	return ok && x.Name == "time" &&
		(strings.HasSuffix(s.Sel.Name, "nd") || s.Sel.Name == "Minute" || s.Sel.Name == "Hour")
}

func (w *walker) literal(n *ast.BasicLit) {
	switch n.Kind {
	case token.INT:
		if n.Value == "0" {
			w.add(constant, n.Pos(), n.End(), "1")
		} else {
			w.add(constant, n.Pos(), n.End(), "("+n.Value+" + 1)", "("+n.Value+" - 1)")
		}
	case token.FLOAT:
		w.add(constant, n.Pos(), n.End(), "("+n.Value+" * 1.25)")
	case token.STRING:
		if text := n.Value; statementOfSQL(text) {
			w.found = append(w.found, scripts(w.file, w.file.offset(n.Pos()), text, query, sqlRules)...)
		}
	}
}

// call replaces each argument by its zero value, and drops the last argument.
func (w *walker) call(n *ast.CallExpr) {
	if name := w.source(n.Fun); name == "make" || name == "append" || name == "len" || name == "cap" {
		return
	}
	for i, arg := range n.Args {
		switch x := arg.(type) {
		case *ast.Ident:
			if slices.Contains([]string{"ctx", "nil", "true", "false"}, x.Name) {
				continue
			}
		case *ast.FuncLit, *ast.BasicLit, *ast.CompositeLit:
			continue
		}
		var zeros []string
		for _, zero := range []string{"nil", `""`, "0", "false"} {
			if zero != w.source(arg) {
				zeros = append(zeros, zero)
			}
		}
		if i > 0 && i == len(n.Args)-1 && !n.Ellipsis.IsValid() {
			w.add(argument, n.Args[i-1].End(), arg.End(), "") // compiles where the parameter is variadic
		}
		w.add(argument, arg.Pos(), arg.End(), zeros...)
	}
}

// sizes returns the number of arguments before a capacity: that of a slice, or the hint of a map.
func sizes(n *ast.CallExpr) int {
	if id, ok := n.Fun.(*ast.Ident); !ok || id.Name != "make" {
		return len(n.Args)
	}
	if _, ok := n.Args[0].(*ast.MapType); ok {
		return 1
	}
	return min(len(n.Args), 2)
}

// result replaces the returned error by another or by nil.
func (w *walker) result(n *ast.ReturnStmt) {
	if len(n.Results) == 0 {
		return
	}
	last := n.Results[len(n.Results)-1]
	switch text := w.source(last); {
	case text == "err":
		w.add(wrongError, last.Pos(), last.End(), "nil")
	case strings.HasPrefix(text, "Err") || strings.Contains(text, ".Err"):
		w.add(wrongError, last.Pos(), last.End(),
			"context.Canceled", "io.EOF", `errors.New("another")`, `fmt.Errorf("another")`)
	case strings.HasPrefix(text, "fmt.Errorf("):
		w.add(wrongError, last.Pos(), last.End(), "nil")
	}
}

// untested reports whether a call is not mutated: it writes a text for people, reserves memory,
// unlocks or panics.
func untested(fun string) bool {
	name := fun[strings.LastIndexByte(fun, '.')+1:]
	switch name {
	case "Debug", "Info", "Warn", "DebugContext", "InfoContext", "WarnContext", "ErrorContext", "LogAttrs",
		"panic", "Grow", "Unlock", "RUnlock":
		return true
	case "Error": // the method of a logger, not of an error
		return strings.Contains(strings.ToLower(fun), "log")
	}
	return strings.HasPrefix(fun, "mutant.")
}

// String returns the site and the kind.
func (m *Mutation) String() string { return fmt.Sprintf("%s:%d %s", m.File.Path, m.Line(), m.Kind) }
