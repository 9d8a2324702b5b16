package throttle

import "context"

// RedisDiagnosis is what `campaignd doctor` says about a Redis.
type RedisDiagnosis struct {
	Version string
	// Policy is its maxmemory-policy, "" if it does not tell it.
	Policy string
	// Persistent means that it writes an append-only file.
	Persistent bool
}

// Diagnose asks the server about itself.
func (r *Redis) Diagnose(ctx context.Context) (RedisDiagnosis, error) {
	reply, err := r.server.do(ctx, "info")
	text, _ := reply.(string)
	return RedisDiagnosis{
		Version: infoField(text, "redis_version"), Policy: infoField(text, "maxmemory_policy"), Persistent: infoField(text, "aof_enabled") == "1",
	}, err
}
