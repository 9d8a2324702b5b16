package conventions

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// onlyVerbs matches a format of verbs alone, whose output does not show which value is got and
// which is wanted.
var onlyVerbs = regexp.MustCompile(`^[\s,:]*(%[+#]?[a-z][\s,:]*)+$`)

// The name of a test has at most 60 characters. The text of an assertion names the value got and
// the value wanted. An assertion may print an error alone, because the error has a text of its own.
func TestTestsHaveShortNamesAndFullAssertions(t *testing.T) {
	tests := 0
	err := filepath.WalkDir("../..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") {
			return err
		}
		set := token.NewFileSet()
		f, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				if strings.HasSuffix(path, "_test.go") && n.Recv == nil && strings.HasPrefix(n.Name.Name, "Test") {
					tests++
					if len(n.Name.Name) > 60 {
						t.Errorf("%v: %s has %d characters, want at most 60", set.Position(n.Pos()), n.Name.Name, len(n.Name.Name))
					}
				}
			case *ast.CallExpr:
				if printed := wordless(n); printed != "" {
					t.Errorf("%v: got %s, want a text that names the value got and the value wanted", set.Position(n.Pos()), printed)
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if tests < 400 {
		t.Errorf("tests found = %d, want all of the repository, 400 or more", tests)
	}
}

// wordless returns the text of an assertion that prints values alone, and "" for any other call.
func wordless(call *ast.CallExpr) string {
	f, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || len(call.Args) == 0 {
		return ""
	}
	if x, ok := f.X.(*ast.Ident); !ok || x.Name != "t" && x.Name != "tb" && x.Name != "b" && x.Name != "rt" {
		return ""
	}
	name := f.Sel.Name
	switch name {
	case "Errorf", "Fatalf":
		format, ok := call.Args[0].(*ast.BasicLit)
		if !ok {
			return ""
		}
		if text, err := strconv.Unquote(format.Value); err == nil && onlyVerbs.MatchString(text) {
			return name + "(" + format.Value + ")"
		}
	case "Error", "Fatal":
		for _, arg := range call.Args {
			switch arg := arg.(type) {
			case *ast.Ident:
				if strings.HasPrefix(strings.ToLower(arg.Name), "err") || strings.HasSuffix(arg.Name, "Err") {
					return ""
				}
			case *ast.SelectorExpr, *ast.IndexExpr:
			default: // a text, or a call that may make one
				return ""
			}
		}
		return name + " of values"
	}
	return ""
}
