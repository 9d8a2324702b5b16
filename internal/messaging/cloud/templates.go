package cloud

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"campaignd/internal/messaging"
	"campaignd/internal/rawjson"
)

const templateFields = "id,name,language,status,category,rejected_reason,parameter_format,components"

// Templates lists the templates of the account of a connection. A listing of this process or of
// another one is used again for a minute, and for a minute more for each page beyond the first.
func (c *Client) Templates(ctx context.Context, connectionID string) ([]messaging.TemplateRecord, error) {
	l, err := c.of(ctx, connectionID)
	if err != nil {
		return nil, err
	}
	q := everyTemplate(l.account.ID)
	return ask(ctx, c, &c.templates, q, q.templates)
}

// everyTemplate asks for all templates of an account.
func everyTemplate(account string) question {
	q := templatesOf(account, url.Values{"limit": {"100"}})
	q.waits = true
	q.age = func(calls int) time.Duration { return time.Duration(max(calls, 1)) * callSpacing }
	q.older = func(err error) bool { return throttled(err) || errors.Is(err, ErrAsked) }
	return q
}

// templatesOf asks for templates of an account.
func templatesOf(account string, query url.Values) question {
	query.Set("fields", templateFields)
	return question{account: account, edge: "message_templates", query: query}
}

func (q *question) templates(records []rawjson.Value) (all []messaging.TemplateRecord, err error) {
	for _, v := range records {
		t := templateOf(v)
		if t.Name == "" || t.Language == "" || t.Status == "" {
			return nil, messaging.BadAnswer(http.StatusOK, "",
				"GET "+q.account+"/message_templates: a template has no name, language or status", nil)
		}
		all = append(all, t)
	}
	return all, nil
}

func templateOf(v rawjson.Value) messaging.TemplateRecord {
	t := messaging.TemplateRecord{ID: v.Get("id").Text(), Reason: reasonOf(v), Name: v.Get("name").Text(),
		Language: messaging.FoldLanguage(v.Get("language").Text()), Status: strings.ToUpper(v.Get("status").Text()),
		Category: strings.ToUpper(v.Get("category").Text())}
	for m := v.Get("components").Members(); m.Next(); {
		part := messaging.Component{Type: strings.ToUpper(m.Val.Get("type").Text()),
			Format: strings.ToUpper(m.Val.Get("format").Text()), Text: m.Val.Get("text").Text()}
		example := m.Val.Get("example")
		part.Example.HeaderHandle, part.Example.HeaderText = textsOf(example.Get("header_handle")), textsOf(example.Get("header_text"))
		for row := example.Get("body_text").Members(); row.Next(); {
			part.Example.BodyText = append(part.Example.BodyText, textsOf(row.Val))
		}
		for b := m.Val.Get("buttons").Members(); b.Next(); {
			part.Buttons = append(part.Buttons, messaging.ComponentButton{Type: strings.ToUpper(b.Val.Get("type").Text()),
				Text: b.Val.Get("text").Text(), URL: b.Val.Get("url").Text(),
				PhoneNumber: b.Val.Get("phone_number").Text(), Example: textsOf(b.Val.Get("example"))})
		}
		t.Components = append(t.Components, part)
	}
	return t
}

// layout returns the template by which a message is written: the position of each button, and the
// names of variables. A template that the account does not list is returned with its name only: the
// platform then says why it refuses. Many templates in use are asked for less often.
func (c *Client) layout(ctx context.Context, account string, t *messaging.Template) (messaging.TemplateRecord, error) {
	q := templatesOf(account, url.Values{"limit": {"100"}, "name": {t.Name}})
	q.age = func(calls int) time.Duration {
		return max(layoutAge, time.Duration(c.layouts.inUse(account)*max(calls, 1))*callSpacing)
	}
	q.older = func(error) bool { return true } // messages are not slowed
	records, err := ask(ctx, c, &c.layouts, q, q.templates)
	if err != nil {
		return messaging.TemplateRecord{}, err
	}
	language := messaging.FoldLanguage(t.Language)
	for _, r := range records {
		if r.Name == t.Name && r.Language == language {
			return r, nil
		}
	}
	return messaging.TemplateRecord{Name: t.Name, Language: language}, nil
}
