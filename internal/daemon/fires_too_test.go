package daemon

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/internal/ledger"
	"campaignd/internal/ledger/sqlite"
)

// A time to come whose campaign was launched at that civil time of another zone fires nothing, so
// it refuses no launch by hand.
func TestATimeThatFiresNothingRefusesNoLaunch(t *testing.T) {
	l, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "l.db"), ledger.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	folder, day := t.TempDir(), time.Now().UTC().AddDate(0, 1, 0).Truncate(time.Hour)
	text := fmt.Sprintf("name: spring\nconnections: [conn_1]\ntemplate: {name: a, language: en}\nrecipients: {file: list.csv}\n"+
		"schedule: {at: '%s', timezone: America/New_York}\n", day.Format("2006-01-02T15:04"))
	if err := os.WriteFile(filepath.Join(folder, "spring.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	firing := campaign.Firing{Campaign: "spring", Key: day.Format("2006-01-02T15:04:05"), At: day, Since: day,
		Outcome: campaign.FiringLaunched}
	for _, launched := range []bool{false, true} {
		if launched {
			if _, err := l.NoteFiring(t.Context(), firing); err != nil {
				t.Fatal(err)
			}
		}
		if all := firesOnce(t.Context(), l, folder, "spring", time.Now()); (len(all) == 0) != launched {
			t.Errorf("launched in UTC %v: got %d times to come, want none only if it was", launched, len(all))
		}
		if all := firesOnce(t.Context(), nil, folder, "spring", time.Now()); len(all) != 1 {
			t.Errorf("without a ledger: got %d times to come, want 1", len(all))
		}
	}
}
