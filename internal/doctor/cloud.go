package doctor

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"campaignd/internal/config"
	"campaignd/internal/messaging"
	"campaignd/internal/messaging/cloud"
	"campaignd/internal/sentence"
)

// endWarning is how long before the end of its version of the Cloud API the doctor warns.
const endWarning = 180 * 24 * time.Hour

// checkCloud lists the numbers of the Cloud API, and says when its version ends and what it does
// not offer.
func checkCloud(ctx context.Context, cfg *config.Config) []Check {
	const name = "cloud"
	if !cfg.Cloud.Configured() {
		return nil
	}
	o, _, err := config.CloudOptions(cfg)
	if err != nil {
		return []Check{fail(name, "change cloud in the configuration", err)}
	}
	client, err := cloud.New(o)
	if err != nil {
		return []Check{fail(name, "change cloud in the configuration", err)}
	}
	defer client.Close()
	connections, err := client.Connections(ctx)
	if err != nil {
		remedy := "check cloud.accounts: the id, the token and its permissions"
		if e, ok := errors.AsType[*messaging.Error](err); ok && e.Reason() == messaging.AppSecretRefused {
			remedy = "write the secret of the app that made the token into app_secret_file of the account"
		}
		return []Check{fail(name, remedy, err)}
	}
	checks := []Check{good(name, "%s answered, and has %s in %s; it offers no replay of events and no bill", cfg.Cloud.BaseURL,
		sentence.Count(int64(len(connections)), "number", "numbers"), sentence.Count(int64(len(cfg.Cloud.Accounts)), "account", "accounts"))}
	checks = append(checks, versionCheck(cfg.Cloud.Version, time.Now()))
	numbers, err := client.Numbers(ctx) // as they were just listed
	if err != nil {
		return append(checks, fail("cloud tier", "check cloud.accounts: the id, the token and its permissions", err))
	}
	return append(checks, tierCheck(numbers, cfg.Tier)...)
}

// tierCheck names the numbers for which the platform tells no tier, and for which none is
// configured.
func tierCheck(numbers []messaging.Number, configured func(connection string) int64) []Check {
	var without []string
	for _, n := range numbers {
		if n.TierAssumed && configured(n.ConnectionID) == 0 {
			without = append(without, n.ConnectionID)
		}
	}
	if len(without) == 0 {
		return nil
	}
	const most = 5
	named := strings.Join(without[:min(len(without), most)], ", ")
	if len(without) > most {
		named += fmt.Sprintf(" and %d more", len(without)-most)
	}
	return []Check{warn("cloud tier", "set numbers.CONNECTION.tier if the platform's manager shows another limit",
		"the platform tells no tier of %s: 250 people in 24 hours are counted, as for a new number", named)}
}

// versionCheck tells when the pinned version of the Cloud API ends.
func versionCheck(version string, now time.Time) Check {
	const name = "cloud version"
	switch end, ok := cloud.VersionEnd(version); {
	case !ok:
		return good(name, "%s; its end is not announced yet", version)
	case end.Sub(now) < endWarning:
		return warn(name, "read the changes of the next version, and set cloud.version to it",
			"%s ends on %s", version, end.Format(time.DateOnly))
	default:
		return good(name, "%s ends on %s", version, end.Format(time.DateOnly))
	}
}
