package commerce

import (
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// section returns a section of docs/commerce.md.
func section(t *testing.T, heading string) string {
	t.Helper()
	page, err := os.ReadFile("../../docs/commerce.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(page), "\n## "+heading+"\n")
	if !found {
		t.Fatalf("docs/commerce.md has no section %s, want one", heading)
	}
	rest, _, _ = strings.Cut(rest, "\n## ")
	return rest
}

func TestThePageHasEveryCode(t *testing.T) {
	var want []string
	for _, code := range slices.Sorted(maps.Keys(meanings)) {
		want = append(want, fmt.Sprintf("| `%s` | %s | %s |", code, code.Sentence(), code.Remedy()))
	}
	_, table, _ := strings.Cut(section(t, "Errors"), "|---|---|---|\n")
	if got := strings.TrimSpace(table); got != strings.Join(want, "\n") {
		t.Errorf("docs/commerce.md#errors\n got %s\nwant %s", got, strings.Join(want, "\n"))
	}
}

func TestThePageHasEveryPathOfTheClient(t *testing.T) {
	page := section(t, "Routes")
	for _, route := range []string{"`GET companies/{company}` *", "`GET discounts?code=` *", "`POST discounts/automatic` *",
		"`POST customers/orders/{order}/payments` *", "(statistics *)", "`GET admin/payments` *", "`GET admin/customers` *",
		"`GET admin/orders` *", "`POST /oauth/token` *"} {
		if !strings.Contains(page, route) {
			t.Errorf("docs/commerce.md#routes: got no %s, want every route of the client with a star", route)
		}
	}
	if got, want := len(regexp.MustCompile(` \*`).FindAllString(page, -1)), 9; got != want {
		t.Errorf("docs/commerce.md#routes: got %d routes with a star, want %d", got, want)
	}
}
