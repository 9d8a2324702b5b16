package main

import (
	"fmt"
	"runtime"
	"testing"

	"campaignd/internal/version"
)

func TestVersionIsAFlagToo(t *testing.T) {
	t.Parallel()
	d := newFixture(t, nil)
	if flag, command := d.want(0, "--version").stdout, d.want(0, "version").stdout; flag != command {
		t.Errorf("--version: got %q, want the output of version, %q", flag, command)
	}
}

func TestTheVersionNamesBuildAndPlatform(t *testing.T) {
	t.Parallel()
	v := version.String()
	d := &fixture{t: t, dir: t.TempDir(), env: map[string]string{}}
	d.says(0, "campaignd "+v+" ("+runtime.Version()+", "+runtime.GOOS+"/"+runtime.GOARCH+")\n", "", "version")
	d.says(0, fmt.Sprintf("{\n  \"version\": %q,\n  \"go\": %q,\n  \"os\": %q,\n  \"arch\": %q\n}\n",
		v, runtime.Version(), runtime.GOOS, runtime.GOARCH), "", "version", "-o", "json")
}
