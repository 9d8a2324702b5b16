package yamlfile

import (
	"errors"
	"reflect"
	"strings"
	"testing"
)

func parsed(src string) *File {
	f := &File{Name: "c.yaml", Kind: Kind{Noun: "campaign file", Holds: "campaign"}}
	f.Parse([]byte(src))
	return f
}

func TestAnExcerptHasAtMost100Characters(t *testing.T) {
	t.Parallel()
	line := "name: abc" + strings.Repeat("0123456789", 20)
	for column, want := range map[int][2]int{1: {0, 100}, 60: {0, 100}, 61: {1, 101}, 70: {10, 110}, 205: {145, 209},
		269: {209, 209}, 270: {-1, 0}} {
		expected := ""
		if want[0] >= 0 {
			expected = "    1 | " + line[want[0]:want[1]] + "\n" + strings.Repeat(" ", 8+column-1-want[0]) + "^"
		}
		if got := Excerpt([]string{line, ""}, 1, column); got != expected {
			t.Errorf("column %d\ngot  %q\nwant %q", column, got, expected)
		}
		for _, absent := range []int{0, 3} {
			if got := Excerpt([]string{line, ""}, absent, column); got != "" {
				t.Errorf("line %d: got %q, want nothing", absent, got)
			}
		}
	}
}

func TestAFaultWithoutAPlaceIsAFault(t *testing.T) {
	t.Parallel()
	for placed, where := range map[bool]string{false: "c.yaml", true: "c.yaml:1:1"} {
		f := parsed("name: a\n")
		f.Kind.Placed = placed
		f.AddError(errors.New("out of luck"))
		if len(f.Faults) != 1 || f.Faults[0].Where != where || f.Faults[0].What != "out of luck" {
			t.Errorf("got %+v, want one fault at %s", f.Faults, where)
		}
	}
}

// A mapping with a single pair is the pair itself, and begins with its key.
func TestALonePairIsAMapping(t *testing.T) {
	t.Parallel()
	all, ok := Mapping(parsed("name: a\n").Root)
	if !ok || len(all) != 1 {
		t.Fatalf("%d pairs, %v, want 1", len(all), ok)
	}
	pairs, ok := Mapping(all[0])
	if !ok || len(pairs) != 1 || pairs[0] != all[0] {
		t.Errorf("got %v, %v, want the pair itself", pairs, ok)
	}
	if got := First(all[0]).Value; got != "name" {
		t.Errorf("it begins with %q, want name", got)
	}
	if got, want := kind(all[0]), "keys with values"; got != want {
		t.Errorf("it is %s, want %s", got, want)
	}
	if got, want := kind(all[0].Value), "text"; got != want {
		t.Errorf("its value is %s, want %s", got, want)
	}
}

func TestAKindMayBeEmpty(t *testing.T) {
	t.Parallel()
	if f := parsed("# nothing\n"); f.Root != nil || len(f.Faults) != 0 {
		t.Errorf("got %v and %+v, want neither a value nor a fault", f.Root, f.Faults)
	}
}

func TestUnknownAndDoubledKeysHaveAPlace(t *testing.T) {
	t.Parallel()
	type shape struct {
		Name string `yaml:"name"`
		Rate int    `yaml:"rate"`
	}
	f := parsed("nam: a\nrate: fast\n")
	f.Check(f.Root, "", reflect.TypeFor[shape](), Shape{})
	var got []string
	for _, fault := range f.Sorted() {
		got = append(got, fault.Where+": "+fault.What+"; "+fault.Remedy)
	}
	want := []string{`c.yaml:1:1: unknown key "nam"; did you mean "name"?`, "c.yaml:2:7: rate: want a whole number, not text; "}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}
