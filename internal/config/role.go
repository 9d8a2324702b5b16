package config

// Role is the part of the work that a process of `campaignd serve` does.
type Role string

// The roles. Any number of processes of each role may share a PostgreSQL ledger. An SQLite ledger
// allows one process with the role all or sender, and intakes on the same machine.
const (
	RoleAll    Role = "all"
	RoleIntake Role = "intake" // takes webhooks and sweeps orphans, sends nothing
	RoleSender Role = "sender" // sends and fires schedules, takes no webhooks
)
