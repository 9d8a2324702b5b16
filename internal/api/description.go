package api

import "campaignd/campaign"

// descriptions has the description of each operation, by its id.
var descriptions = map[string]string{
	"runs":  "The newest run comes first.",
	"run":   "The id `latest` is the run that was launched last.",
	"pause": "All processes stop within a second. Nothing is lost: resume goes on at the next row.",
	"resume": "It ends a pause of each reason: operator, breaker, canary and ledger. A hold is no pause: lift-holds ends it. " +
		"After a quarantine it is not_now until the lost events that the service posts again have come.",
	"cancel": "This is final: a cancelled run is never resumed. Accepted messages still get their statuses.",
	"approve": "A run waits for approval in the state waiting_approval. The key that launched it gets 409 same_person: a second " +
		"person must approve.",
	"follow-up": "The run must have ended. The same choice of rows is the same follow-up, so a repeated request adds nothing. " +
		"The senders of the ledger send it.",
	"limits":        "These are the limits in force, with the changes since the launch.",
	"change-limits": "A limit that is left out stays as it is. The change counts for all processes.",
	"why":           "limited_by is from a closed list: a limit, a window, a hold, a pause or none. The sentence is for people.",
	"why-recipient": "It says what the row waits for, or what became of it.",
	"why-number":    "The connection is configured, or one of a run of the last 100.",
	"report-html": "One file of at most 150 kB for people: totals, plots and breakdowns. It names no recipient, runs no script and asks " +
		"nobody for anything. A list of at most 100,000 rows is audited; with audit=true a longer one too, of which two are read at a time.",
	"report": "The totals are by status. Statuses still change until the run is settled. against=service reads the whole run and " +
		"compares each day of its template with what the service counts; service.notes say what it does not tell.",
	"audit": "balanced is true if each row of the list has exactly one outcome and the totals agree. It takes minutes for millions " +
		"of rows. Two lists are read at a time; another request gets 503.",
	"history":  "Holds that end by their time have no entry of their end. The value of limits is all that differs from the launch, as JSON.",
	"series":   "A run of many days has longer steps than asked for. Counts are exact; times to delivery are right within 10 %.",
	"forecast": "It sends the rest of the run in a model of its limits, windows and the other runs. The answer names what it assumes.",
	"deliveries": "A delivery is listed if all filters hold. The order is that in which the run sends. Give meta.next as after until it is " +
		"missing: a page may have fewer than limit, or none, although more follow.",
	"doubts": "A row in doubt may or may not have been sent, and its proof may still come. A row that is unknown has waited for its " +
		"proof long enough. A follow-up can send these again, and that may reach a person twice.",
	"export": "The file has one line for each row of the list. A connection that ends early means that the file is not whole.",
	"templates": "The connection may be left out if the key reaches one account only. The service is asked: 501 means that it has no " +
		"such operation, 502 that it failed.",
	"sync-templates": "The service's list can be behind the platform. The answer counts what was added, updated and removed there.",
	"media":          "The service keeps a file for 30 days. Without a connection these are the files of all that the key reaches.",
	"numbers": "rate is in messages per second. reached is how many people the portfolio has reached in 24 hours, of tier. allowance is " +
		"that of the plan of its company, and source says who told it.",
	"holds": "A hold stops what it names and nothing else. Each has a sentence that says why, and what ends it.",
	"add-hold": "All processes obey within a second. Without for it stays until lift-holds. Adding it again replaces its end and " +
		"reason. An id that no connection has is refused; * is all of a scope.",
	"lift-holds": "Name a scope and an id, or a reason alone for all of that reason. If the cause is not gone, the next refusal " +
		"begins the hold again. The answer has the holds that were ended.",
	"keys": "A key that was revoked is listed too.",
	"create-key": "The secret is in this answer alone. The scope read looks, operate also changes what is sent, admin also makes keys " +
		"and erases.",
	"revoke-key": "The key is refused from its next request on, by all processes.",
	"actions":    "Each change is logged before it is done. For the next page give the last action's at as before and its id as before_id.",
	"launch": "The parts come in this order: campaign, header if it is a file, list. The answer comes when the list is imported. " +
		"The same list and campaign are the same run, so a repeated request launches nothing.",
	"check-upload":    "Every row is read, and nothing is sent or kept.",
	"forecast-upload": "Every row is read, and nothing is sent or kept. The runs under way count.",
	"preview":         "The message is as the service gets it; text, header, footer and buttons are there if the service lists the template.",
	"send-test": "It counts at the service and in no run. A number on the suppression list is refused. The log of actions has the number " +
		"masked. A repeated request sends a second message.",
	"rejects": "The columns of the list, then reject_line, reject_reason and reject_note. After a correction it can be launched. The " +
		"service is asked for the template, and the ledger is not asked.",
	"campaigns": "A file that cannot be used is listed with its fault.",
	"campaign":  "The name is the one in the file.",
	"check": "Each fault of the campaign, its list and its account is listed with a remedy. Nothing is sent. Two lists are read at a time; " +
		"another request gets 503.",
	"forecast-campaign": "The runs under way count, as they are now. Nothing is sent.",
	"schedules":         "A past firing has its outcome, the reason and its run.",
	"drops":             "A content is taken once for each campaign. A rejected file has the reason.",
	"drop":              "A file that waits has no number yet, and is only in the list of drops.",
	"events": "Give the id of the last event as the header Last-Event-ID to go on behind it. The ledger is read once a second, so a state " +
		"that lasted less may not be told.",
	"suppressions": "The list has opt-outs, what was imported and what operators added. Give meta.next as after for the next page.",
	"add-suppressions": "At most 1,000 numbers. To suppress a number twice is the same as once. With a key of one company the numbers are " +
		"suppressed for the messages of that company alone.",
	"remove-suppressions": "The numbers can be sent to again. A suppression of another scope stays.",
	"suppression":         "Each suppression of the number, with its source and its end. An empty list: it may be sent to.",
	"export-person": "Everything that the ledger has about the number: rows with the cells of their lists and what was sent, suppressions " +
		"with their proofs, and other records such as orders, user ids and changes of number. A key of one company gets what belongs to " +
		"its runs. not_reached counts lists that may also have the number.",
	"person": "A page may be empty and still have a next. An erased number has no rows. " +
		"A key of one company sees the rows of the runs of that company.",
	"export-suppressions": "The file has the columns that import-suppressions reads.",
	"import-suppressions": "The rows before a fault that ends the import (422) are imported; the same file again adds the others.",
	"begin-upload": "Give the id to upload-part as the hash, and with the last part the SHA-256 of the whole list. A list whose hash is " +
		"known before its first part needs no id.",
	"upload": "Go on with upload-part at that offset.",
	"upload-head": "The first rows of what has come, also before the last part. to is the column that probably has the phone numbers. " +
		"A list without a header is refused (422).",
	"upload-part": "The part begins where the upload ends: after a broken connection, ask upload for the offset. When the list is " +
		"whole, give its hash to launch as the part upload. With sha256, which may come again with an empty part, the list is named by " +
		"its hash in place of its id; content with another hash is removed (422).",
	"remove-upload":     "A run that was launched from it stays.",
	"notifications":     "Each destination gets one notification for each event.",
	"notification":      "body is the text that is sent.",
	"send-notification": "It is tried for three days from now, and receivers know the repetition by its id.",
	"erase": "Its variables, message ids, opt-outs and events go; totals stay. A keyed hash stays suppressed, so that a later list sends " +
		"nothing to it. The log of actions does not name it.",
}

// description returns the text of a route, with the scope that its key needs.
func (r route) description() string {
	text := descriptions[r.id] + " It needs a key of the scope " + string(r.scope)
	if r.scope != campaign.KeyAdmin {
		text += " or a higher one"
	}
	if r.all {
		text += "; a key of one company is refused"
	}
	return text + "."
}
