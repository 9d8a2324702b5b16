package ledger

import (
	"strconv"
	"strings"

	"campaignd/campaign"
)

// whichRuns is the end of a SELECT of run r that reads what w asks for, newest first, and its arguments. dialect begins a
// numbered parameter: "$" for PostgreSQL, "?" for SQLite.
func whichRuns(w campaign.Which, dialect string) (sql string, args []any) {
	var all []string
	is := func(column, value string) {
		if value != "" {
			args = append(args, value)
			all = append(all, column+" = "+dialect+strconv.Itoa(len(args)))
		}
	}
	is("r.campaign", w.Campaign)
	is("r.list_hash", w.ListHash)
	is("r.launch", w.Launch)
	if w.Fired { // as the index run_firing says it
		all = append(all, "substr(r.launch, 1, 5) = 'cron '")
	}
	if w.Unended { // by the index run_state: few of many
		all = append(all, "r.state IN ('importing', 'waiting_approval', 'ready', 'running', 'paused')")
	}
	if len(all) > 0 {
		sql = "WHERE " + strings.Join(all, " AND ") + " "
	}
	sql += "ORDER BY r.no DESC"
	if w.Most > 0 {
		args = append(args, int64(w.Most))
		sql += " LIMIT " + dialect + strconv.Itoa(len(args))
	}
	return sql, args
}
