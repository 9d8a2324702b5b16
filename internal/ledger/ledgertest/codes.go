package ledgertest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"campaignd/internal/ledger"
)

// NamedCodes checks the SQL of the package in dir: its string literals outside tests, and its
// migrations. Each number that a statement compares with the column state, flags or rank, or
// writes into it, is followed by its name (codeNames) as a comment: state = 3 /* in doubt */.
// A list has one comment for each number, or one comment behind the list: state IN (1, 2, 3)
// /* open */. The wake time ledger.AfterCanary has a name, too, and no other number has that name.
func NamedCodes(t *testing.T, dir string) {
	t.Helper()
	codes := 0
	check := func(where, sql string) {
		n, problems := checkCodes(sql)
		codes += n
		for _, p := range problems {
			t.Errorf("%s: %s; want each code named", where, p)
		}
	}
	sources, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatalf("%s: %v; want no error", dir, err)
	}
	for _, path := range sources {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatalf("%s: %v; want no error", path, err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if l, ok := n.(*ast.BasicLit); ok && l.Kind == token.STRING {
				if text, err := strconv.Unquote(l.Value); err == nil {
					check(set.Position(l.Pos()).String(), text)
				}
			}
			return true
		})
	}
	migrations, err := filepath.Glob(filepath.Join(dir, "migrations", "*.sql"))
	if err != nil {
		t.Fatalf("%s: %v; want no error", dir, err)
	}
	for _, path := range migrations {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatalf("%s: %v; want no error", path, err)
		}
		check(path, string(text))
	}
	if codes == 0 {
		t.Errorf("%s: the statements write out %d codes; want some", dir, codes)
	}
}

// sqlToken is a word, number or sign of a statement; name is the comment directly behind it.
type sqlToken struct{ text, name string }

var (
	sqlTokens  = regexp.MustCompile(`(?s)/\*.*?\*/|--[^\n]*|'[^']*'|[$?][0-9]+|\w+|<>|!=|<=|>=|\|\||<<|>>|::|\S`)
	sqlNumber  = regexp.MustCompile(`^[0-9]+$`)
	comparison = []string{"=", "<>", "!=", "<", ">", "<=", ">=", "&", "|", "IS", "NOT", "DISTINCT", "FROM"}
	choosing   = []string{"MAX", "MIN", "GREATEST", "LEAST", "COALESCE"}
)

func tokensOf(sql string) (all []sqlToken) {
	for _, text := range sqlTokens.FindAllString(sql, -1) {
		switch {
		case strings.HasPrefix(text, "--"):
		case strings.HasPrefix(text, "/*"):
			if len(all) > 0 {
				all[len(all)-1].name = strings.TrimSpace(strings.Trim(text, "/*"))
			}
		default:
			all = append(all, sqlToken{text: text})
		}
	}
	return all
}

// codeChecker collects the codes of one statement that have no name or a wrong one.
type codeChecker struct {
	tokens   []sqlToken
	codes    int
	problems []string
}

// checkCodes returns how many codes the statement has as numbers, and what is wrong with their
// names.
func checkCodes(sql string) (codes int, problems []string) {
	c := codeChecker{tokens: tokensOf(sql)}
	for i := range c.tokens {
		switch {
		case c.coded(i):
			c.column(i)
		case c.number(i):
			c.wakeTime(i)
		case slices.Contains(choosing, c.word(i)) && c.word(i+1) == "(":
			c.choice(i + 2)
		case c.word(i) == "INSERT":
			c.insert(i + 1)
		}
	}
	return c.codes, c.problems
}

// word is the i-th token in capitals, "" outside the statement.
func (c *codeChecker) word(i int) string {
	if i < 0 || i >= len(c.tokens) {
		return ""
	}
	return strings.ToUpper(c.tokens[i].text)
}

func (c *codeChecker) coded(i int) bool {
	return i < len(c.tokens) && slices.Contains([]string{"state", "flags", "rank"}, c.tokens[i].text)
}

func (c *codeChecker) number(i int) bool { return sqlNumber.MatchString(c.word(i)) }

// named checks the name of the number at i, if there is one.
func (c *codeChecker) named(column string, i int) {
	if !c.number(i) {
		return
	}
	c.codes++
	code, _ := strconv.Atoi(c.tokens[i].text)
	if got, want := c.tokens[i].name, codeName(column, code); got != want || want == "" {
		c.problems = append(c.problems, fmt.Sprintf("%s %d is named %q; want %q", column, code, got, want))
	}
}

// wakeTime checks that the number at i has the name "after the canary" if it is that wake time, and
// only then.
func (c *codeChecker) wakeTime(i int) {
	const name = "after the canary"
	is := c.tokens[i].text == strconv.FormatInt(ledger.AfterCanary, 10)
	if is {
		c.codes++
	}
	if called := c.tokens[i].name == name; is != called {
		c.problems = append(c.problems, fmt.Sprintf("%s is named %q; want %q for %d alone",
			c.tokens[i].text, c.tokens[i].name, name, int64(ledger.AfterCanary)))
	}
}

// column checks the numbers that the column at i is compared with or set to.
func (c *codeChecker) column(i int) {
	column := c.tokens[i].text
	next := i + 1
	for slices.Contains(comparison, c.word(next)) {
		next++
	}
	before := i - 1
	if c.word(before) == "." {
		before -= 2
	}
	switch {
	case c.word(next) == "IN" && c.word(next+1) == "(":
		c.list(column, next+2)
	case c.word(before) == "CASE":
		c.branches(column, i, "WHEN")
	case next == i+1:
	case c.word(next) == "CASE":
		c.branches(column, next+1, "THEN", "ELSE")
	default:
		c.named(column, next)
	}
}

// list checks the list whose first element is at i.
func (c *codeChecker) list(column string, i int) {
	first, codes := i, []int{}
	for ; i < len(c.tokens) && c.word(i) != ")"; i++ {
		if c.number(i) {
			code, _ := strconv.Atoi(c.tokens[i].text)
			codes = append(codes, code)
		}
	}
	if len(codes) > 0 && i < len(c.tokens) && c.tokens[i].name != "" {
		c.codes += len(codes)
		if got, want := c.tokens[i].name, codeName(column, codes...); got != want {
			c.problems = append(c.problems, fmt.Sprintf("%s IN %d is named %q; want %q", column, codes, got, want))
		}
		return
	}
	for ; first < i; first++ {
		c.named(column, first)
	}
}

// branches checks the numbers that follow these words in the CASE around i.
func (c *codeChecker) branches(column string, i int, words ...string) {
	for depth := 1; i < len(c.tokens) && depth > 0; i++ {
		switch w := c.word(i); {
		case w == "CASE":
			depth++
		case w == "END":
			depth--
		case depth == 1 && slices.Contains(words, w):
			c.named(column, i+1)
		}
	}
}

// choice checks the arguments of a function such as max, which begin at i, when one of them is a
// column of codes.
func (c *codeChecker) choice(i int) {
	column, end := "", i
	for ; end < len(c.tokens) && c.word(end) != ")" && c.word(end) != "("; end++ {
		if c.coded(end) {
			column = c.tokens[end].text
		}
	}
	for ; column != "" && i < end; i++ {
		if c.word(i-1) == "(" || c.word(i-1) == "," {
			c.named(column, i)
		}
	}
}

// insert checks the values of INSERT INTO table (columns); i is the token after INSERT.
func (c *codeChecker) insert(i int) {
	for ; i < len(c.tokens) && c.word(i) != "("; i++ {
		if c.word(i) == "VALUES" || c.word(i) == "SELECT" {
			return // without a list of columns
		}
	}
	var columns []string
	for i++; i < len(c.tokens) && c.word(i) != ")"; i++ {
		if c.word(i) != "," {
			columns = append(columns, c.tokens[i].text)
		}
	}
	if i++; c.word(i) == "VALUES" {
		i++
	}
	depth, at := 0, 0
	for i++; i < len(c.tokens) && depth >= 0 && c.word(i) != "FROM" && at < len(columns); i++ {
		switch c.word(i) {
		case "(", "CASE":
			depth++
		case ")", "END":
			depth--
		case ",":
			if depth == 0 {
				at++
			}
		default:
			alone := c.word(i-1) == "," || c.word(i-1) == "(" || c.word(i-1) == "SELECT"
			if depth == 0 && alone && slices.Contains([]string{"state", "flags", "rank"}, columns[at]) {
				c.named(columns[at], i)
			}
		}
	}
}
