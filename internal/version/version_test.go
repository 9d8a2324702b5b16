package version

import (
	"runtime/debug"
	"testing"
)

func TestTheLinkersVersionIsFirst(t *testing.T) {
	defer func(before string) { linked = before }(linked)
	linked = "v1.2.3"
	if got := String(); got != linked {
		t.Errorf("got %q, want that of the linker, %q", got, linked)
	}
	linked = ""
	want := "(devel)"
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		want = info.Main.Version
	}
	if got := String(); got != want {
		t.Errorf("without the linker's: got %q, want %q", got, want)
	}
}
