package main

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"campaignd/internal/client/resource"
	"campaignd/internal/command"
)

func TestAPersonIsExportedAsOneDocument(t *testing.T) {
	t.Chdir(t.TempDir())
	const number = "+2348031234567"
	do := func(args ...string) (code int, out, errs string) {
		t.Helper()
		var stdout, stderr strings.Builder
		code = run(t.Context(), args, strings.NewReader(""), &stdout, &stderr, map[string]string{})
		return code, stdout.String(), stderr.String()
	}
	if code, _, errs := do("suppressions", "add", number); code != 0 {
		t.Fatalf("suppressions add: exit %d, %s; want 0", code, errs)
	}
	export := func(want int, said string) {
		t.Helper()
		code, out, errs := do("person", number, "--export")
		var all resource.PersonExport
		if err := json.Unmarshal([]byte(out), &all); err != nil {
			t.Fatalf("the document %s: %v; want JSON", out, err)
		}
		if code != want || errs != said || all.To != number || len(all.Suppressions) != 1 || all.Suppressions[0].Source != "operator" ||
			len(all.NotReached) != want/command.ExitUnsure {
			t.Errorf("exit %d, %q, %+v; want exit %d, %q and the suppression by the operator", code, errs, all, want, said)
		}
	}
	export(0, "")
	if err := os.MkdirAll("campaignd.db.uploads", 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("campaignd.db.uploads/staged-0123", []byte(number), 0o600); err != nil {
		t.Fatal(err)
	}
	export(command.ExitUnsure, "campaignd: 1 list is uploaded, or being made or imported, and may have the number: "+
		"export it again when the import has ended; an upload without a launch is removed after a day\n")
	if code, out, errs := do("actions", "-o", "json"); code != 0 || strings.Count(out, `"what": "person"`) != 2 ||
		strings.Count(out, `"detail": "done"`) != 2 || strings.Contains(out, "2348031234567") {
		t.Errorf("the log of actions: exit %d, %s%s; want two exports that are done, without the number", code, out, errs)
	}
	for _, flag := range []string{"--limit=5", "--after=5"} {
		if code, out, errs := do("person", number, "--export", flag); code != command.ExitUsage || out != "" ||
			!strings.Contains(errs, "cannot be combined with") {
			t.Errorf("with %s: exit %d, %s%s; want %d and that it cannot be combined", flag, code, out, errs, command.ExitUsage)
		}
	}
	if code, out, _ := do("person", "0803", "--export"); code != command.ExitUsage || out != "" {
		t.Errorf("without a country: exit %d, %s; want %d", code, out, command.ExitUsage)
	}
}
