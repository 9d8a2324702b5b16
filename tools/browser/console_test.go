package browser

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
)

// busy is a console with a finished run, one that waits for approval, and something in each list.
func busy(t *testing.T) *served {
	t.Helper()
	s := serve(t, true)
	s.write("campaigns/autumn.yaml", `name: autumn
connections: [conn_1, conn_2]
template: {name: spring_sale, language: en_US, body: ["{{ .first_name }}", "{{ .discount }}"], buttons: [{type: url, text: "{{ .slug }}"}]}
recipients: {file: autumn.csv}
policies: {approval: true}
schedule: {cron: "0 9 1 1 *", timezone: Europe/Berlin}
`)
	s.write("campaigns/broken.yaml", "name: broken\nconnections: 7\n")
	var list strings.Builder
	list.WriteString("phone,first_name,discount,slug\n")
	for i := range 60 {
		fmt.Fprintf(&list, "+23480355502%02d,Nia,15 %%,s6%04d\n", i, i)
	}
	s.write("campaigns/autumn.csv", list.String())
	s.run("launch", s.path("campaigns/autumn.yaml"), "--recipients", s.path("campaigns/autumn.csv"))
	s.run("holds", "add", "connection", "conn_3", "--reason", "the SIM is changed")
	s.run("suppressions", "add", "+2348035550777")
	s.write("inbox/other.txt", "phone\n")
	return s
}

// signIn signs in with a key as a person does.
func (s *served) signIn(ctx context.Context, key string) {
	s.t.Helper()
	s.open(ctx, "/console/sign-in")
	if err := chromedp.Do(ctx, chromedp.SendKeys("#key", key+"\r"), chromedp.WaitVisible("nav a[aria-current=page]")); err != nil {
		s.t.Fatalf("signing in: %v", err)
	}
}

// ready is true for a page that was painted. Nobody clicks on a page before that, and a page may be
// loaded earlier.
const ready = `document.readyState == "complete" && performance.getEntriesByType("paint").length > 0`

// open opens a page of the console.
func (s *served) open(ctx context.Context, path string) {
	s.t.Helper()
	if err := chromedp.Do(ctx, chromedp.Navigate(s.console+path)); err != nil {
		s.t.Fatalf("%s: %v", path, err)
	}
	s.until(ctx, path+" is ready", ready)
}

// press presses the button, or follows the link, with a name, and waits for the page that it leads
// to.
func (s *served) press(ctx context.Context, name string) {
	s.t.Helper()
	evaluate[bool](s.t, ctx, "window.before = true")
	if err := chromedp.Do(ctx, chromedp.Click(`//*[self::button or self::a][normalize-space()="`+name+`"]`)); err != nil {
		s.t.Fatalf("%s: %v", name, err)
	}
	s.until(ctx, "the page after "+name, "!window.before && "+ready)
}

// longest is how long a test waits for a page, an answer or a process, however busy the machine is.
const longest = 2 * time.Minute

// until waits until an expression is true.
func (s *served) until(ctx context.Context, what, expression string) {
	s.t.Helper()
	until(s.t, ctx, what, expression)
}

// until waits until an expression is true. A page that is being left may refuse to evaluate it, or
// never answer.
func until(t *testing.T, tab context.Context, what, expression string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(tab, longest)
	defer cancel()
	for tick := time.NewTicker(50 * time.Millisecond); ; {
		one, stop := context.WithTimeout(ctx, longest/10)
		ok, err := chromedp.Run(one, chromedp.Evaluate[bool](expression))
		if stop(); ok && err == nil {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("%s: %s did not become true within %v; the browser shows %s", what, expression, longest, shown(tab))
		}
	}
}

// shown is the address of the page that is open, and the beginning of its text.
func shown(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	text, err := chromedp.Run(ctx, chromedp.Evaluate[string](`location.pathname + ": " + (document.querySelector("main") ||
		document.body).innerText.slice(0, 300)`))
	if err != nil {
		return err.Error()
	}
	return strconv.Quote(text)
}

// walk calls do with each page of the console that links lead to, once, and returns their paths.
func (s *served) walk(ctx context.Context, do func(path string)) []string {
	s.t.Helper()
	pages := []string{"/console/overview"}
	for i := 0; i < len(pages); i++ {
		s.open(ctx, pages[i])
		links := evaluate[[]string](s.t, ctx, `[...document.querySelectorAll("a[href^='/console/']")].map(a => a.getAttribute("href"))`)
		do(pages[i])
		for _, link := range links {
			path, _, _ := strings.Cut(link, "?")
			path, _, _ = strings.Cut(path, "#")
			download := slices.ContainsFunc([]string{"/export", ".html", ".yaml", ".csv"}, func(end string) bool {
				return strings.HasSuffix(path, end)
			})
			known := slices.ContainsFunc(pages, func(p string) bool { return p == path || strings.HasPrefix(p, path+"?") })
			if !download && !known {
				pages = append(pages, strings.Split(link, "#")[0])
			}
		}
	}
	return pages
}

// form is a screen that a page is looked at on.
type form struct {
	theme string
	width int64
	text  string // the size of the text
	judge bool   // also by axe, which takes most of the time
}

// shifts are the layout shifts of a page since it was opened, as the browser counts them: how much,
// and what moved. Those within half a second of a key or a click are not counted, nor those of a
// part of a pixel, which a font that arrives gives.
func (s *served) shifts(ctx context.Context) []string {
	s.t.Helper()
	return evaluate[[]string](s.t, ctx, `new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => {
		const seen = new PerformanceObserver(() => {});
		seen.observe({type: "layout-shift", buffered: true});
		done(seen.takeRecords().filter(e => !e.hadRecentInput && e.value >= 0.0001).map(e => e.value.toFixed(4) + " by " +
			e.sources.map(s => s.node ? s.node.nodeName + "#" + (s.node.id || "") + "." + (s.node.className || "") : "").join(" ")));
	})))`)
}

// judge looks at the page that is open, which was opened in the first of the forms.
func (s *served) judge(ctx context.Context, what string, said func() []string, forms []form) {
	s.t.Helper()
	if got := s.shifts(ctx); len(got) > 0 {
		s.t.Errorf("%s: got the layout shifts %q while it was loaded, want none", what, got)
	}
	defer screen(s.t, ctx, forms[0].theme, forms[0].width)
	for _, f := range forms {
		screen(s.t, ctx, f.theme, f.width)
		on := fmt.Sprintf("%s, %s, %d px, text %s", what, f.theme, f.width, f.text)
		evaluate[string](s.t, ctx, `document.documentElement.style.fontSize = "`+f.text+`"`)
		if wide := evaluate[float64](s.t, ctx, `document.documentElement.scrollWidth`); wide > float64(f.width) {
			who := evaluate[[]string](s.t, ctx, `[...document.querySelectorAll("main *, header *")].filter(e => !e.closest(".scroll *, nav *") &&
				e.getBoundingClientRect().right > document.documentElement.clientWidth + 1).slice(0, 3).map(e => e.outerHTML.slice(0, 100))`)
			s.t.Errorf("%s: got a page of %v px because of %q, want no scrolling to the side", on, wide, who)
		}
		// A column that takes the room of its neighbour leaves that one a letter for each line.
		for _, cell := range evaluate[[]string](s.t, ctx, `[...document.querySelectorAll("th, td")].filter(c => !c.closest(".hidden") &&
			c.clientHeight > 3 * c.clientWidth &&
			c.textContent.trim().length > 12).map(c => c.clientWidth + " x " + c.clientHeight + " px: " + c.textContent.slice(0, 60))`) {
			s.t.Errorf("%s: got a cell of %s, want none so narrow", on, cell)
		}
		for _, full := range evaluate[[]string](s.t, ctx, `[...document.querySelectorAll(".panel")].filter(p =>
			p.scrollWidth > p.clientWidth + 1).map(p => p.scrollWidth + " px in " + p.clientWidth + ": " + p.textContent.trim().slice(0, 40))`) {
			s.t.Errorf("%s: got a panel with %s, want its content within it", on, full)
		}
		if *pictures != "" {
			name := strings.NewReplacer("/", "-", "?", "-").Replace(strings.TrimPrefix(what, "/"))
			picture(s.t, ctx, filepath.Join(*pictures, fmt.Sprintf("%s-%s-%d-%s.png", name, f.theme, f.width, strings.TrimSuffix(f.text, "%"))))
		}
		if !f.judge {
			continue
		}
		evaluate[int](s.t, ctx, "window.axe || ("+axeRunner+")(); 0")
		for _, v := range firsts(evaluate[[]string](s.t, ctx, violations)) {
			s.t.Errorf("%s: %s", on, v)
		}
	}
	for _, m := range said() {
		s.t.Errorf("%s: got %q, want no message and no request to another host", what, m)
	}
}

// draft begins a new campaign with a list that has faults, and checks it.
func (h *hand) draft() {
	h.t.Helper()
	faulty, _ := lists()
	h.write("faulty.csv", faulty)
	h.press("New campaign")
	h.press("Choose autumn")
	h.uploads(h.path("faulty.csv"))
	h.choose("first_name", "Given name")
	h.press("Check the list")
}

// The README shows the page of a run and the check of a list.
func TestThePicturesOfTheConsoleAreMade(t *testing.T) {
	if *readmeConsole == "" {
		return // `make picture` asks for them
	}
	s := busy(t)
	ctx, _ := start(t, s.console)
	h := &hand{s, ctx, false, true}
	h.signIn(s.key("ann", "admin"))
	screen(t, ctx, "light", 1280)
	h.draft()
	for _, name := range []string{"console-check", "console-run"} {
		png, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(*readmeConsole, name+".png"), png, 0o600); err != nil {
			t.Fatal(err)
		}
		h.open(ctx, "/console/runs/spring-sale-1")
	}
}

// firsts returns the first violation of each rule.
func firsts(all []string) []string {
	seen := map[string]bool{}
	return slices.DeleteFunc(all, func(v string) bool {
		rule, _, _ := strings.Cut(v, " ")
		was := seen[rule]
		seen[rule] = true
		return was
	})
}

var axeRunner = "() => {" + axe + "}"

// all are the screens of the design: a desk, a phone, the narrowest phone, large text.
var all = []form{{"light", 1440, "100%", true}, {"dark", 1440, "100%", true}, {"light", 390, "100%", true}, {"dark", 390, "100%", true},
	{"light", 320, "100%", false}, {"light", 1440, "200%", false}, {"light", 390, "200%", false}}

// once are the screens on which a page is looked at that another visitor sees nearly as well.
var once = []form{{"light", 1440, "100%", true}, {"dark", 390, "100%", true}, {"light", 320, "100%", false}}

func TestEachPageIsForEverybody(t *testing.T) {
	t.Parallel()
	s := busy(t)
	ctx, said := start(t, s.console)
	// Each page loads as on a first visit: with neither font nor style nor script at hand.
	if _, err := chromedp.Call(ctx, network.SetCacheDisabled, network.SetCacheDisabledParams{CacheDisabled: true}); err != nil {
		t.Fatal(err)
	}
	screen(t, ctx, "light", 1440)
	s.open(ctx, "/console/sign-in")
	s.judge(ctx, "/console/sign-in", said, all)
	s.signIn(ctx, s.key("ann", "admin"))
	_ = said() // the browser tells that the field for the key had the focus already
	h := &hand{s, ctx, false, true}
	h.draft()
	pages := s.walk(ctx, func(path string) { s.judge(ctx, path, said, all) })
	for _, path := range []string{"/console/holds?all=1", "/console/person?to=%2B2348035550777", "/console/person?to=%2B2348035550201",
		"/console/runs?campaign=none",
		"/console/notifications?state=dead", "/console/runs/autumn-2/deliveries?status=failed"} {
		s.open(ctx, path)
		s.judge(ctx, path, said, once)
	}
	s.open(ctx, "/console/runs/autumn-2")
	s.press(ctx, "Cancel the run")
	s.judge(ctx, "the question before a run is cancelled", said, once)
	if len(pages) < 26 || !slices.Contains(pages, "/console/log") {
		t.Errorf("got %d pages: %s; want all of them", len(pages), strings.Join(pages, " "))
	}
	// The browser itself writes a line about an answer that is no page.
	s.open(ctx, "/console/none")
	_ = said()
	s.judge(ctx, "/console/none", said, once)
	s.open(ctx, "/console/none")
	// A change before the first paint shifts nothing.
	evaluate[int](t, ctx, `new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => {
		document.querySelector("main").prepend(Object.assign(document.createElement("p"), {textContent: "above"}));
		done(0);
	})))`)
	if got := s.shifts(ctx); len(got) == 0 {
		t.Error("a paragraph that comes above the page: got no layout shift, want that the browser counts it")
	}
}

func TestEachPageIsForEachScope(t *testing.T) {
	t.Parallel()
	s := busy(t)
	ctx, said := start(t, s.console)
	for _, scope := range []string{"read", "operate"} {
		s.signIn(ctx, s.key(scope, scope))
		pages := s.walk(ctx, func(path string) { s.judge(ctx, scope+path, said, once[1:]) })
		if slices.Contains(pages, "/console/keys") || len(pages) < 18 {
			t.Errorf("%s: got the pages %s, want all but those of admin", scope, strings.Join(pages, " "))
		}
	}
}

func TestEachPageWithoutDataIsForEverybody(t *testing.T) {
	t.Parallel()
	s := serve(t, false)
	ctx, said := start(t, s.console)
	s.signIn(ctx, s.key("ann", "admin"))
	s.walk(ctx, func(path string) { s.judge(ctx, path, said, once) })
}
