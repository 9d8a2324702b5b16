package postgres

import (
	"strings"
	"testing"
)

// A server on another machine gets the password in clear only if the address says so.
func TestAPasswordTravelsInClearOnlyOnDemand(t *testing.T) {
	const remote = "postgres://u:hush@db.example.com/c"
	for dsn, want := range map[string]bool{
		remote: false, remote + "?sslmode=prefer": false, remote + "?sslmode=allow": false,
		"postgres://u:hush@10.0.0.7,127.0.0.1/c": false,
		"postgres://u:hush@127.0.0.1,10.0.0.7/c": false, "postgres://u:hush@[fd00::1]/c": false,
		"postgres://u:hush@localhost.example.com/c": false,
		remote + "?sslmode=require":                 true, remote + "?sslmode=verify-full": true, remote + "?sslmode=disable": true,
		"postgres://u:hush@127.0.0.1/c": true, "postgres://u:hush@localhost/c": true, "postgres://u:hush@[::1]/c": true,
		"postgres:///c?host=/run/postgresql&user=u&password=hush": true,
	} {
		_, err := parseAddress(dsn)
		if (err == nil) != want {
			t.Errorf("%s: got %v, want accepted %v", dsn, err, want)
		}
		if err != nil && (!strings.Contains(err.Error(), "sslmode=verify-full") || strings.Contains(err.Error(), "hush")) {
			t.Errorf("%s: got %v, want the remedy and no password", dsn, err)
		}
	}
}
