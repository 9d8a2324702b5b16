package doctor

import (
	"context"
	"errors"
	"strings"

	"campaignd/internal/messaging"
	"campaignd/internal/messaging/service"
)

// AssumedLine names the operations of the service that its document does not show: those that are
// used, and those that the service does not offer. It is "" if no such operation was asked.
func AssumedLine(used, absent []string) string {
	line := strings.Join(used, ", ")
	if len(absent) > 0 {
		line = strings.TrimPrefix(line+"; not offered: "+strings.Join(absent, ", "), "; ")
	}
	return line
}

// checkAssumed asks the listings that runs use and that the document of the service does not show.
// One that is not offered is no fault: the configuration then counts.
func checkAssumed(ctx context.Context, client *service.Client, connections []messaging.Connection) Check {
	const name = "assumed"
	_, numbers := client.Numbers(ctx)
	_, webhooks := client.Webhooks(ctx)
	errs := []error{numbers, webhooks}
	if len(connections) > 0 {
		_, templates := client.Templates(ctx, connections[0].ID)
		errs = append(errs, templates)
	}
	for _, err := range errs {
		if err != nil && !errors.Is(err, messaging.ErrNotOffered) {
			return Check{name, HealthWarn, messaging.Scrub(err.Error(), 300),
				"see docs/service.md, Assumed operations, and service.assumed.paths"}
		}
	}
	return good(name, "%s", AssumedLine(client.Asked()))
}
