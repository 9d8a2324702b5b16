package main

import (
	"go/scanner"
	"go/token"
	"regexp"
	"strings"
)

// A Mutation replaces the bytes from start to end of a file.
type Mutation struct {
	File       *File
	start, end int
	with       string
}

// line returns the number of the first changed line.
func (m *Mutation) line() int { return 1 + strings.Count(m.File.text[:m.start], "\n") }

// apply returns the file's text with the replacement.
func (m *Mutation) apply() string { return m.File.text[:m.start] + m.with + m.File.text[m.end:] }

// lines returns the changed lines before and after, without their indentation.
func (m *Mutation) lines() (before, after string) {
	from := strings.LastIndexByte(m.File.text[:m.start], '\n') + 1
	rest, _, _ := strings.Cut(m.File.text[m.end:], "\n")
	return flat(m.File.text[from:m.end] + rest), flat(m.File.text[from:m.start] + m.with + rest)
}

// flat joins lines to one of 240 bytes at most.
func flat(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if len(s) > 240 {
		s = s[:240] + " ..."
	}
	return s
}

// A rule replaces the text that the first group of its pattern matches. $ in the replacement is
// that text.
type rule struct {
	pattern *regexp.Regexp
	with    string
}

// rules makes rules of a table of patterns, each followed by its replacement.
func rules(table ...string) (all []rule) {
	for i := 0; i < len(table); i += 2 {
		all = append(all, rule{regexp.MustCompile(table[i]), table[i+1]})
	}
	return all
}

// goRules change Go as gofmt writes it. Some of what they make does not compile; it is not counted.
var goRules = rules(
	`\s(<)\s`, "<=", `\s(<=)\s`, "<", `\s(>)\s`, ">=", `\s(>=)\s`, ">", `\s(==)\s`, "!=", `\s(!=)\s`, "==",
	`\s(&&)\s`, "||", `\s(\|\|)\s`, "&&",
	`\s(\+)\s`, "-", `[\w)](\+)[\w(]`, "-", `\s(-)\s`, "+", `[\w)](-)[\w(]`, "+",
	`\s(/)\s`, "*", `[\w)](/)[\w(]`, "*", `\s(\*)\s`, "/", `[\w)](\*)[\w(]`, "/",
	`[^\w.\]](\d+)\b`, "($ + 1)",
	`(?m)\bif (?:[^;\n]*; )?([^;\n]*) \{ *$`, "!($)",
	`(?m)\bif (?:[^;\n]*; )?([^;\n]*) \{ *$`, "false && ($)",
	`(?m)^\t+([\w.]+\(.*\)) *$`, "", // a call
	`(?m)^\t+([\w.\[\]]+(?: \S?= .*|\+\+|--)) *$`, "", // an assignment
	`(?m)^\t+(continue|break) *$`, "",
	`(?m)\breturn (?:.*, )?(err|fmt\.Errorf\(.*\)|(?:\w+\.)?Err\w+) *$`, "nil",
	`(?m)\breturn (?:.*, )?((?:\w+\.)?Err\w+) *$`, `errors.New("another")`,
)

// sqlRules change SQL. An equals sign is a comparison only after the words of its pattern; after
// SET it assigns.
var sqlRules = rules(
	`\s(<)\s`, "<=", `\s(<=)\s`, "<", `\s(>)\s`, ">=", `\s(>=)\s`, ">", `\s(<>)\s`, "=",
	`(?i)\b(?:WHERE|AND|OR|ON|WHEN|NOT)\s+[\w.$?()]+\s(=)\s`, "<>",
	`(?i)\b(?:WHERE|AND|OR|ON|WHEN)\s+[\w.$?()]+\s(?:=|<|>|<=|>=)\s(\d+)\b`, "($ + 1)",
	`(?i)\s(AND)\s`, "OR", `(?i)\s(OR)\s`, "AND", `(?i)\s(IS NULL)`, "IS NOT NULL", `(?i)\s(IS NOT NULL)`, "IS NULL",
	`(?i)[^T]\s(EXISTS)\s?\(`, "NOT EXISTS", `(?i)\b(NOT EXISTS)\s?\(`, "EXISTS",
	`(?i)\b(least)\(`, "greatest", `(?i)\b(greatest)\(`, "least", `(?i)\b(min)\(`, "max", `(?i)\b(max)\(`, "min",
	`\s(\+)\s`, "-", `\s(-)\s`, "+", `(?i)\s(DESC)\b`, "ASC", `(?i)\bLIMIT\s+(\d+)`, "($ + 1)", `(?i)\b(COALESCE)\(`, "nullif",
)

// luaRules change Lua.
var luaRules = rules(
	`\s(<)\s`, "<=", `\s(<=)\s`, "<", `\s(>)\s`, ">=", `\s(>=)\s`, ">", `\s(==)\s`, "~=", `\s(~=)\s`, "==",
	`\bif (not )`, "", `\s(and)\s`, "or", `\s(or)\s`, "and",
	`math\.(max)`, "min", `math\.(min)`, "max", `math\.(floor)`, "ceil", `math\.(ceil)`, "floor",
	`\s(\+)\s`, "-", `\s(-)\s`, "+", `\s(\*)\s`, "/", `\s(/)\s`, "*", `[^\w.'%](\d+)\b`, "($ + 1)",
)

// untested matches a line that is not mutated: it writes a text for people, reserves memory,
// unlocks, panics, or is a crash point.
var untested = regexp.MustCompile(`\b((Debug|Info|Warn)(Context)?|ErrorContext|LogAttrs|panic|make|Grow|R?Unlock|mutant)\b|log\.Error`)

// mutations returns the mutations of the file, grouped by rule.
func (f *File) mutations() (byRule [][]*Mutation) {
	if strings.HasSuffix(f.Path, ".lua") {
		return f.find(luaRules, f.text, 0)
	}
	code, statements := masked(f.text)
	byRule = f.find(goRules, code, 0)
	for _, s := range statements {
		byRule = append(byRule, f.find(sqlRules, f.text[s[0]:s[1]], s[0])...)
	}
	return byRule
}

// find applies rules to a text of the file, which begins at the offset base.
func (f *File) find(table []rule, text string, base int) (byRule [][]*Mutation) {
	for _, r := range table {
		var found []*Mutation
		for _, at := range r.pattern.FindAllStringSubmatchIndex(text, -1) {
			m := &Mutation{File: f, start: base + at[2], end: base + at[3]}
			m.with = strings.ReplaceAll(r.with, "$", f.text[m.start:m.end])
			line := text[strings.LastIndexByte(text[:at[2]], '\n')+1 : at[2]]
			before, _ := m.lines()
			if strings.Contains(line, "-- ") || untested.MatchString(before) { // a comment of SQL or Lua
				continue
			}
			found = append(found, m)
		}
		if len(found) > 0 {
			byRule = append(byRule, found)
		}
	}
	return byRule
}

// sqlWords matches the words that show a statement.
var sqlWords = regexp.MustCompile(`\b(SELECT|INSERT INTO|UPDATE|DELETE FROM|WHERE|ON CONFLICT)\b`)

// masked returns the text of a Go file with its comments blank and its strings filled, and where
// its SQL statements begin and end.
func masked(text string) (code string, statements [][2]int) {
	var s scanner.Scanner
	f := token.NewFileSet().AddFile("", -1, len(text))
	s.Init(f, []byte(text), nil, scanner.ScanComments)
	b := []byte(text)
	for {
		pos, kind, literal := s.Scan()
		fill := byte('_')
		switch kind {
		case token.EOF:
			return string(b), statements
		case token.COMMENT:
			fill = ' '
		case token.STRING, token.CHAR:
		default:
			continue
		}
		at := f.Offset(pos)
		if kind == token.STRING && len(literal) > 20 && sqlWords.MatchString(literal) {
			statements = append(statements, [2]int{at, at + len(literal)})
		}
		for i := at; i < at+len(literal); i++ {
			if b[i] != '\n' {
				b[i] = fill
			}
		}
	}
}
