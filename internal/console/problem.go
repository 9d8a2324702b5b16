package console

import (
	"context"
	"errors"
	"net/http"
	"path"
	"regexp"
	"strings"

	"campaignd/campaign"
	"campaignd/campaign/launch"
	"campaignd/internal/messaging"
	"campaignd/internal/operator"
	"campaignd/internal/uploads"
)

// problem is a failure that a page shows.
type problem struct {
	status   int
	sentence string
}

func (p *problem) Error() string { return p.sentence }

// problemOf turns an error into what a page shows.
func problemOf(ctx context.Context, err error) *problem {
	var mine *problem
	var large *http.MaxBytesError
	var upload *uploads.Fault
	switch {
	case errors.As(err, &mine):
		return mine
	case errors.As(err, &large):
		return &problem{http.StatusRequestEntityTooLarge, "The form is too large."}
	case errors.As(err, &upload):
		return &problem{uploadStatus[upload.Kind], faultSentence(upload)}
	case errors.Is(err, campaign.ErrFull):
		return &problem{http.StatusInsufficientStorage, "The disk of the ledger is full, so nothing can be recorded and nothing is sent. " +
			"Ask the operator of campaignd to make room, then try again."}
	case errors.Is(err, operator.ErrUnauthorized):
		return &problem{http.StatusUnauthorized, "You are not signed in, so nothing was done. Sign in and try again."}
	case errors.Is(err, operator.ErrTooMany):
		return &problem{http.StatusTooManyRequests, "Too many wrong keys came from your address. Wait a minute, then try again."}
	case operator.Absent(err):
		return &problem{http.StatusNotFound, forPage(err)}
	case errors.Is(err, operator.ErrForbidden):
		return &problem{http.StatusForbidden, forPage(err)}
	case errors.Is(err, campaign.ErrNotNow), errors.Is(err, launch.ErrNobody), errors.Is(err, operator.ErrSamePerson),
		errors.Is(err, operator.ErrRepeated):
		return &problem{http.StatusConflict, forPage(err)}
	case errors.Is(err, operator.ErrInvalid):
		return &problem{http.StatusBadRequest, forPage(err)}
	case ctx.Err() != nil:
		return &problem{http.StatusServiceUnavailable, "campaignd is stopping. Try again in a moment."}
	}
	if refused, _ := launch.RefusalOf(err); refused != "" {
		return &problem{http.StatusConflict, forPage(err)}
	}
	var service *messaging.Error
	if errors.Is(err, operator.ErrService) || errors.As(err, &service) {
		told := strings.TrimPrefix(forPage(err), "The messaging service: ")
		return &problem{http.StatusBadGateway, "The messaging service does not answer as it should. " + sentence(told)}
	}
	return nil
}

// forShell is the end of a message that names a command or a flag, which a page does not have.
var forShell = regexp.MustCompile("; (?:see |in )?`campaignd [^`]*`.*$" +
	"|, or `campaignd approve [^`]*` on the machine of the ledger$|; choose another with --row$")

// forPage is the sentence of an error without what is for the shell.
func forPage(err error) string { return sentence(forShell.ReplaceAllString(err.Error(), "")) }

// fail answers with a page that says what went wrong. The log has what the page does not tell.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, who operator.Caller, err error) {
	p := problemOf(s.ctx, err)
	if p == nil {
		s.process.Log.Error("a request of the console failed", "path", r.URL.Path, "err", err)
		p = &problem{http.StatusServiceUnavailable, "The ledger does not answer. Nothing is lost; this page tries again by itself."}
		if r.Method != http.MethodGet {
			p.sentence = "The ledger does not answer, so this may not have been done. Go back in a moment, and look."
		}
	}
	if p.status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "5")
		if r.Method == http.MethodGet {
			w.Header().Set("Refresh", "5")
		}
	}
	if p.status == http.StatusUnauthorized || p.status == http.StatusForbidden {
		w.Header().Set("Connection", "close")
	}
	s.render(w, r, who, p.status, "problem", problemView{p.status, p.sentence, who.By != "", backFrom(r)})
}

// backFrom is the page that a form which was refused is on, and of a step of a new campaign that
// cannot be shown the page of its list; "": there is none.
func backFrom(r *http.Request) string {
	page, action := path.Split(r.URL.Path)
	switch {
	case r.Method != http.MethodPost && (r.PathValue("draft") == "" || action == "list"):
		return ""
	case r.Method != http.MethodPost:
		return page + "list" // what is wrong with a draft is mended there
	case r.URL.Path == "/console/new":
		return r.URL.Path
	case r.PathValue("draft") == "":
		return strings.TrimSuffix(page, "/")
	case action == "test":
		return page + "check"
	case action == "part":
		return page + "list"
	}
	return r.URL.Path // a step of a new campaign has its form at its own address
}

type problemView struct {
	Status   int
	Sentence string
	Known    bool   // the visitor is signed in
	Back     string // the page that the form is on; "": there was none
}

// Title implements titled.
func (v problemView) Title() string {
	switch v.Status {
	case http.StatusNotFound:
		return "Not found"
	case http.StatusForbidden:
		return "Not allowed"
	case http.StatusUnauthorized:
		return "Signed out"
	case http.StatusServiceUnavailable:
		return "Not available now"
	}
	return "It was not done"
}
