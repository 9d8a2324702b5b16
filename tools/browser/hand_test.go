package browser

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// hand uses pages as a person does: it finds everything by its label and role.
type hand struct {
	*served
	ctx      context.Context
	keyboard bool // never the mouse
	script   bool
}

// names is the script that finds elements by their accessible name.
const byName = `const nameOf = e => (e.getAttribute("aria-label") ||
	(e.labels && e.labels.length ? e.labels[0].innerText : e.innerText) || "").trim();
const all = () => [...document.querySelectorAll("a[href], button, input, select, textarea")].filter(e => e.offsetParent !== null);
const find = name => all().find(e => nameOf(e) === name);`

func script(body string) string { return "(() => { " + byName + " return " + body + " })()" }

// atRest says whether a click at window.at hits the element: it is where it was the last time.
const atRest = `(e => {
	e.scrollIntoView({block: "center"});
	const r = e.getBoundingClientRect(), was = String(window.at);
	window.at = [r.x + r.width / 2, r.y + r.height / 2];
	return was === String(window.at) && e.contains(document.elementFromPoint(...window.at));
})(find(%q))`

// reach puts the focus, or the mouse, on an element.
func (h *hand) reach(name string) {
	h.t.Helper()
	h.until(h.ctx, "the element "+name, ready+" && "+script(fmt.Sprintf("!!find(%q)", name)))
	if !h.keyboard {
		h.until(h.ctx, name+" at rest, with nothing above it", script(fmt.Sprintf(atRest, name)))
		at := evaluate[[]float64](h.t, h.ctx, "window.at")
		if err := chromedp.Do(h.ctx, chromedp.MouseClickXY(at[0], at[1])); err != nil {
			h.t.Fatalf("%s: %v", name, err)
		}
		return
	}
	for range 200 {
		if evaluate[bool](h.t, h.ctx, script(fmt.Sprintf(`document.activeElement === find(%q)`, name))) {
			return
		}
		if err := chromedp.Do(h.ctx, chromedp.KeyEvent(kb.Tab)); err != nil {
			h.t.Fatal(err)
		}
	}
	h.t.Fatalf("%s: the key Tab does not reach it", name)
}

// press presses a button or follows a link, and waits for the page that it leads to.
func (h *hand) press(name string) {
	h.t.Helper()
	evaluate[bool](h.t, h.ctx, "window.before = true")
	h.reach(name)
	if h.keyboard {
		if err := chromedp.Do(h.ctx, chromedp.KeyEvent(kb.Enter)); err != nil {
			h.t.Fatal(err)
		}
	}
	h.until(h.ctx, "the page after "+name, "!window.before && "+ready)
}

// fill writes into a field, or chooses an option by its first letters.
func (h *hand) fill(name, text string) {
	h.t.Helper()
	h.reach(name)
	if err := chromedp.Do(h.ctx, chromedp.KeyEvent(text)); err != nil {
		h.t.Fatalf("%s: %v", name, err)
	}
}

// choose chooses an option of a list.
func (h *hand) choose(name, option string) {
	h.t.Helper()
	if h.keyboard {
		h.fill(name, option)
		return
	}
	h.until(h.ctx, "the list "+name, script(fmt.Sprintf("!!find(%q)", name)))
	id := evaluate[string](h.t, h.ctx, script(fmt.Sprintf("find(%q).id", name)))
	if err := chromedp.Do(h.ctx, chromedp.SetValue("#"+id, option)); err != nil {
		h.t.Fatalf("%s: %v", name, err)
	}
}

// sees waits for a text on the page.
func (h *hand) sees(text string) {
	h.t.Helper()
	h.until(h.ctx, "the text "+text, fmt.Sprintf(`document.body.innerText.replace(/[\u202f\u00a0]/g, " ").includes(%q)`, text))
}

// signIn signs in with a key.
func (h *hand) signIn(key string) {
	h.t.Helper()
	h.open(h.ctx, "/console/sign-in")
	h.fill("Your key", key)
	h.press("Sign in")
}

// uploads gives a list to the page, and waits until it has come.
func (h *hand) uploads(path string) {
	h.t.Helper()
	evaluate[bool](h.t, h.ctx, "window.before = true")
	if err := chromedp.Do(h.ctx, chromedp.SetUploadFiles("#list", []string{path})); err != nil {
		h.t.Fatal(err)
	}
	h.reach("Upload")
	if h.keyboard {
		if err := chromedp.Do(h.ctx, chromedp.KeyEvent(kb.Enter)); err != nil {
			h.t.Fatal(err)
		}
	}
	h.until(h.ctx, "the page after the upload", "!window.before && "+ready)
}

// drops drops a list on the page.
func (h *hand) drops(name, text string) {
	h.t.Helper()
	evaluate[bool](h.t, h.ctx, "window.before = true")
	evaluate[bool](h.t, h.ctx, fmt.Sprintf(`(() => { const d = new DataTransfer(); d.items.add(new File([%q], %q));
		return document.querySelector("form.drop").dispatchEvent(
			new DragEvent("drop", {dataTransfer: d, bubbles: true, cancelable: true})) })()`, text, name))
	h.until(h.ctx, "the page after the drop", "!window.before && "+ready)
}

const winter = `name: winter
connections: [conn_1]
template: {name: spring_sale, language: en_US, body: ["{{ .first_name }}", "{{ .discount }}"], buttons: [{type: url, text: "{{ .slug }}"}]}
recipients: {file: list.csv}
policies: {approval: true}
`

// lists returns a list with two faults, and the corrected one.
func lists() (faulty, corrected string) {
	var b strings.Builder
	b.WriteString("phone,Given name,discount,slug\n")
	for i := range 40 {
		fmt.Fprintf(&b, "+23480355503%02d,Nia,15 %%,s7%04d\n", i, i)
	}
	return b.String() + "+234 803 48,Zoe,10 %,s80001\n+2348035550399,,10 %,s80002\n",
		b.String() + "+2348034822307,Zoe,10 %,s80001\n+2348035550399,Ada,10 %,s80002\n"
}

// sends goes from the sign-in to the end of a run.
func sends(t *testing.T, keyboard, withScript bool) {
	t.Parallel()
	s := serve(t, false)
	s.write("campaigns/winter.yaml", winter)
	ctx, said := start(t, s.console)
	h := &hand{s, ctx, keyboard, withScript}
	if !withScript {
		withoutScript(t, ctx)
	}
	faulty, corrected := lists()
	s.write("faulty.csv", faulty)
	s.write("corrected.csv", corrected)
	h.signIn(s.key("ann", "operate"))
	h.press("New campaign")
	h.press("Choose winter")
	if withScript && !keyboard {
		h.drops("faulty.csv", faulty)
	} else {
		h.uploads(s.path("faulty.csv"))
	}
	h.sees("Choose a column of the list for each value that has none.")
	h.choose("first_name", "Given name")
	h.press("Check the list")
	h.sees("40 messages can be sent. 2 rows are skipped.")
	h.sees("+234 803 48")
	h.press("Upload the corrected list")
	h.uploads(s.path("corrected.csv"))
	h.press("Check the list")
	h.sees("42 messages can be sent.")
	h.press("Next row")
	h.sees("row 2 of 42")
	h.fill("Your number", "+2348035550999")
	h.press("Send test")
	h.sees("The service accepted the test message")
	if truth := get(t, s.sandbox+"/sandbox/truth"); !strings.Contains(truth, "2348035550999") {
		t.Errorf("the sandbox has no message to the test number: %s", truth)
	}
	h.press("Go on to send")
	h.sees("by a second person")
	h.press("Send 42 messages")
	h.sees("waiting for approval")
	run := "winter-" + strings.TrimPrefix(evaluate[string](t, ctx, "location.pathname"), "/console/runs/winter-")
	h.signIn(s.key("bob", "operate"))
	h.open(ctx, "/console/runs/"+run)
	h.press("Approve")
	h.press("Approve and send")
	if withScript {
		h.sees("It is finished") // without a reload by hand
	}
	// Statuses still come; the page and the report agree when both are read between two of them.
	for end := time.Now().Add(longest); ; {
		want := s.outcome(run)
		h.open(ctx, "/console/runs/"+run)
		got := evaluate[string](t, ctx, `document.querySelector(".lede").innerText`)
		if got == want {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("the page of the run: got %q, want %q as in the report", got, want)
		}
	}
	for _, m := range said() {
		t.Errorf("got %q, want no message and no request to another host", m)
	}
}

// outcome is the sentence of a finished run, made of its report.
func (s *served) outcome(run string) string {
	s.t.Helper()
	var report struct {
		Rows   int64
		Funnel struct{ Accepted, Delivered int64 }
	}
	if err := json.Unmarshal([]byte(s.run("report", run, "--format", "json")), &report); err != nil {
		s.t.Fatal(err)
	}
	return fmt.Sprintf("It is finished. Of %d rows, %d messages were accepted and %d delivered.", report.Rows, report.Funnel.Accepted,
		report.Funnel.Delivered)
}

func TestACampaignIsSentFromABrowser(t *testing.T) { sends(t, false, true) }

func TestACampaignIsSentByKeyboardAlone(t *testing.T) { sends(t, true, true) }

func TestACampaignIsSentWithoutScript(t *testing.T) { sends(t, false, false) }

// withoutScript forbids the pages their script.
func withoutScript(t *testing.T, ctx context.Context) {
	t.Helper()
	off := emulation.SetScriptExecutionDisabledParams{Value: true}
	if _, err := chromedp.Call(ctx, emulation.SetScriptExecutionDisabled, off); err != nil {
		t.Fatal(err)
	}
}
