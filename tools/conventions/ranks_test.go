package conventions

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "campaignd"

// ranks orders the packages of the module: a package imports packages of a lower rank only
// (docs/architecture.md#packages-and-ranks).
var ranks = map[string]int{
	"cmd/campaignd":    90,
	"internal/command": 76,

	"internal/daemon":          80,
	"internal/api":             80, // cmd/campaignd gives it to the daemon
	"internal/console":         80, // as internal/api
	"internal/doctor":          75,
	"internal/numbers":         73,
	"internal/schedule":        72,
	"internal/config":          71,
	"internal/faults":          35,
	"internal/drops":           70,
	"internal/operator":        65,
	"internal/client":          65,
	"internal/client/resource": 50,

	"internal/ledger/backend":  72, // opens either backend
	"internal/ledger/sqlite":   62, // the backends import the rules of the ledger
	"internal/ledger/postgres": 62,
	"internal/ledger/portable": 61, // what both backends embed
	"internal/webhooks":        60,
	"internal/wirelog":         60,
	"internal/notify":          60,
	"internal/purchases":       60,
	"internal/ledger":          60,
	"reporting":                60,
	"reporting/html":           61,

	"internal/ledger/sqlite/dbfile":    61,
	"internal/ledger/postgres/connect": 61,

	"campaign/sender":  51,
	"campaign/plan":    50,
	"campaign/wording": 42,
	"campaign/why":     50,

	"campaign/template": 50,

	"internal/uploads":  45,
	"internal/audience": 45,

	"campaign/control":    44,
	"campaign/price":      30,
	"campaign/launch":     44,
	"campaign/file":       42,
	"campaign":            40,
	"campaign/conversion": 35, // imports nothing of ours
	"campaign/reception":  35,

	"recipients":                   30,
	"throttle":                     30,
	"throttle/throughput":          20,
	"internal/messaging":           30,
	"internal/messaging/service":   31,
	"internal/messaging/cloud":     31,
	"internal/messaging/connector": 32,
	"internal/commerce":            30,

	"internal/sandbox":         20, // imports its own packages and sandboxMayImport; sandboxImporters may import it
	"internal/sandbox/request": 17, // imports internal/sandbox/area only
	"internal/sandbox/shop":    15, // imports its own packages and internal/sandbox/draw only
	"internal/sandbox/area":    15, // imports nothing of ours
	"internal/sandbox/draw":    10, // imports nothing of ours
	"internal/sandbox/arrival": 10, // imports nothing of ours

	"internal/sandbox/shop/records":  12, // imports internal/sandbox/shop/value only
	"internal/sandbox/shop/scenario": 12, // imports internal/sandbox/shop/value only
	"internal/sandbox/shop/value":    11, // imports nothing of ours

	"internal/sandbox/inprocess": 15, // imports nothing of ours

	"internal/yamlfile":    11, // imports sentence
	"internal/operations":  10, // data only: imports nothing of ours
	"internal/mutant":      10, // imports nothing of ours, and every package may import it
	"internal/sentence":    10,
	"internal/rawjson":     10,
	"internal/filelock":    10,
	"internal/plot":        10,
	"internal/safeopen":    10,
	"internal/secret":      10,
	"internal/spreadsheet": 10,
	"internal/clock":       10,
	"internal/tracing":     10,
	"internal/version":     10,
}

// sandboxImporters may import the sandbox outside tests.
var sandboxImporters = []string{"cmd/campaignd", "internal/config", "internal/daemon"}

// sandboxMayImport is the table of the service's operations. It is data that a test compares with
// docs/service.md, so client and sandbox can share it without sharing a mistake of code.
const sandboxMayImport = "internal/operations"

// driverPackages names for each driver the one package that may import it, with its subpackages.
var driverPackages = []struct{ driver, home string }{
	{"modernc.org/sqlite", "internal/ledger/sqlite"},
	{"github.com/jackc/pgx", "internal/ledger"},
	{"github.com/pressly/goose", "internal/ledger"},
	{"database/sql", "internal/ledger"},
	{"github.com/redis/go-redis", "throttle"},
	{"github.com/gocarina/gocsv", "recipients"},
	{"github.com/minio/minio-go", "internal/drops"},
	{"go.opentelemetry.io", "internal/tracing"},
}

// emptyNames are package names that say nothing about the content.
var emptyNames = []string{"util", "utils", "common", "types", "models", "helpers", "helper", "shared", "misc", "base"}

type listed struct {
	ImportPath, Name, Doc string
	Imports               []string
	GoFiles               []string
}

// packages returns every package of the module, as go list reports it.
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

// rankedOf returns the ranked package that p is, or that p is a subpackage of:
// internal/ledger/ledgertest has the rank of internal/ledger.
func rankedOf(p string) (ranked string, ok bool) {
	for ; p != "." && p != ""; p = path.Dir(p) {
		if _, ok := ranks[p]; ok {
			return p, true
		}
	}
	return "", false
}

func inSandbox(p string) bool {
	return p == "internal/sandbox" || strings.HasPrefix(p, "internal/sandbox/")
}

func ours(importPath string) (string, bool) { return strings.CutPrefix(importPath, module+"/") }

// checked returns the packages whose imports are checked. The packages under tools/ are programs
// of their own and may import everything.
func checked(t *testing.T) []listed {
	return slices.DeleteFunc(packages(t), func(p listed) bool {
		own, ok := ours(p.ImportPath)
		return !ok || strings.HasPrefix(own, "tools/")
	})
}

func TestImportsRunDownwardsOnly(t *testing.T) {
	for _, p := range checked(t) {
		own, _ := ours(p.ImportPath)
		ranked, ok := rankedOf(own)
		if !ok {
			t.Errorf("%s: got no rank, want one here and in docs/architecture.md#packages-and-ranks", own)
			continue
		}
		for _, i := range p.Imports {
			imported, ok := ours(i)
			if !ok {
				continue
			}
			below, ok := rankedOf(imported)
			switch {
			case !ok:
				t.Errorf("%s imports %s: got no rank, want one", own, imported)
			case inSandbox(below) && !inSandbox(ranked):
				if !slices.Contains(sandboxImporters, ranked) && !strings.HasSuffix(own, "test") && !strings.Contains(own, "/harness") {
					t.Errorf("got an import of the sandbox in %s, want it only in %v and tests", own, sandboxImporters)
				}
			case inSandbox(ranked) && !inSandbox(below) && below != sandboxMayImport:
				t.Errorf("%s imports %s, want no import of this module but the sandbox's, so that both cannot share a mistake", own, imported)
			case below == ranked && own != imported: // a subpackage may import its parent, never the other way round
				if strings.HasPrefix(imported, own+"/") && own == ranked {
					t.Errorf("%s imports its subpackage %s, want the reverse or none", own, imported)
				}
			case ranks[below] >= ranks[ranked]:
				t.Errorf("%s of rank %d imports %s of rank %d, want only lower ranks", own, ranks[ranked], imported, ranks[below])
			}
		}
	}
}

// A change of any package in a chain of imports can break those above it, and their readers have to
// know it.
func TestNoChainOfImportsIsLongerThan10(t *testing.T) {
	const most = 10
	imports := map[string][]string{}
	for _, p := range packages(t) {
		imports[p.ImportPath] = slices.DeleteFunc(p.Imports, func(i string) bool { _, own := ours(i); return !own })
	}
	longest := map[string][]string{}
	var chain func(p string) []string
	chain = func(p string) []string {
		if c, ok := longest[p]; ok {
			return c
		}
		var below []string
		for _, i := range imports[p] {
			if c := chain(i); len(c) > len(below) {
				below = c
			}
		}
		longest[p] = append([]string{p}, below...)
		return longest[p]
	}
	for p := range imports {
		if c := chain(p); len(c) > most {
			t.Errorf("got a chain of %d packages, want at most %d: %s", len(c), most, strings.Join(c, " > "))
		}
	}
}

func TestOnlyOnePackageImportsADriver(t *testing.T) {
	for _, p := range checked(t) {
		own, _ := ours(p.ImportPath)
		for _, i := range p.Imports {
			for _, d := range driverPackages {
				if (i == d.driver || strings.HasPrefix(i, d.driver+"/")) && own != d.home && !strings.HasPrefix(own, d.home+"/") {
					t.Errorf("%s imports %s, want that only in %s", own, i, d.home)
				}
			}
		}
	}
}

// The domain decides; it neither limits nor stores, and does not know the form of campaign files.
func TestCampaignLinksNoDriver(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", "./campaign")
	cmd.Dir = "../.."
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	for _, driver := range []string{"github.com/redis", "github.com/jackc/pgx", "modernc.org/sqlite", "database/sql",
		"github.com/goccy/go-yaml"} {
		for _, p := range strings.Fields(string(out)) {
			// A decimal number has a method of an interface of database/sql/driver.
			if (p == driver || strings.HasPrefix(p, driver+"/")) && p != "database/sql/driver" {
				t.Errorf("campaign links %s, want nothing of %s", p, driver)
			}
		}
	}
}

func TestEveryPackageHasACommentAndAClearName(t *testing.T) {
	for _, p := range packages(t) {
		if p.Doc == "" {
			t.Errorf("%s: got no package comment, want its purpose, its callers and its promise", p.ImportPath)
		}
		if slices.Contains(emptyNames, p.Name) || slices.Contains(emptyNames, path.Base(p.ImportPath)) {
			t.Errorf("%s: got the name %s, want one that tells its content", p.ImportPath, p.Name)
		}
	}
}

// A longer file usually has a second subject, which belongs in a file of its own.
func TestNoFileIsLongerThan500Lines(t *testing.T) {
	const most = 500
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && d.Name() != ".." && strings.HasPrefix(d.Name(), "."):
			return fs.SkipDir
		case d.IsDir() || filepath.Ext(path) != ".go":
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if n := bytes.Count(text, []byte("\n")); n > most {
			t.Errorf("%s: got %d lines, want at most %d: divide it by its nouns", path, n, most)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
