package messaging

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"
	"time"
)

var update = flag.Bool("update", false, "write the golden table instead of comparing with it")

func (p Proof) word() string { return [...]string{"-", "not_sent", "doubt", "doubt_no_id"}[p] }

func (a Action) word() string {
	return [...]string{"-", "refuse", "retry_once", "retry_later", "slow", "wait_pair", "retry_unknown", "refuse_for_now"}[a]
}

func (h Hold) word() string {
	return [...]string{"-", "payload", "connection", "template", "account", "company", "key"}[h]
}

func (h EndedBy) word() string {
	return [...]string{"-", "time", "number event", "template event", "account event", "operator"}[h]
}

func (f Feed) word() string { return [...]string{"-", "opt_out", "unreachable", "blocked"}[f] }

func waitWord(d time.Duration) string {
	if d == 0 {
		return "-"
	}
	return d.String()
}

// The golden table shows on one page what each answer proves, what is done with the recipient, what
// else stops, which suppression is added, and for how long. Each line was compared with
// docs/service.md#error-actions. `go test ./internal/messaging -run TestCodes -update` writes the
// table; then read the changed lines again.
func TestCodesMeanWhatTheGoldenTableSays(t *testing.T) {
	var page bytes.Buffer
	section := func(title, head string, rows func(io.Writer)) {
		fmt.Fprintf(&page, "\n## %s\n\n", title)
		w := tabwriter.NewWriter(&page, 0, 0, 2, ' ', 0)
		fmt.Fprintln(w, head)
		rows(w)
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	line := func(w io.Writer, name string, r row) {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n",
			name, r.Action.word(), r.Hold.word(), waitWord(r.Wait), r.EndedBy.word(), r.Feed.word(), r.Sentence)
	}
	fmt.Fprint(&page, "# What the service's answers mean\n\n"+
		"Written by `go test ./internal/messaging -run TestCodes -update`. A change of a line here is a change of what is sent to whom.\n")
	section("Platform codes (meta.code)", "code\taction\thold\twait\tended by\tfeed\tsentence", func(w io.Writer) {
		for _, code := range slices.Sorted(maps.Keys(platformRows)) {
			line(w, fmt.Sprint(code), platformRows[code])
			if code == 200 {
				r, _ := platformRow(299)
				line(w, "299", r)
			}
		}
		for _, code := range slices.Sorted(maps.Keys(subcodeRows)) {
			line(w, code, subcodeRows[code])
		}
		for _, code := range []int{-1, 199, 300, 131001} {
			r, known := platformRow(code)
			if known {
				t.Errorf("code %d has the row %+v, want none", code, r)
			}
		}
	})
	section("Codes of the service, and of the wire (error)", "error\taction\thold\twait\tended by\tfeed\tsentence", func(w io.Writer) {
		rows := namedRows()
		for _, code := range slices.Sorted(maps.Keys(rows)) {
			line(w, code, rows[code])
		}
	})
	const columns = "\tproof\taction\thold\twait\tended by\tfeed\tproven\tcode\tmessage"
	section("Statuses whose body says nothing", "status\tbody"+columns, func(w io.Writer) {
		// Neighbouring statuses with the same meaning share a line.
		for _, body := range []string{"{}", "<html>"} {
			from, last := 0, ""
			flush := func(to int) {
				if from != 0 {
					fmt.Fprintf(w, "%s\t%s\t%s\n", map[bool]string{true: fmt.Sprint(from), false: fmt.Sprintf("%d-%d", from, to)}[from == to], body, last)
				}
			}
			for status := 100; status <= 999; status++ {
				if status == 200 {
					flush(199)
					from, last, status = 0, "", 300
				}
				e := classified(status, nil, body)
				e.Code = strings.Replace(e.Code, fmt.Sprint(status), "NNN", 1)
				if got := fieldsOf(e); got != last {
					flush(status - 1)
					from, last = status, got
				}
			}
			flush(999)
		}
	})
	section("What decides when several things are said", "status\tbody"+columns, func(w io.Writer) {
		for _, c := range decisions {
			fmt.Fprintf(w, "%d\t%s\t%s\n", c.status, c.body, fieldsOf(classified(c.status, c.header, c.body)))
		}
	})
	section("Exchanges without an answer", "fault"+columns, func(w io.Writer) {
		for _, c := range []struct {
			name    string
			err     error
			written bool
		}{
			{"refused, nothing written", errors.New("connection refused"), false},
			{"deadline, nothing written", context.DeadlineExceeded, false},
			{"deadline, written", context.DeadlineExceeded, true},
			{"i/o timeout, written", os.ErrDeadlineExceeded, true},
			{"cancelled, written", context.Canceled, true},
			{"EOF, written", io.EOF, true},
			{"not HTTP, written", errors.New(`malformed HTTP response "SSH"`), true},
		} {
			fmt.Fprintf(w, "%s\t%s\n", c.name, fieldsOf(transportError(context.Background(), c.err, c.written)))
		}
		fmt.Fprintf(w, "%s\t%s\n", "2xx without an id", fieldsOf((&Answer{Status: 200}).NoID()))
		fmt.Fprintf(w, "%s\t%s\n", "2xx, a page", fieldsOf((&Answer{Status: 200, Body: []byte("\n<html>")}).NoID()))
		fmt.Fprintf(w, "%s\t%s\n", "2xx, JSON that is broken", fieldsOf((&Answer{Status: 200, Body: []byte(`{"data":`)}).NoID()))
		fmt.Fprintf(w, "%s\t%s\n", "2xx, cut", fieldsOf((&Answer{Status: 202, Err: io.ErrUnexpectedEOF}).NoID()))
	})
	name := "../../testdata/wire/codes.golden"
	if *update {
		if err := os.WriteFile(name, page.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Equal(page.Bytes(), want) {
		return
	}
	gotLines, wantLines := strings.Split(page.String(), "\n"), strings.Split(string(want), "\n")
	for i := range max(len(gotLines), len(wantLines)) {
		g, w := "(no line)", "(no line)"
		if i < len(gotLines) {
			g = gotLines[i]
		}
		if i < len(wantLines) {
			w = wantLines[i]
		}
		if g != w {
			t.Errorf("%s:%d\n got %s\nwant %s", name, i+1, g, w)
		}
	}
}

func fieldsOf(e *Error) string {
	return strings.Join([]string{e.Proof.word(), e.Action.word(), e.Hold.word(), waitWord(e.Wait), e.EndedBy.word(),
		e.Feed.word(), map[bool]string{true: "proven", false: "-"}[e.Proven()], e.Code, cmp.Or(e.Message, "-")}, "\t")
}

// decisions are answers with several codes, of which one decides.
var decisions = []struct {
	status int
	header http.Header
	body   string
}{
	// The status wins over every code.
	{500, nil, `{"error":"send_recipient_permanent","meta":{"errorClass":"recipient_permanent","code":131026,"retryable":false}}`},
	{503, http.Header{"Retry-After": {"3"}}, `{"error":"send_retryable","meta":{"code":131016,"retryable":true}}`},
	{408, nil, `{"error":"send_retryable","meta":{"code":130429,"retryable":true}}`},
	{409, nil, `{"error":"recipient_opted_out"}`},
	{499, nil, `{"error":"plan_limit_messages"}`},
	// meta.code wins over everything else.
	{400, nil, `{"error":"send_retryable","meta":{"errorClass":"retryable","code":131026,"retryable":true}}`},
	{429, nil, `{"error":"send_retryable","meta":{"errorClass":"retryable","code":131056,"retryable":true}}`},
	{402, nil, `{"error":"plan_limit_messages","meta":{"code":131050}}`},
	{400, nil, `{"error":"send_policy","meta":{"code":0}}`},
	{400, nil, `{"error":"send_x","meta":{"code":299}}`},
	{400, nil, `{"error":"send_x","meta":{"code":2147483647}}`},
	{400, nil, `{"error":"send_retryable","meta":{"code":-1}}`},
	{400, nil, `{"error":"send_retryable","meta":{"code":2147483648}}`},
	{400, nil, `{"error":"send_x","meta":{"code":"131057"}}`},
	{400, nil, `{"error":"send_retryable","meta":{"code":"none"}}`},
	// 429 wins over meta.retryable and the class.
	{429, nil, `{"error":"send_media","meta":{"errorClass":"media","code":777,"retryable":true}}`},
	{429, http.Header{"Retry-After": {"7"}}, `{"error":"rate_limited"}`},
	{400, http.Header{"Retry-After": {"7"}}, `{"error":"send_x","meta":{"code":4}}`},
	// meta.retryable wins over a class that refuses the recipient and stops nothing else.
	{400, nil, `{"error":"send_new","meta":{"errorClass":"new","code":777,"retryable":true}}`},
	{400, nil, `{"error":"send_needs_template","meta":{"errorClass":"needs_template","retryable":true}}`},
	{400, nil, `{"error":"send_template","meta":{"errorClass":"template","retryable":true}}`},
	{400, nil, `{"error":"send_media","meta":{"errorClass":"media","retryable":true}}`},
	{403, nil, `{"error":"forbidden","meta":{"retryable":true}}`},
	{400, nil, `{"error":{"message":"m","code":777,"is_transient":true}}`},
	// The error wins over the class; the class decides if the error is unknown.
	{400, nil, `{"error":"refused","meta":{"errorClass":"recipient_permanent"}}`},
	{400, nil, `{"error":"send_media","meta":{"errorClass":"recipient_permanent"}}`},
	{400, nil, `{"error":"refused","meta":{"errorClass":"new"}}`},
	{403, nil, `{"error":"send_new"}`},
	{400, nil, `{"error":"send_retryable","meta":{"errorClass":"retryable","retryable":false}}`},
	// Each class that the document names, without a code.
	{400, nil, `{"error":"send_template","meta":{"errorClass":"template"}}`},
	{400, nil, `{"error":"send_needs_template","meta":{"errorClass":"needs_template"}}`},
	{400, nil, `{"error":"send_recipient_permanent","meta":{"errorClass":"recipient_permanent"}}`},
	{400, nil, `{"error":"send_retryable","meta":{"errorClass":"retryable"}}`},
	{400, nil, `{"error":"send_media","meta":{"errorClass":"media"}}`},
	// The service's own codes at the statuses of its document.
	{402, nil, `{"error":"plan_limit_messages"}`},
	{403, nil, `{"error":"recipient_opted_out"}`},
	{403, nil, `{"error":"account_deactivated"}`},
	{404, nil, `{"error":"connection_not_found"}`},
	// Answers of a proxy in front of the service.
	{403, nil, `error code: 1010`},
	{403, nil, `{"error":"forbidden","message":"error code: 1010"}`},
	{403, nil, `<html>Access denied</html>`},
	{403, nil, `["denied"]`},
	{400, nil, `<html>Bad request</html>`},
	{404, nil, `error code: 1010`},
	{308, http.Header{"Location": {"https://service.example/"}}, `{"error":"send_media"}`},
}
