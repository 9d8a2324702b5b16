package yamlfile

import (
	"slices"
	"testing"
)

func TestKeysAndEntriesWithoutAValueAreTold(t *testing.T) {
	t.Parallel()
	f := parsed("a:\nb: ~\nc:\n  # d: 1\ne:\n  - 1\n  -\n  - {f: null, g: \"\", h: [], i: {}}\nj: \"null\"\nlog:\n  k:\n~: 1\n")
	f.RefuseValueless("log")
	var got []string
	for _, fault := range f.Sorted() {
		got = append(got, fault.Where+": "+fault.What+"; "+fault.Remedy)
	}
	const key = ": has no value; give one, or remove the key"
	const entry = `: has no value; give one, in quotes if it is "NULL" or begins with #, or remove the entry`
	want := []string{"c.yaml:1:1: a" + key, "c.yaml:2:1: b" + key, "c.yaml:3:1: c" + key,
		"c.yaml:7:4: e[1]" + entry, "c.yaml:8:6: e[2].f" + key}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	for _, src := range []string{"", "~", "# nothing\n"} {
		if f := parsed(src); len(f.Faults) == 0 {
			if f.RefuseValueless(); len(f.Faults) > 0 {
				t.Errorf("%q: got %+v, want no fault", src, f.Faults)
			}
		}
	}
}
