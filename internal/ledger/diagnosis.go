package ledger

import "time"

// Diagnosis is what `campaignd doctor` tells of the settings and the clock of a ledger.
type Diagnosis struct {
	// Durable names the settings that make a commit durable, in one sentence.
	Durable string
	// Failover says what a failover to a standby will need; "": there are no standbys.
	Failover string
	// Unsafe names the setting that can lose a commit, with its remedy; nil: there is none.
	Unsafe error
	// Damage is what is wrong with the file, with its remedy; nil: nothing that was read.
	Damage error
	// Unread says that there was no time to read the whole file.
	Unread bool
	// Clock is the time of the database's own clock, read during the call; zero: it has none.
	Clock time.Time
}
