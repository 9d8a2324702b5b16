package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"campaignd/internal/commerce"
	"campaignd/internal/config"
)

// Connection is a call of ConnectCommerce.
type Connection struct {
	// RedirectURI is the address that the platform calls back after an installation. The listener
	// serves its path.
	RedirectURI string
	// Listen is the address of the listener, HOST:PORT; "" means listen.public.
	Listen string
	// Started, if not nil, gets the URL at which the listener takes the callback.
	Started func(url string)
	// Refused, if not nil, gets why a callback was refused; the next one is waited for.
	Refused func(err error)
	Log     *slog.Logger
}

// ConnectCommerce waits for the callback of an installation on the public listener, exchanges its
// code for a token, and keeps the token in the file config.CommerceToken
// (docs/commerce.md#installation). It blocks until a right callback came, or ctx ended. The error
// is a *commerce.Error if the platform refused the code.
func ConnectCommerce(ctx context.Context, cfg *config.Config, o Connection) error {
	if cfg.Commerce.ClientID == "" {
		return errors.New("commerce.client_id is empty: set client_id and client_secret of the application; " +
			"a key of your own company needs no connect")
	}
	path, err := callbackPath(o.RedirectURI)
	if err != nil {
		return err
	}
	file := cfg.CommerceToken()
	if file == "" {
		return errors.New("data_dir is empty, so there is no place for the token: set it")
	}
	if err := writable(filepath.Dir(file)); err != nil { // the code works once
		return fmt.Errorf("the token could not be kept: %w", err)
	}
	client, err := commerce.New(config.CommerceOptions(cfg, o.Log))
	if err != nil {
		return err
	}
	defer client.Close()
	c := &callbacks{client: client, company: cfg.Commerce.Company, file: file, refused: o.Refused, done: make(chan error, 1),
		application: commerce.Application{ClientID: cfg.Commerce.ClientID, ClientSecret: cfg.Commerce.ClientSecret, RedirectURI: o.RedirectURI}}
	address := cmp.Or(o.Listen, cfg.Listen.Public)
	l, err := bind(ctx, "listen.public", address, public(publicRoute{path, c}))
	if err != nil {
		return err
	}
	if err := l.secure(cfg.Listen.PublicTLS, o.Log); err != nil {
		return errors.Join(err, l.ln.Close())
	}
	if o.Started != nil {
		o.Started(l.url() + path)
	}
	serving, stop := context.WithCancel(ctx)
	defer stop()
	served := make(chan error, 1)
	go func() { served <- l.serve(serving, 5*time.Second) }()
	select {
	case err = <-c.done:
	case <-ctx.Done():
		err = ctx.Err()
	case err = <-served:
		return err
	}
	stop()
	return errors.Join(err, <-served)
}

// writable reports whether a file can be made in a folder.
func writable(folder string) error {
	f, err := os.CreateTemp(folder, "commerce.*")
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// callbacks is the handler of the address that the platform calls back.
type callbacks struct {
	client      *commerce.Client
	application commerce.Application
	company     string
	file        string
	refused     func(error)

	mu   sync.Mutex // one exchange at a time
	over bool
	done chan error
}

// ServeHTTP implements http.Handler. A right callback ends the command, also if its code is
// refused. A wrong one may come from anybody, so the command goes on.
func (c *callbacks) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Referrer-Policy", "no-referrer") // the address has the code
	if r.Method != http.MethodGet {
		http.Error(w, "a callback is a GET", http.StatusMethodNotAllowed)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over {
		http.Error(w, "the application is connected already", http.StatusConflict)
		return
	}
	callback, err := c.application.Callback(r.URL.RawQuery, c.company, time.Now())
	if err != nil {
		if c.refused != nil {
			c.refused(err)
		}
		http.Error(w, sentenceOf(err), http.StatusBadRequest)
		return
	}
	// The exchange ends although the person closes the page: the code works once. It has the time-out
	// of the client.
	token, err := c.client.Exchange(context.WithoutCancel(r.Context()), c.application, callback.Code)
	if err == nil {
		err = commerce.KeepToken(c.file, token)
	}
	c.over = true
	c.done <- err
	switch {
	case err != nil:
		http.Error(w, sentenceOf(err), http.StatusBadGateway)
	case callback.RedirectTo != "":
		http.Redirect(w, r, callback.RedirectTo, http.StatusSeeOther)
	default:
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = w.Write([]byte("The application is connected. This page can be closed.\n"))
	}
}

// sentenceOf is an error for the page, which a stranger may see.
func sentenceOf(err error) string {
	var e *commerce.Error
	if errors.As(err, &e) {
		return e.Code.Sentence()
	}
	return "the token could not be kept"
}
