package operations_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"campaignd/internal/operations"
)

func ExampleOperation_At() {
	edit, _ := operations.Named("template_edit")
	fmt.Println(edit.Method, edit.At("tpl_7"))
	// Output: PATCH /api/v1/templates/tpl_7
}

func TestEachNameAndRouteStandsOnce(t *testing.T) {
	seen := map[string]string{}
	for _, o := range operations.All {
		for _, key := range []string{o.Name, o.Method + " " + o.Path} {
			if other := seen[key]; other != "" {
				t.Errorf("%s: got it in %s and %s, want it once", key, other, o.Name)
			}
			seen[key] = o.Name
		}
		if !strings.HasPrefix(o.Path, operations.Prefix+"/") {
			t.Errorf("%s: path %s, want one that begins with %s", o.Name, o.Path, operations.Prefix)
		}
		if _, ok := operations.Named(o.Follows); o.Follows != "" && !ok {
			t.Errorf("%s: follows %s, want the name of a row", o.Name, o.Follows)
		}
	}
}

func TestThePageShowsEveryOperation(t *testing.T) {
	page, err := os.ReadFile("../../docs/service.md")
	if err != nil {
		t.Fatal(err)
	}
	var want strings.Builder
	want.WriteString("| name | operation | request | data | own errors |\n|---|---|---|---|---|\n")
	for _, o := range operations.All {
		method := o.Method + " " + strings.TrimPrefix(o.Path, operations.Prefix)
		if o.Shown {
			method += " (shown)"
		}
		row := fmt.Sprintf("| `%s` | %s | %s | %s | %s |", o.Name, method, o.Request, o.Data, o.Errors)
		for strings.Contains(row, "|  |") {
			row = strings.ReplaceAll(row, "|  |", "| |")
		}
		want.WriteString(row + "\n")
	}
	if !strings.Contains(string(page), "\n"+want.String()+"\n") {
		t.Errorf("docs/service.md#assumed-operations differs from the table, want exactly:\n%s", want.String())
	}
}
