package console

import (
	"encoding/base64"
	"errors"
	"net/http"
	"strings"

	"campaignd/internal/operator"
	"campaignd/internal/plot"
)

// signInView is the page on which a key is given.
type signInView struct {
	To     string // the page that was asked for
	Wrong  string // why a sign-in failed
	Closed bool   // no key may travel over this connection
	Token  string // of `campaignd console`
}

// Title implements titled.
func (v signInView) Title() string {
	if v.Token != "" {
		return "Open the console"
	}
	return "Sign in"
}

// target is a page of the console that a sign-in leads to.
func target(asked string) string {
	if strings.HasPrefix(asked, "/console/") && !strings.ContainsAny(asked, "\\\r\n") && len(asked) < 2000 {
		return asked
	}
	return "/console/overview"
}

func (s *Server) signInPage(w http.ResponseWriter, r *http.Request) {
	s.render(w, r, operator.Caller{}, http.StatusOK, "signin", signInView{To: target(r.URL.Query().Get("to")), Closed: !s.mayCarry(r)})
}

// enterPage has the button that posts the token of `campaignd console`. Opening the page does not
// use the token up, so a browser that loads addresses ahead does no harm.
func (s *Server) enterPage(w http.ResponseWriter, r *http.Request) {
	s.render(w, r, operator.Caller{}, http.StatusOK, "enter",
		signInView{To: target(""), Closed: !s.mayCarry(r), Token: r.URL.Query().Get("token")})
}

// signIn exchanges a key, or a token, for a session. The session of the browser before it ends.
func (s *Server) signIn(w http.ResponseWriter, r *http.Request) {
	view := signInView{To: target(r.PostFormValue("to")), Closed: !s.mayCarry(r)}
	if view.Closed {
		s.render(w, r, operator.Caller{}, http.StatusForbidden, "signin", view)
		return
	}
	var secret string
	var err error
	if token := r.PostFormValue("token"); token != "" {
		secret, err = s.process.SignInOnce(r.Context(), r.RemoteAddr, token)
		view.Wrong = "This link was used already, or it is older than a minute. Run `campaignd console` again, or sign in with a key."
	} else {
		secret, err = s.process.SignIn(r.Context(), r.RemoteAddr, strings.TrimSpace(r.PostFormValue("key")))
		view.Wrong = "This is no key in force. A key begins with cpd_; the operator of campaignd makes one with `campaignd keys create`."
	}
	if errors.Is(err, operator.ErrUnauthorized) {
		s.render(w, r, operator.Caller{}, http.StatusUnauthorized, "signin", view)
		return
	}
	if err == nil {
		if old, none := r.Cookie(cookie); none == nil {
			err = s.process.SignOut(r.Context(), old.Value)
		}
	}
	if err != nil {
		s.fail(w, r, operator.Caller{}, err)
		return
	}
	setCookie(w, cookie, secret, operator.SessionFor)
	http.Redirect(w, r, view.To, http.StatusSeeOther)
}

func (s *Server) signOut(w http.ResponseWriter, r *http.Request) {
	if c, err := r.Cookie(cookie); err == nil && !foreign(r) {
		if err := s.process.SignOut(r.Context(), c.Value); err != nil {
			s.fail(w, r, operator.Caller{}, err)
			return
		}
	}
	setCookie(w, cookie, "", 0)
	http.Redirect(w, r, "/console/sign-in", http.StatusSeeOther)
}

// saidCookie has the sentence that the next page shows. Another site cannot set it.
const saidCookie = "__Host-campaignd-said"

// The most characters and bytes of that sentence.
const (
	mostSaid = 500
	maxSaid  = 4*mostSaid + 4
)

func say(w http.ResponseWriter, text string) {
	if text != "" {
		setCookie(w, saidCookie, base64.RawURLEncoding.EncodeToString([]byte(plot.Text(text, mostSaid))), operator.SessionFor)
	}
}

// said returns the sentence of the form before, and forgets it.
func said(w http.ResponseWriter, r *http.Request) string {
	c, err := r.Cookie(saidCookie)
	if err != nil {
		return ""
	}
	setCookie(w, saidCookie, "", 0)
	text, err := base64.RawURLEncoding.DecodeString(c.Value)
	if err != nil || len(text) > maxSaid {
		return ""
	}
	return string(text)
}
