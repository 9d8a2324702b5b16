package console

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"embed"
	"fmt"
	"html/template"
	"io/fs"
	"net/http"
	"path"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	"campaignd/campaign"
	"campaignd/internal/operator"
	"campaignd/internal/plot"
)

//go:embed pages
var pageFiles embed.FS

// pages are the templates, each with the layout around it.
type pages map[string]*template.Template

// titled is a view that has a title of its own, and not the name of its page in the navigation.
type titled interface{ Title() string }

// frame is what the layout shows around a view.
type frame struct {
	Title  string
	Groups []navGroup
	Who    string // "": nobody is signed in
	Said   string
	View   any
}

type navGroup struct {
	Name  string
	Links []navLink
}

type navLink struct {
	Name, Path string
	Current    bool
	Count      int64 // of what the page lists; 0: it is not counted, or there is none
	Warn       bool  // it stops something
}

// parsePages parses every page once.
func parsePages(a *assets) (pages, error) {
	layout, err := template.New("layout.html").Funcs(template.FuncMap{
		"asset": a.path, "count": plot.Count, "percent": plot.Percent, "when": when, "stamp": stamp, "sentence": sentence, "clip": clip,
		"state": stateOf, "word": word, "rate": rate, "base": base, "day": day, "place": place, "several": several,
	}).ParseFS(pageFiles, "pages/layout.html", "pages/parts.html")
	if err != nil {
		return nil, err
	}
	names, err := fs.Glob(pageFiles, "pages/*.html")
	if err != nil {
		return nil, err
	}
	all := pages{}
	for _, name := range names {
		base := strings.TrimSuffix(path.Base(name), ".html")
		if base == "layout" || base == "parts" {
			continue
		}
		one, err := layout.Clone()
		if err == nil {
			_, err = one.ParseFS(pageFiles, name)
		}
		if err != nil {
			return nil, err
		}
		all[base] = one
	}
	return all, nil
}

// render answers with a page.
func (s *Server) render(w http.ResponseWriter, r *http.Request, who operator.Caller, status int, name string, view any) {
	f := frame{Title: s.titleOf(name, view), Who: who.By, View: view, Said: said(w, r)}
	if who.By != "" {
		f.Groups = s.navigation(r.Context(), who, r.URL.Path)
	}
	var b bytes.Buffer
	if err := s.pages[name].Execute(&b, f); err != nil {
		s.process.Log.Error("a page of the console failed", "page", name, "err", err)
		http.Error(w, "This page has a fault; the log of campaignd has it.", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	text := bytes.Map(shown, b.Bytes())
	// The secret of a new key is on the answer to a form, which is not compressed: a length tells
	// something of a text that has a secret and a value of somebody else.
	w.Header().Set("Vary", "Accept-Encoding")
	if r.Method != http.MethodGet || len(text) < leastCompressed || !strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		w.WriteHeader(status)
		_, _ = w.Write(text) // an error means that the browser has gone
		return
	}
	w.Header().Set("Content-Encoding", "gzip")
	w.WriteHeader(status)
	z, _ := gzip.NewWriterLevel(w, gzip.BestSpeed) // the level is one
	_, _ = z.Write(text)                           // as above
	_ = z.Close()
}

// titleOf is the title of a page with a view.
func (s *Server) titleOf(page string, view any) string {
	if t, ok := view.(titled); ok {
		return t.Title()
	}
	for i := range s.routes {
		if r := &s.routes[i]; r.page == page && r.nav != "" {
			return r.nav
		}
	}
	return ""
}

// leastCompressed is the length from which a page is compressed, in bytes.
const leastCompressed = 8 << 10

// shown replaces characters that hide or turn the text around them, such as those that change the
// direction of writing. It holds for all values of all pages.
func shown(r rune) rune {
	if r == '\n' || unicode.IsGraphic(r) && r != unicode.ReplacementChar {
		return r
	}
	if unicode.IsSpace(r) {
		return ' '
	}
	return '·'
}

// counts are the unfinished runs and the holds in force, for the navigation.
func (s *Server) counts(ctx context.Context, who operator.Caller) (runs, holds int64) {
	ctx, cancel := context.WithTimeout(ctx, slowestCount)
	defer cancel()
	d := s.process.For(who)
	if all, err := d.Runs(ctx, campaign.RunFilter{Unfinished: true}); err == nil {
		runs = int64(len(all))
	}
	if all, err := d.Holds(ctx, false); err == nil {
		holds = int64(len(all))
	}
	return runs, holds
}

// slowestCount is the longest time that a page waits for the counts of its navigation.
const slowestCount = 500 * time.Millisecond

// navigation lists the pages that the visitor may see.
func (s *Server) navigation(ctx context.Context, who operator.Caller, at string) []navGroup {
	var out []navGroup
	runs, holds := s.counts(ctx, who)
	for i := range s.routes {
		r := &s.routes[i]
		if r.nav == "" || r.allows(who) != nil {
			continue
		}
		if n := slices.IndexFunc(out, func(g navGroup) bool { return g.Name == r.group }); n < 0 {
			out = append(out, navGroup{Name: r.group})
		}
		g := &out[slices.IndexFunc(out, func(g navGroup) bool { return g.Name == r.group })]
		link := navLink{Name: r.nav, Path: r.path, Current: at == r.path || strings.HasPrefix(at, r.path+"/")}
		switch r.path {
		case "/console/runs":
			link.Count = runs
		case "/console/holds":
			link.Count, link.Warn = holds, true
		}
		g.Links = append(g.Links, link)
	}
	return out
}

// when writes a time for people; times are in UTC.
func when(t any) string {
	at := timeOf(t)
	switch {
	case at.IsZero():
		return "–"
	case time.Since(at).Abs() < 24*time.Hour && at.UTC().Day() == time.Now().UTC().Day():
		return at.UTC().Format("15:04 UTC")
	case time.Since(at).Abs() < 300*24*time.Hour:
		return at.UTC().Format("2 Jan, 15:04 UTC")
	}
	return at.UTC().Format("2 Jan 2006, 15:04 UTC")
}

// day writes a day of UTC.
func day(t time.Time) string { return t.UTC().Format("Mon 2 Jan (UTC)") }

// stamp writes a time for programs.
func stamp(t any) string { return timeOf(t).UTC().Format(time.RFC3339) }

func timeOf(t any) time.Time {
	switch t := t.(type) {
	case time.Time:
		return t
	case *time.Time:
		if t != nil {
			return *t
		}
	}
	return time.Time{}
}

// command is the part of a sentence that names a command for what a button of the page does.
var command = regexp.MustCompile("; `campaignd [^`]*` (?:ends it earlier|lifts it)" +
	"|; only an operator ends it: `campaignd holds lift [^`]*`|(?:; only an operator ends it)?: `campaignd [^`]*`$")

// sentence makes a sentence of a message that begins in lower case.
func sentence(s string) string {
	if s = command.ReplaceAllString(s, ""); s == "" {
		return ""
	}
	r := []rune(s)
	if name, _, _ := strings.Cut(s, " "); !strings.ContainsAny(strings.TrimSuffix(name, ":"), "_-0123456789.:`\"") && name != "campaignd" {
		r[0] = unicode.ToUpper(r[0])
	}
	if last := r[len(r)-1]; last != '.' && last != '`' && last != '!' && last != '?' {
		return string(r) + "."
	}
	return string(r)
}

// maxName is the most characters of a value in a table.
const maxName = 120

func clip(s any) string { return plot.Text(fmt.Sprint(s), maxName) }

// place is where a finding of a list is, if that has a line: bad.csv:14. A place in a campaign file
// has a column too, and the page has no such file.
func place(where string) string {
	if !withLine.MatchString(where) || withColumn.MatchString(where) {
		return ""
	}
	return where
}

var (
	withLine   = regexp.MustCompile(`:[0-9]+$`)
	withColumn = regexp.MustCompile(`:[0-9]+:[0-9]+$`)
)

// base is the name of a file without its folder, which is one of the server.
func base(s string) string { return path.Base(strings.ReplaceAll(s, `\`, "/")) }

// several is a count with its noun.
func several(n any, one, many string) string {
	if v := reflect.ValueOf(n).Int(); v != 1 {
		return plot.Count(v) + " " + many
	}
	return "1 " + one
}

func word(s any) string { return strings.ReplaceAll(fmt.Sprint(s), "_", " ") }

func rate(f float64) string { return strings.TrimSuffix(fmt.Sprintf("%.1f", f), ".0") }

// pill is a state as pages show it: a shape and a word.
type pill struct{ Kind, Word string }

func stateOf(s any) pill {
	text := fmt.Sprint(s)
	kind := map[string]string{
		string(campaign.Running): "go", string(campaign.Ready): "go", string(campaign.Importing): "go",
		string(campaign.Paused): "wait", string(campaign.WaitingApproval): "wait", "waiting": "wait", "pending": "wait",
		string(campaign.Finished): "done", string(campaign.Delivered): "done", string(campaign.Read): "done", "settled": "done",
		"launched":                      "go",
		string(campaign.RunStateFailed): "stop", string(campaign.Refused): "stop", "dead": "stop", "rejected": "stop",
		string(campaign.InDoubt): "doubt", string(campaign.Unknown): "doubt",
		string(campaign.ByThroughput): "go", string(campaign.ByRunRate): "go", string(campaign.ByShare): "wait", string(campaign.ByHold): "stop",
		string(campaign.ByPause): "wait", string(campaign.ByWindow): "wait", string(campaign.ByTier): "wait",
		string(campaign.ByAllowance): "wait",
		string(campaign.ByRamp):      "wait", string(campaign.ByUnreachable): "stop", string(campaign.ByLedger): "stop",
		string(campaign.ByLimiter): "stop", string(campaign.ByInFlight): "go", "GREEN": "done", "YELLOW": "wait", "RED": "stop", "in force": "go",
		approved: "done", "PAUSED": "wait", "PENDING": "wait", "REJECTED": "stop", "DISABLED": "stop",
		"revoked": "quiet", "sent": "done", "accepted": "go", "sending": "go", "next": "go",
	}[text]
	kind = cmp.Or(kind, "quiet")
	words := map[string]string{string(campaign.ByNone): "not limited", string(campaign.WaitingApproval): "waiting for approval"}
	return pill{kind, cmp.Or(words[text], word(text))}
}
