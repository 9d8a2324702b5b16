package operator

import (
	"campaignd/internal/messaging/connector"
	"campaignd/reporting"
)

// Service is what operators ask of the messaging service, which the ledger does not know.
type Service interface {
	reporting.TemplateCounter
}

var _ Service = (*connector.Set)(nil)
