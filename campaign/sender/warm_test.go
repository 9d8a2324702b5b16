package sender

import "campaignd/internal/messaging/service"

var _ warmer = (*service.Client)(nil)
