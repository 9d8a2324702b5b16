package version

import (
	"go/build"
	"os"
	"strings"
	"testing"
)

// A platform with 32-bit integers compiles the file whose one constant is not declared.
func TestA32BitBuildIsRefused(t *testing.T) {
	text, err := os.ReadFile("narrow.go")
	if err != nil || !strings.HasSuffix(string(text), "\nconst _ = campaigndNeedsA64BitPlatform\n") {
		t.Errorf("got the file %s (%v), want that it ends with the constant", text, err)
	}
	for arch, want := range map[string]bool{"386": true, "arm": true, "mips": true, "mipsle": true, "amd64": false, "arm64": false,
		"loong64": false, "mips64": false, "mips64le": false, "ppc64": false, "ppc64le": false, "riscv64": false, "s390x": false} {
		c := build.Default
		c.GOOS, c.GOARCH = "linux", arch
		if got, err := c.MatchFile(".", "narrow.go"); err != nil || got != want {
			t.Errorf("%s: got the file compiled %v (%v), want %v", arch, got, err, want)
		}
	}
}
