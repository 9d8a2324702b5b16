package notify_test

import (
	"fmt"

	"campaignd/campaign"
	"campaignd/internal/messaging"
	"campaignd/internal/notify"
)

// A destination of the configuration says which events it is told of.
func Example() {
	d := notify.Destination{Name: "ops", URL: messaging.NewSecret("https://hooks.example/campaignd"),
		Secrets: []messaging.Secret{messaging.NewSecret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")}, Events: []string{"run.finished"}}
	fmt.Println(d.Check(), d.Wants(campaign.NotifyRunFinished), d.Wants(campaign.NotifyHold))
	// Output: <nil> true false
}
