package daemon

import (
	"flag"
	"runtime"
	"strconv"
	"testing"
)

// The tests that run at once wait for leases and servers more than they compute: more of them run than there are cores,
// unless -parallel says otherwise.
func TestMain(m *testing.M) {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given {
		if err := flag.Set("test.parallel", strconv.Itoa(2*runtime.GOMAXPROCS(0))); err != nil {
			panic(err)
		}
	}
	m.Run()
}
