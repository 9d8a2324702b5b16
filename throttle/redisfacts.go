package throttle

import "context"

// RedisFacts are what a diagnosis asks of a Redis.
type RedisFacts struct {
	Version string
	// Policy is its maxmemory-policy, "" if it does not tell it.
	Policy string
	// Persistent means that it writes an append-only file.
	Persistent bool
}

// Facts asks the server about itself.
func (r *Redis) Facts(ctx context.Context) (RedisFacts, error) {
	reply, err := r.server.do(ctx, "info")
	text, _ := reply.(string)
	return RedisFacts{
		Version: infoField(text, "redis_version"), Policy: infoField(text, "maxmemory_policy"), Persistent: infoField(text, "aof_enabled") == "1",
	}, err
}
