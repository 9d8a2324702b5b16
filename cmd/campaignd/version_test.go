package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"testing"
)

func TestVersionIsAFlagToo(t *testing.T) {
	t.Parallel()
	d := newDesk(t, nil)
	if flag, command := d.want(0, "--version").stdout, d.want(0, "version").stdout; flag != command {
		t.Errorf("--version: got %q, want the output of version, %q", flag, command)
	}
}

// The version comes from the linker, else from the build information, else it is "(devel)".
func TestTheVersionNamesBuildAndPlatform(t *testing.T) {
	defer func(before string) { version = before }(version)
	version = "v1.2.3"
	d := &desk{t: t, dir: t.TempDir(), env: map[string]string{}}
	d.says(0, "campaignd v1.2.3 ("+runtime.Version()+", "+runtime.GOOS+"/"+runtime.GOARCH+")\n", "", "version")
	d.says(0, fmt.Sprintf("{\n  \"version\": \"v1.2.3\",\n  \"go\": %q,\n  \"os\": %q,\n  \"arch\": %q\n}\n",
		runtime.Version(), runtime.GOOS, runtime.GOARCH), "", "version", "-o", "json")
	version = ""
	want := "(devel)"
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		want = info.Main.Version
	}
	if got := versionNow().Version; got != want {
		t.Errorf("without the linker's version: got %q, want %q", got, want)
	}
}
