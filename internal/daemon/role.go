package daemon

// Role is which part of the work a process of `campaignd serve` does.
type Role string

// The roles. Any number of processes of each may run over one PostgreSQL ledger; over an SQLite ledger one sender (or
// all), and intakes on the same machine.
const (
	RoleAll    Role = "all"
	RoleIntake Role = "intake" // takes webhooks and sweeps; sends nothing
	RoleSender Role = "sender" // sends and fires schedules; takes no webhooks
)
