package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"campaignd/internal/command"
)

func TestAnErasedNumberIsGoneAndStaysSuppressed(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	const number = "+2348031234567"
	env := map[string]string{}
	do := func(stdin string, args ...string) (int, string, string) {
		t.Helper()
		var out, errs strings.Builder
		code := run(t.Context(), args, strings.NewReader(stdin), &out, &errs, env)
		return code, out.String(), errs.String()
	}
	if code, _, errs := do("", "suppressions", "add", number); code != 0 {
		t.Fatalf("suppressions add: exit %d, %s; want 0", code, errs)
	}
	if code, _, errs := do("+2348031234568\n", "erase", number); code != command.ExitUsage || !strings.Contains(errs, "nothing was erased") {
		t.Errorf("with another number typed: exit %d, %s; want %d and that nothing was erased", code, errs, command.ExitUsage)
	}
	if code, out, errs := do(number+"\n", "erase", number); code != 0 || !strings.Contains(out, "erased from 0 rows") {
		t.Errorf("erase: exit %d, %s%s; want 0 and that it is erased", code, out, errs)
	}
	if _, out, _ := do("", "suppressions", "export"); strings.Contains(out, "2348031234567") {
		t.Errorf("the export has the number: %s; want it gone", out)
	}
	_, out, _ := do("", "suppressions", "show", number, "-o", "json")
	var shown []struct{ Scope, Source string }
	if err := json.Unmarshal([]byte(out), &shown); err != nil || len(shown) != 1 || shown[0].Scope != "all" || shown[0].Source != "erasure" {
		t.Errorf("suppressions show: %s, %v; want one of scope all by erasure", out, err)
	}
	if _, out, _ := do("", "actions"); !strings.Contains(out, "erase") || strings.Contains(out, "2348031234567") {
		t.Errorf("the log of actions: %s; want the erasure without the number", out)
	}
	// A copy has no free pages, in which the file may still keep it.
	if code, _, errs := do("", "backup", "copy.db"); code != 0 {
		t.Fatalf("backup: exit %d, %s; want 0", code, errs)
	}
	copied, err := os.ReadFile(filepath.Join(dir, "copy.db"))
	if err != nil || strings.Contains(string(copied), "2348031234567") {
		t.Errorf("a copy of the ledger has the number: %v; want it gone", err)
	}
}
