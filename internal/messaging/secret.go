package messaging

import "campaignd/internal/secret"

// Secret is a key or a signing secret, which prints as ***.
type Secret = secret.Value

// NewSecret hides s.
func NewSecret(s string) Secret { return secret.New(s) }
