package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"path"
	"slices"
	"strings"
	"testing"
)

const module = "campaignd"

// ranks are the packages of design section 3: imports run from a higher rank to a lower one only.
var ranks = map[string]int{
	"cmd/campaignd": 90,

	"internal/daemon": 80,

	"internal/console": 71,
	"internal/api":     70,

	"internal/webhooks": 60,
	"internal/ledger":   60,
	"reporting":         60,

	"campaign/sender": 51,
	"campaign/plan":   50,

	"campaign": 40,

	"recipients":         30,
	"throttle":           30,
	"internal/messaging": 30,
	"internal/commerce":  30,

	"internal/sandbox":  20, // imports nothing of ours; see sandboxImporters
	"internal/mutant":   10, // leaves that anybody may import
	"internal/spelling": 10,
}

// sandboxImporters may import the sandbox outside tests.
var sandboxImporters = []string{"cmd/campaignd", "internal/daemon"}

// rooms are where drivers may be imported.
var rooms = []struct{ driver, room string }{
	{"modernc.org/sqlite", "internal/ledger"},
	{"github.com/jackc/pgx", "internal/ledger"},
	{"github.com/pressly/goose", "internal/ledger"},
	{"database/sql", "internal/ledger"},
	{"github.com/redis/go-redis", "throttle"},
	{"github.com/minio/minio-go", "recipients"},
	{"github.com/gocarina/gocsv", "recipients"},
}

// emptyNames say nothing of what is inside.
var emptyNames = []string{"util", "utils", "common", "types", "models", "helpers", "helper", "shared", "misc", "base"}

type listed struct {
	ImportPath, Name, Doc string
	Imports               []string
	GoFiles               []string
}

// packages asks go list for every package of the module.
func packages(t *testing.T) []listed {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-json=ImportPath,Name,Doc,Imports,GoFiles", "./...")
	cmd.Dir = "../.."
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, stderr.String())
	}
	var all []listed
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		if len(p.GoFiles) > 0 {
			all = append(all, p)
		}
	}
}

// roomOf is the ranked package that p is or lies in: ledgertest ranks with ledger.
func roomOf(p string) (room string, ok bool) {
	for ; p != "." && p != ""; p = path.Dir(p) {
		if _, ok := ranks[p]; ok {
			return p, true
		}
	}
	return "", false
}

func ours(importPath string) (string, bool) { return strings.CutPrefix(importPath, module+"/") }

// checked are the packages whose imports are held: tools are programs of their own.
func checked(t *testing.T) []listed {
	return slices.DeleteFunc(packages(t), func(p listed) bool {
		own, ok := ours(p.ImportPath)
		return !ok || strings.HasPrefix(own, "tools/")
	})
}

func TestImportsRunDownwardsOnly(t *testing.T) {
	for _, p := range checked(t) {
		own, _ := ours(p.ImportPath)
		room, ok := roomOf(own)
		if !ok {
			t.Errorf("%s has no rank: give it one here and in docs/architecture.md", own)
			continue
		}
		for _, i := range p.Imports {
			imported, ok := ours(i)
			if !ok {
				continue
			}
			below, ok := roomOf(imported)
			switch {
			case !ok:
				t.Errorf("%s imports %s, which has no rank", own, imported)
			case below == "internal/sandbox" && room != "internal/sandbox":
				if !slices.Contains(sandboxImporters, room) && !strings.HasSuffix(own, "test") && !strings.Contains(own, "/harness") {
					t.Errorf("%s imports the sandbox: only %v and tests may", own, sandboxImporters)
				}
			case room == "internal/sandbox" && below != room:
				t.Errorf("%s imports %s: the sandbox imports nothing of ours, so that both cannot share a mistake", own, imported)
			case below == room && own != imported: // a package and its own subpackages: the test support imports the room
				if strings.HasPrefix(imported, own+"/") && own == room {
					t.Errorf("%s imports its own subpackage %s", own, imported)
				}
			case ranks[below] >= ranks[room]:
				t.Errorf("%s (%d) imports %s (%d): imports run downwards only (docs/architecture.md)", own, ranks[room], imported, ranks[below])
			}
		}
	}
}

func TestDriversStayInTheirRooms(t *testing.T) {
	for _, p := range checked(t) {
		own, _ := ours(p.ImportPath)
		for _, i := range p.Imports {
			for _, r := range rooms {
				if (i == r.driver || strings.HasPrefix(i, r.driver+"/")) && own != r.room && !strings.HasPrefix(own, r.room+"/") {
					t.Errorf("%s imports %s, which stays in %s", own, i, r.room)
				}
			}
		}
	}
}

func TestEveryPackageSaysWhatItIs(t *testing.T) {
	for _, p := range packages(t) {
		if p.Doc == "" {
			t.Errorf("%s has no package comment: what is it for, who calls it, what does it promise?", p.ImportPath)
		}
		if slices.Contains(emptyNames, p.Name) || slices.Contains(emptyNames, path.Base(p.ImportPath)) {
			t.Errorf("%s: the name %s says nothing of what is inside", p.ImportPath, p.Name)
		}
	}
}
