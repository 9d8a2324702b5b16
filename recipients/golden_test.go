package recipients_test

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"campaignd/recipients"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// optionsOf are the options for a list of testdata/lists; most lists are read without any.
func optionsOf(list string) recipients.Options {
	switch list {
	case "default-region.csv":
		return recipients.Options{DefaultRegion: "ng"}
	case "windows-1252.csv":
		return recipients.Options{Columns: map[string]recipients.Names{"to": {"Telefon"}, "first_name": {"Vorname"}}}
	}
	return recipients.Options{}
}

// Each list of testdata/lists reads as its golden file says, with every fault as people see it.
func TestListsReadAsTheirGoldenFilesSay(t *testing.T) {
	lists, err := filepath.Glob("../testdata/lists/*")
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, path := range lists {
		name := filepath.Base(path)
		if strings.HasSuffix(name, ".golden") || filepath.Ext(name) == "" {
			continue // a golden file, or a folder
		}
		seen++
		t.Run(name, func(t *testing.T) {
			got := strings.ReplaceAll(render(path, optionsOf(name)), "../testdata/lists/", "")
			if *update {
				if err := os.WriteFile(path+".golden", []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path + ".golden")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("-golden +got:\n%s", diff)
			}
		})
	}
	if seen < 20 {
		t.Fatalf("%d lists found, want 20 or more", seen)
	}
}

func render(path string, o recipients.Options) string {
	var b strings.Builder
	r, err := recipients.Open(path, o)
	if err != nil {
		return "open: " + err.Error() + "\n"
	}
	defer r.Close()
	fmt.Fprintf(&b, "%s; header %q; to %d, timezone %d\n", r.Dialect(), r.Header(), r.Column("to"), r.Column("timezone"))
	good := 0
	flush := func() {
		if good > 3 {
			fmt.Fprintf(&b, "... and %d more good rows\n", good-3)
		}
		good = 0
	}
	for {
		row, err := r.Next()
		if err == io.EOF {
			flush()
			fmt.Fprintln(&b, "end")
			return b.String()
		}
		if err != nil {
			var file *recipients.FileError
			flush()
			fmt.Fprintf(&b, "stopped (%v): %v\n", errors.As(err, &file), err)
			return b.String()
		}
		if row.Fault == nil {
			if good++; good <= 3 {
				fmt.Fprintf(&b, "%d: %s key %d %+q\n", row.Number, row.To, row.Key, row.Cells)
			}
			continue
		}
		flush()
		fmt.Fprintf(&b, "%d: %s: %s\n    %+q\n", row.Number, row.Fault.Kind, row.Fault.Message, row.Cells)
	}
}
