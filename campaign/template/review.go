package template

import (
	"context"
	"fmt"
	"time"

	"campaignd/internal/messaging"
	"campaignd/internal/sentence"
)

// Lister lists the templates of the account of a connection.
type Lister interface {
	Templates(ctx context.Context, connectionID string) ([]messaging.TemplateRecord, error)
}

// NotFoundError says that the service lists no such template, or several with the name.
type NotFoundError struct{ What, Remedy string }

func (e *NotFoundError) Error() string { return e.What + "; " + e.Remedy }

// Find returns the template of a name and a language. language may be "" if the name has one only.
func Find(all []messaging.TemplateRecord, name, language string) (messaging.TemplateRecord, error) {
	var found []messaging.TemplateRecord
	var names, languages []string
	for _, t := range all {
		if t.Name != name {
			names = append(names, t.Name)
			continue
		}
		languages = append(languages, t.Language)
		if language == "" || t.Language == messaging.FoldLanguage(language) {
			found = append(found, t)
		}
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(languages) > 0:
		what := fmt.Sprintf("the service lists %s in %s", name, sentence.Count(len(languages), "language", "languages"))
		return messaging.TemplateRecord{}, &NotFoundError{what, "give --language, " + sentence.DidYouMean(language, languages)}
	}
	remedy := "`campaignd templates list` lists its templates"
	if near := sentence.Nearest(name, names); near != "" {
		remedy = fmt.Sprintf("did you mean %q?", near)
	}
	return messaging.TemplateRecord{}, &NotFoundError{fmt.Sprintf("the service lists no template %q", sentence.Shorten(name, 60)), remedy}
}

// AwaitReview asks for the template every so often until it is no longer reviewed, and returns it.
// When ctx ends it returns the template as it was listed last, and the error of ctx. A service that
// does not answer is asked again, once it has listed the template.
func AwaitReview(ctx context.Context, s Lister, connection, name, language string, every time.Duration) (messaging.TemplateRecord, error) {
	var last messaging.TemplateRecord
	for {
		all, err := s.Templates(ctx, connection)
		if err == nil {
			last, err = Find(all, name, language)
		}
		switch {
		case ctx.Err() != nil:
			return last, ctx.Err()
		case err != nil && last.Name == "":
			return last, err
		case err == nil && decided(last.Status):
			return last, nil
		}
		select {
		case <-ctx.Done():
			return last, ctx.Err()
		case <-time.After(every):
		}
	}
}

// decided reports whether a status is the end of a review; another one, such as PENDING, is not.
func decided(status string) bool {
	switch status {
	case "APPROVED", "REJECTED", "PAUSED", "DISABLED":
		return true
	}
	return false
}
