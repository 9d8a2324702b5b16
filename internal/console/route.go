package console

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"campaignd/campaign"
	"campaignd/internal/operator"
)

// route is one page, or one form of a page.
type route struct {
	method, path string
	// operations names the operations of the operator's API that the route calls. A session needs
	// their scopes.
	operations []string
	scope      campaign.KeyScope
	all        bool  // a session of one company is refused
	body       int64 // the most bytes of a form; 0: maxForm
	page       string
	nav, group string                      // its place in the navigation; "": none
	show       func(v *visit) (any, error) // of GET; a nil view: it has answered
	do         func(v *visit) (done, error)
	confirm    func(v *visit) question // asked first, because the action cannot be undone
}

// done is what a form leads to: another page with a sentence, or its own view.
type done struct {
	to, said string
	view     any
	answered bool // it has answered by itself
}

// allows refuses a visitor whose session does not have the scope of the route.
func (r *route) allows(who operator.Caller) error {
	switch {
	case !who.Scope.Allows(r.scope):
		return &problem{http.StatusForbidden,
			fmt.Sprintf("This needs a key of the scope %s, and yours has the scope %s.", r.scope, who.Scope)}
	case r.all && who.Company != "":
		return &problem{http.StatusForbidden, "This page is not for a key of one company."}
	}
	return nil
}

// question is asked before what cannot be undone.
type question struct {
	Asked, What string // the heading, and what will happen
	Yes         string // the button
	Back        string // the page that the visitor came from
	Again       string // what has to be typed first; "": the button is enough
	// Sent says how many people got the template before, and has the visitor choose; "": nobody did.
	Sent string
}

// exports is the operation with which the route gives out people's data; "": none.
func (r *route) exports() string {
	for _, id := range r.operations {
		if slices.Contains(operator.Exports, id) {
			return id
		}
	}
	return ""
}

// confirmView repeats a form with its fields.
type confirmView struct {
	question
	Action string
	Fields []field
	Wrong  bool // what was typed is not Again
}

type field struct{ Name, Value string }

// Title implements titled.
func (v confirmView) Title() string { return v.Asked }

// sure is the field with the answer to a question.
const sure = "sure"

// answered reports whether a form has the answer.
func (q question) answered(v *visit) bool {
	given := strings.TrimSpace(v.form.Get(sure))
	return given != "" && (q.Sent == "" || v.form.Get(sentChoice) != "") && (q.Again == "" || given == q.Again)
}

// sentChoice is the field that says what becomes of people who got the template before.
const sentChoice = "sent_before"

func confirmOf(q question, v *visit) confirmView {
	out := confirmView{question: q, Action: v.r.URL.Path, Wrong: v.form.Get(sure) != ""}
	for name, values := range v.form {
		if name == sure || name == sentChoice && q.Sent != "" {
			continue // it was not the answer
		}
		for _, value := range values {
			out.Fields = append(out.Fields, field{name, value})
		}
	}
	return out
}

// The groups of the navigation.
const (
	sending = "Sending"
	people  = "People"
	service = "Service"
	system  = "System"
)

// table lists every route that needs a session. A test compares their scopes with the API's.
func table() []route {
	const (
		get, post            = http.MethodGet, http.MethodPost
		read, operate, admin = campaign.KeyRead, campaign.KeyOperate, campaign.KeyAdmin
		run                  = "/console/runs/{run}"
		draft                = "/console/new/{draft}"
	)
	return []route{
		{method: get, path: "/console/overview", operations: []string{"runs", "why", "report", "schedules"}, scope: read,
			page: "overview", nav: "Overview", group: sending, show: overview},
		{method: get, path: "/console/new", operations: []string{"campaigns", "templates", "launch"}, scope: operate, all: true, page: "new",
			nav: "New campaign", group: sending, show: newCampaign},
		{method: post, path: "/console/new", operations: []string{"campaign", "templates", "begin-upload", "launch"}, scope: operate,
			all: true, do: beginDraft},
		{method: get, path: draft + "/list", operations: []string{"upload", "launch"}, scope: operate, all: true, page: "new_list",
			show: step(stepList, newList)},
		{method: post, path: draft + "/list", operations: []string{"upload-part", "remove-upload"}, scope: operate, all: true,
			body: maxUpload, do: stepDone(takeList)},
		{method: post, path: draft + "/part", operations: []string{"upload-part", "remove-upload"}, scope: operate, all: true,
			body: maxUpload, do: stepDone(takePart)},
		{method: get, path: draft + "/columns", operations: []string{"upload", "upload-head", "launch"}, scope: operate, all: true,
			page: "new_columns", show: step(stepColumns, newColumns)},
		{method: post, path: draft + "/columns", operations: []string{"launch"}, scope: operate, all: true, do: stepDone(mapColumns)},
		{method: get, path: draft + "/check", operations: []string{"check-upload", "forecast-upload", "preview"}, scope: operate, all: true,
			page: "new_check", show: step(stepCheck, newCheck)},
		{method: get, path: draft + "/header", operations: []string{"launch"}, scope: operate, all: true, show: ofList(headerImage)},
		{method: get, path: draft + "/rejects.csv", operations: []string{"rejects"}, scope: operate, all: true, show: ofList(rejects)},
		{method: post, path: draft + "/test", operations: []string{"send-test"}, scope: operate, all: true, do: stepDone(sendTest)},
		{method: get, path: draft + "/send", operations: []string{"check-upload", "launch"}, scope: operate, all: true, page: "new_send",
			show: step(stepSend, newSend)},
		{method: post, path: draft + "/send", operations: []string{"launch"}, scope: operate, all: true, page: "confirm", do: stepDone(send)},
		{method: get, path: draft + "/campaign.yaml", operations: []string{"launch"}, scope: operate, all: true, show: campaignFile},
		{method: get, path: "/console/runs", operations: []string{"runs"}, scope: read, page: "runs", nav: "Runs", group: sending,
			show: listRuns},
		{method: get, path: run, operations: []string{"run", "why", "report", "limits", "series", "history"}, scope: read, page: "run",
			show: showRun},
		{method: get, path: run + "/live", operations: []string{"run", "why", "report", "limits", "series", "history"}, scope: read, show: live},
		{method: post, path: run + "/pause", operations: []string{"pause"}, scope: operate, do: control((*operator.Session).Pause)},
		{method: post, path: run + "/resume", operations: []string{"resume"}, scope: operate, do: control((*operator.Session).Resume)},
		{method: post, path: run + "/approve", operations: []string{"approve"}, scope: operate, do: control((*operator.Session).Approve),
			confirm: askApprove},
		{method: post, path: run + "/cancel", operations: []string{"cancel"}, scope: operate, do: control((*operator.Session).Cancel),
			confirm: askCancel},
		{method: post, path: run + "/limits", operations: []string{"change-limits"}, scope: operate, do: changeLimits},
		{method: post, path: run + "/follow-up", operations: []string{"follow-up"}, scope: operate, page: "confirm", do: followUp},
		{method: get, path: run + "/audit", operations: []string{"audit"}, scope: read, page: "audit", show: showAudit},
		{method: post, path: run + "/audit", operations: []string{"audit"}, scope: read, do: auditRun},
		{method: get, path: run + "/deliveries", operations: []string{"run", "deliveries"}, scope: read, page: "deliveries", show: deliveries},
		{method: get, path: run + "/recipient", operations: []string{"why-recipient"}, scope: read, page: "recipient", show: recipient},
		{method: get, path: run + "/report.html", operations: []string{"report-html"}, scope: read, show: reportPage},
		{method: get, path: run + "/export", operations: []string{"export"}, scope: read, show: export},
		{method: get, path: "/console/schedules", operations: []string{"schedules", "campaigns"}, scope: read, page: "schedules",
			nav: "Schedules", group: sending, show: schedules},
		{method: get, path: "/console/drops", operations: []string{"drops"}, scope: read, page: "drops", nav: "Dropped files", group: sending,
			show: drops},
		{method: get, path: "/console/person", operations: []string{"suppression", "person"}, scope: read, page: "person",
			nav: "Find a person", group: people, show: person},
		{method: get, path: "/console/person/export", operations: []string{"export-person"}, scope: read, show: exportPerson},
		{method: post, path: "/console/person/erase", operations: []string{"erase"}, scope: admin, all: true, do: erase, confirm: askErase},
		{method: get, path: "/console/suppressions", operations: []string{"suppressions"}, scope: read, page: "suppressions",
			nav: "Suppressions", group: people, show: suppressions},
		{method: post, path: "/console/suppressions/add", operations: []string{"add-suppressions"}, scope: operate, do: suppress},
		{method: post, path: "/console/suppressions/remove", operations: []string{"remove-suppressions"}, scope: operate, all: true,
			do: unsuppress, confirm: askUnsuppress},
		{method: get, path: "/console/suppressions/export", operations: []string{"export-suppressions"}, scope: read, all: true,
			show: exportSuppressions},
		{method: get, path: "/console/numbers", operations: []string{"numbers"}, scope: read, page: "numbers", nav: "Numbers", group: service,
			show: numbers},
		{method: get, path: "/console/numbers/{connection}", operations: []string{"why-number", "numbers"}, scope: read, page: "number",
			show: number},
		{method: get, path: "/console/holds", operations: []string{"holds"}, scope: read, page: "holds", nav: "Holds", group: service,
			show: holds},
		{method: post, path: "/console/holds/add", operations: []string{"add-hold"}, scope: operate, do: addHold},
		{method: post, path: "/console/holds/lift", operations: []string{"lift-holds"}, scope: operate, do: liftHold, confirm: askLift},
		{method: get, path: "/console/notifications", operations: []string{"notifications"}, scope: read, all: true, page: "notifications",
			nav: "Notifications", group: system, show: notifications},
		{method: get, path: "/console/notifications/{no}", operations: []string{"notification"}, scope: read, all: true, page: "notification",
			show: notification},
		{method: post, path: "/console/notifications/{no}/send", operations: []string{"send-notification"}, scope: operate, all: true,
			do: sendNotification},
		{method: get, path: "/console/keys", operations: []string{"keys"}, scope: admin, all: true, page: "keys", nav: "Keys", group: system,
			show: keys},
		{method: post, path: "/console/keys/create", operations: []string{"create-key"}, scope: admin, all: true, page: "keys", do: createKey},
		{method: post, path: "/console/keys/revoke", operations: []string{"revoke-key"}, scope: admin, all: true, do: revokeKey,
			confirm: askRevoke},
		{method: get, path: "/console/log", operations: []string{"actions"}, scope: admin, all: true, page: "log", nav: "Audit log",
			group: system, show: actions},
	}
}
