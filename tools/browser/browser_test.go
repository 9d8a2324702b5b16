package browser

import (
	"context"
	_ "embed"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

//go:embed testdata/axe.min.js
var axe string

var (
	pages    = flag.String("pages", "", "folder of the pages to look at")
	pictures = flag.String("pictures", "", "folder for a picture of each page in each form")
	readme   = flag.String("readme", "", "write the picture of a report for the README to this file")
	// readmeConsole is for the pictures of the console.
	readmeConsole = flag.String("console", "", "write the pictures of the console for the README to this folder")
)

// names are the reports that scripts/browser.sh makes.
var names = []string{"demo", "empty", "one", "large", "wide"}

// unable skips a test that lacks something. In CI that is a failure.
func unable(t *testing.T, format string, args ...any) {
	t.Helper()
	if os.Getenv("CI") != "" {
		t.Fatalf(format, args...)
	}
	t.Skipf(format, args...)
}

// reports opens a tab for the pages of -pages.
func reports(t *testing.T) (ctx context.Context, said func() []string) {
	t.Helper()
	if *pages == "" {
		unable(t, "no -pages: scripts/browser.sh makes them")
	}
	return start(t, "file://")
}

// start opens a tab of a browser that reaches this machine alone. said returns what the pages
// said to the browser's console since the last call, and what they asked for beside addresses that
// begin with own.
func start(t *testing.T, own string) (ctx context.Context, said func() []string) {
	t.Helper()
	chromium, err := exec.LookPath("chromium")
	if err != nil {
		unable(t, "chromium is missing: scripts/services.sh installs it")
	}
	options := []chromedp.ExecAllocatorOption{
		chromedp.ExecPath(chromium), chromedp.Headless, chromedp.DisableGPU, chromedp.Flag("hide-scrollbars", true),
		// Each name resolves to nothing, so a page that needs a network shows it.
		chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"),
	}
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Minute)
	t.Cleanup(cancel)
	ctx, closing := chromedp.NewExecAllocator(ctx, options...)
	t.Cleanup(closing)
	ctx, closeTab := chromedp.NewContext(ctx)
	t.Cleanup(closeTab)
	var mu sync.Mutex
	var all []string
	add := func(format string, args ...any) {
		mu.Lock()
		defer mu.Unlock()
		all = append(all, fmt.Sprintf(format, args...))
	}
	if err := chromedp.Listen(ctx, func(event any) {
		switch e := event.(type) {
		case *runtime.EventConsoleAPICalled:
			add("console %s", e.Type)
		case *runtime.EventExceptionThrown:
			add("exception %s", e.ExceptionDetails.Text)
		case *log.EventEntryAdded:
			// The test's own hand was in a field before the browser's autofocus.
			if !strings.HasPrefix(e.Entry.Text, "Autofocus processing was blocked") {
				add("log %s", e.Entry.Text)
			}
		case *network.EventRequestWillBeSent:
			if !strings.HasPrefix(e.Request.URL, own) && !strings.HasPrefix(e.Request.URL, "data:") {
				add("request to %s", e.Request.URL)
			}
		}
	}); err != nil {
		t.Fatalf("chromium does not start: %v", err)
	}
	if _, err := chromedp.Call(ctx, network.Enable, network.EnableParams{}); err != nil {
		t.Fatal(err)
	}
	return ctx, func() (one []string) { mu.Lock(); defer mu.Unlock(); one, all = all, nil; return one }
}

// show opens a page from the disk in a theme at a width.
func show(t *testing.T, ctx context.Context, name, theme string, width int64) {
	t.Helper()
	path, err := filepath.Abs(filepath.Join(*pages, name+".html"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("%v: scripts/browser.sh makes the pages", err)
	}
	screen(t, ctx, theme, width)
	if err := chromedp.Do(ctx, chromedp.Navigate("file://"+path)); err != nil {
		t.Fatalf("%s: got %v, want the page opened", name, err)
	}
}

// screen sets the theme and the width of the screen.
func screen(t *testing.T, ctx context.Context, theme string, width int64) {
	t.Helper()
	scheme := []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: theme},
		{Name: "prefers-reduced-motion", Value: "reduce"}} // no colour is half of one theme
	if _, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: scheme}); err != nil {
		t.Fatal(err)
	}
	if err := chromedp.Do(ctx, chromedp.EmulateViewport(width, 900)); err != nil {
		t.Fatal(err)
	}
	// The page may learn its new size later.
	until(t, ctx, "the screen", fmt.Sprintf("innerWidth == %d", width))
}

// evaluate returns the value of an expression, or of its promise.
func evaluate[T any](t *testing.T, ctx context.Context, expression string) T {
	t.Helper()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		t.Fatalf("%.80s: %v", expression, err)
	}
	return v
}

// forms calls do with each report in both themes, at the width of a phone and of a desk.
func forms(do func(name, theme string, width int64)) {
	for _, name := range names {
		for _, theme := range []string{"light", "dark"} {
			for _, width := range []int64{390, 1440} {
				do(name, theme, width)
			}
		}
	}
}

const violations = `axe.run(document, {resultTypes: ["violations"]}).then(r => r.violations.flatMap(v =>
	v.nodes.map(n => v.id + " at " + n.target.join(" ") + ": " + n.failureSummary)))`

func TestReportsAreReadableByEverybody(t *testing.T) {
	ctx, said := reports(t)
	forms(func(name, theme string, width int64) {
		show(t, ctx, name, theme, width)
		if wide := evaluate[float64](t, ctx, `document.documentElement.scrollWidth`); wide > float64(width) {
			t.Errorf("%s, %s: got a page of %v px on a screen of %d, want no scrolling to the side", name, theme, wide, width)
		}
		if !evaluate[bool](t, ctx, `document.fonts.ready.then(() => document.fonts.check('16px "Source Sans 3"'))`) {
			t.Errorf("%s, %s: the font of the file is not in use, want it", name, theme)
		}
		// A column that takes the room of its neighbour leaves that one a letter for each line.
		if tall := evaluate[float64](t, ctx, `Math.max(0, ...[...document.querySelectorAll("th, td")].map(c => c.clientHeight))`); tall > 200 {
			t.Errorf("%s, %s, %d px: got a cell of %v px, want none higher than 200", name, theme, width, tall)
		}
		if *pictures != "" {
			picture(t, ctx, filepath.Join(*pictures, fmt.Sprintf("%s-%s-%d.png", name, theme, width)))
		}
		// The figures of the plots are judged too.
		evaluate[int](t, ctx, `document.querySelectorAll("details").forEach(d => d.open = true), 0`)
		if wide := evaluate[float64](t, ctx, `document.documentElement.scrollWidth`); wide > float64(width) {
			t.Errorf("%s, %s, with its tables: got a page of %v px on a screen of %d, want no scrolling to the side", name, theme, wide, width)
		}
		evaluate[int](t, ctx, axe+"; 0")
		for _, v := range evaluate[[]string](t, ctx, violations) {
			t.Errorf("%s, %s, %d px: %s", name, theme, width, v)
		}
	})
	if all := said(); len(all) > 0 {
		t.Errorf("got %q, want no message in the console and no request", all)
	}
}

// picture writes what the whole page looks like.
func picture(t *testing.T, ctx context.Context, path string) {
	t.Helper()
	png, err := chromedp.Run(ctx, chromedp.FullScreenshot(100))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, png, 0o600); err != nil {
		t.Fatal(err)
	}
}

var pageOfPDF = regexp.MustCompile(`/Type\s*/Page[^s]`)

func TestAReportPrintsToOnePageOfA4(t *testing.T) {
	ctx, _ := reports(t)
	for _, name := range names {
		show(t, ctx, name, "dark", 1440)
		pdf, err := chromedp.Run(ctx, chromedp.PrintToPDF(chromedp.PDFPreferCSSPageSize(), chromedp.PDFPrintBackground()))
		if err != nil {
			t.Fatal(err)
		}
		if *pictures != "" {
			if err := os.WriteFile(filepath.Join(*pictures, name+".pdf"), pdf, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if n := len(pageOfPDF.FindAll(pdf, -1)); n != 1 {
			t.Errorf("%s: got %d printed pages, want 1", name, n)
		}
		if box := regexp.MustCompile(`/MediaBox \[0 0 59[45]\S* 84[12]\S*\]`).Find(pdf); box == nil {
			t.Errorf("%s: got %q, want a page of A4", name, regexp.MustCompile(`/MediaBox[^]]*]`).Find(pdf))
		}
	}
}

// The README shows the report of ten million rows.
func TestThePictureOfTheREADMEIsMade(t *testing.T) {
	if *readme == "" {
		return // `make picture` asks for it
	}
	ctx, _ := reports(t)
	show(t, ctx, "large", "light", 900)
	if err := chromedp.Do(ctx, chromedp.EmulateViewport(900, 1010)); err != nil {
		t.Fatal(err)
	}
	png, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(*readme, png, 0o600); err != nil {
		t.Fatal(err)
	}
}
