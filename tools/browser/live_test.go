package browser

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// done is how many rows have an outcome on the page of a run.
const done = `Number(document.querySelector(".figure").firstChild.textContent.replace(/\\D/g, ""))`

// A page that is open goes on after serve was killed and started again: nothing is reloaded, no
// figure goes back, and what a person does on the page stays.
func TestAPageThatIsOpenStaysAlive(t *testing.T) {
	t.Parallel()
	s := serve(t, false)
	s.write("campaigns/winter.yaml", strings.Replace(winter, "approval: true", "approval: false", 1)+"limits: {rate: 20}\n")
	var list strings.Builder
	list.WriteString("phone,first_name,discount,slug\n")
	for i := range 5000 {
		fmt.Fprintf(&list, "+23480455%05d,Nia,15 %%,s%d\n", i, i)
	}
	s.write("list.csv", list.String())
	ctx, _ := start(t, s.console)
	h := &hand{s, ctx, false, true}
	h.signIn(s.key("ann", "operate"))
	s.run("launch", s.path("campaigns/winter.yaml"), "--recipients", s.path("list.csv"))
	h.open(ctx, "/console/runs/winter-1")
	evaluate[bool](t, ctx, "window.before = true")
	h.fill("Weight, 1 to 100", "7")
	evaluate[int](t, ctx, `getSelection().selectAllChildren(document.querySelector("h1")), scrollTo(0, 120), 0`)
	grows := func(what string, within time.Duration) {
		t.Helper()
		was := evaluate[float64](t, ctx, done)
		for end := time.Now().Add(within); ; {
			got := evaluate[float64](t, ctx, done)
			if got < was {
				t.Fatalf("%s: the figure went back from %v to %v", what, was, got)
			}
			if got > was {
				return
			}
			if time.Now().After(end) {
				t.Fatalf("%s: the figure stays %v for %v, want it to change", what, was, within)
			}
			if err := chromedp.Do(ctx, chromedp.WaitReady("body")); err != nil {
				t.Fatal(err)
			}
		}
	}
	grows("at the beginning", 20*time.Second)
	for range 5 {
		grows("while it sends", 4*time.Second) // 2 on a machine that has nothing else to do
	}
	if err := s.process.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_, _ = s.process.Process.Wait() // killed
	s.start()
	grows("after a kill", 30*time.Second)
	state := evaluate[string](t, ctx, `[window.before, document.activeElement.id, document.activeElement.value,
		getSelection().toString().trim(), scrollY].join(" ")`)
	if want := "true weight 7 winter-1 120"; state != want {
		t.Errorf("got %q, want %q: no reload, the focus, the text, the selection and the place as they were", state, want)
	}
}
