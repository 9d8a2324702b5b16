//go:build mutants

package sender_test

import (
	"context"
	"errors"
	"flag"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"
)

var (
	mutantSeeds = flag.Int("mutant-seeds", 150, "with how many seeds at most each mutant is looked for")
	mutantTime  = flag.Duration("mutant-time", 150*time.Second, "real time for one mutant")
)

// mutations are those of docs/protocol.md#mutations that one process can make, each with what its
// first sign in the simulation must say. Any other failure would be ours.
var mutations = []struct{ name, sign string }{
	{"no_intent", `got the message \d+ times|although the operator had stopped it|although it had been suppressed` +
		`|opted out at|is skipped .* accepted it`},
	{"time_out_is_refusal", `got the message \d+ times|is (skipped|refused) .* accepted it`},
	{"5xx_is_refusal", `got the message \d+ times|is (skipped|refused) .* accepted it`},
	{"doubts_not_claimable", `is still in_doubt`},
	{"rank_overwritten", `the service's statuses make it`},
	{"ack_before_commit", `and was answered 2xx, the ledger has|the service's statuses make it` +
		`|is unknown, and the service accepted it and said so|opted out at`},
	{"sweeper_off", `and was answered 2xx, the ledger has|the service's statuses make it|is unknown, and the service accepted it and said so`},
	{"failed_resends", `got the message \d+ times`},
	{"age_unchecked", `after its last slot, or before one|POSTs in one second`},
}

// problem is a line of a failing seed, after the instant.
var problem = regexp.MustCompile(`(?m)^\s+\d+\.\d{6}s: (.*)$`)

// TestEveryMutantIsCaught runs the simulation with each mutation, in a process of its own, until a
// seed fails with the mutation's sign. A simulation that hangs is ended by its virtual deadline, or
// by the real time that the process has; that does not count as caught.
func TestEveryMutantIsCaught(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range mutations {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), *mutantTime)
			defer cancel()
			cmd := exec.CommandContext(ctx, self, "-test.run", "^TestSimulation$", "-test.parallel", strconv.Itoa(max(1, runtime.GOMAXPROCS(0)/2)),
				"-seeds", strconv.Itoa(*mutantSeeds), "-failures", "2", "-replay", "0")
			cmd.Env = append(os.Environ(), "CAMPAIGND_MUTANT="+m.name)
			began := time.Now()
			out, err := cmd.CombinedOutput()
			took := time.Since(began).Round(time.Millisecond)
			var exit *exec.ExitError
			switch {
			case ctx.Err() != nil:
				t.Fatalf("not caught within %v:\n%s", *mutantTime, tail(out))
			case err == nil:
				t.Fatalf("%s survived %d seeds", m.name, *mutantSeeds)
			case !errors.As(err, &exit):
				t.Fatal(err)
			}
			said := string(out)
			found := problem.FindAllStringSubmatch(said, -1)
			if len(found) == 0 {
				t.Fatalf("the simulation failed without a broken promise:\n%s", tail(out))
			}
			seed := regexp.MustCompile(`seed (\d+) \(repeat`).FindStringSubmatch(said)
			sign := regexp.MustCompile(m.sign)
			for _, p := range found {
				if sign.MatchString(p[1]) {
					t.Logf("caught by seed %s in %v: %s", seed[1], took, p[1])
					return
				}
			}
			t.Fatalf("seed %s failed, but not by this mutation's sign (%s):\n%s", seed[1], m.sign, tail(out))
		})
	}
}

// tail is the end of an output.
func tail(out []byte) string {
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	return strings.Join(lines[max(0, len(lines)-30):], "\n")
}
