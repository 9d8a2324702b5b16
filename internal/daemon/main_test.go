package daemon

import (
	"context"
	"flag"
	"runtime"
	"strconv"
	"testing"

	"campaignd/internal/api"
	"campaignd/internal/operator"
)

// withAPI are the options of a process that answers operators, as `campaignd serve` does.
var withAPI = Options{API: func(ctx context.Context, p operator.Process) (API, error) { return api.New(ctx, p) }}

// The parallel tests wait for leases and servers longer than they compute, so two of them per core
// run at once unless -parallel is given.
func TestMain(m *testing.M) {
	flag.Parse()
	if flooding() || listening() { // of TestUnsignedPostsStopNothing, of TestClientsThatListenCostTheSendingLittle
		return
	}
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given {
		if err := flag.Set("test.parallel", strconv.Itoa(2*runtime.GOMAXPROCS(0))); err != nil {
			panic(err)
		}
	}
	m.Run()
}
