package doctor

import (
	"strings"
	"testing"
	"time"

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
