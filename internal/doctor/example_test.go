package doctor_test

import (
	"context"
	"fmt"

	"campaignd/internal/config"
	"campaignd/internal/doctor"
)

// Each check has a name, a result, and one line about what was seen.
func ExampleDiagnose() {
	for _, c := range doctor.Diagnose(context.Background(), &config.Config{Campaigns: "absent"}) {
		if c.Name == "redis" || c.Name == "campaigns" {
			fmt.Printf("%s: %s (%s)\n", c.Name, c.Health, c.Detail)
		}
	}
	// Output:
	// redis: ok (none: the limits are kept in the one process that sends)
	// campaigns: warn (there is no folder absent, so no schedule fires)
}
