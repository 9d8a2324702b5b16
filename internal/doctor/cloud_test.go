package doctor

import (
	"strings"
	"testing"
	"time"

	"campaignd/internal/messaging"
	"campaignd/internal/messaging/cloud"
)

// The doctor warns 180 days before the pinned version of the Cloud API ends.
func TestTheEndOfAVersionIsToldInTime(t *testing.T) {
	end, ok := cloud.VersionEnd(cloud.DefaultVersion)
	if !ok {
		t.Fatalf("the end of %s is not known, want it", cloud.DefaultVersion)
	}
	for days, want := range map[int]Health{181: HealthOK, 179: HealthWarn, 1: HealthWarn} {
		got := versionCheck(cloud.DefaultVersion, end.AddDate(0, 0, -days))
		told := strings.Contains(got.Detail, "ends on "+end.Format(time.DateOnly))
		if got.Health != want || !told || (got.Remedy != "") != (want == HealthWarn) {
			t.Errorf("%d days before: got %+v, want %s with the day", days, got, want)
		}
	}
	if got := versionCheck("v26.0", end); got.Health != HealthOK || !strings.Contains(got.Detail, "not announced") {
		t.Errorf("a version without an announced end: got %+v, want ok", got)
	}
}

// A number for which the platform tells no tier is named, unless a tier is configured.
func TestANumberWithoutATierIsNamed(t *testing.T) {
	numbers := []messaging.Number{{ConnectionID: "main", TierLimit: 250, TierAssumed: true}, {ConnectionID: "told", TierLimit: 2000},
		{ConnectionID: "own", TierLimit: 250, TierAssumed: true}}
	configured := func(id string) int64 { return map[string]int64{"own": 2000}[id] }
	got := tierCheck(numbers, configured)
	if len(got) != 1 || got[0].Health != HealthWarn || !strings.Contains(got[0].Detail, "no tier of main: 250 people in 24 hours") {
		t.Errorf("got %+v, want one warning that names main and 250 people", got)
	}
	if got := tierCheck(numbers[1:], configured); len(got) != 0 {
		t.Errorf("all told or configured: got %+v, want nothing", got)
	}
}
