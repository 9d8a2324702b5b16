package cloud

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"campaignd/internal/messaging"
	"campaignd/internal/rawjson"
)

const templateFields = "name,language,status,category,parameter_format,components"

// Templates lists the templates of the account of a connection.
func (c *Client) Templates(ctx context.Context, connectionID string) ([]messaging.TemplateRecord, error) {
	l, err := c.of(ctx, connectionID)
	if err != nil {
		return nil, err
	}
	return c.readTemplates(ctx, l.account.ID, url.Values{"limit": {"100"}})
}

// readTemplates reads templates of an account, and keeps their layouts.
func (c *Client) readTemplates(ctx context.Context, account string, query url.Values) ([]messaging.TemplateRecord, error) {
	query.Set("fields", templateFields)
	var records []messaging.TemplateRecord
	err := c.pages(ctx, account, account+"/message_templates", query,
		func() { records = nil }, func(v rawjson.Value) { records = append(records, templateOf(v)) })
	if err != nil {
		return nil, err
	}
	for _, t := range records {
		if t.Name == "" || t.Language == "" || t.Status == "" {
			return nil, messaging.BadAnswer(http.StatusOK, "", "GET "+account+"/message_templates: a template has no name, language or status", nil)
		}
	}
	c.layouts.keep(account, records)
	return records, nil
}

func templateOf(v rawjson.Value) messaging.TemplateRecord {
	t := messaging.TemplateRecord{Name: v.Get("name").Text(), Language: messaging.FoldLanguage(v.Get("language").Text()),
		Status: strings.ToUpper(v.Get("status").Text()), Category: strings.ToUpper(v.Get("category").Text())}
	for m := v.Get("components").Members(); m.Next(); {
		part := messaging.Component{Type: strings.ToUpper(m.Val.Get("type").Text()),
			Format: strings.ToUpper(m.Val.Get("format").Text()), Text: m.Val.Get("text").Text()}
		for b := m.Val.Get("buttons").Members(); b.Next(); {
			part.Buttons = append(part.Buttons, messaging.ComponentButton{Type: strings.ToUpper(b.Val.Get("type").Text()),
				Text: b.Val.Get("text").Text(), URL: b.Val.Get("url").Text()})
		}
		t.Components = append(t.Components, part)
	}
	return t
}

// layoutAge is how long a layout is used without another listing. A template that is edited is
// reviewed again first, and its refusal says what changed.
const layoutAge = time.Hour

// layouts keeps the templates by which messages are written: the position of each button, and the
// names of variables.
type layouts struct {
	mu sync.Mutex
	by map[layoutKey]kept
}

type layoutKey struct{ account, name, language string }

type kept struct {
	template messaging.TemplateRecord
	at       time.Time
}

func (s *layouts) keep(account string, records []messaging.TemplateRecord) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.by == nil {
		s.by = map[layoutKey]kept{}
	}
	for _, t := range records {
		s.by[layoutKey{account, t.Name, t.Language}] = kept{t, time.Now()}
	}
}

func (s *layouts) get(key layoutKey) (messaging.TemplateRecord, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k, ok := s.by[key]
	return k.template, ok && time.Since(k.at) < layoutAge
}

// layout returns the template of a message. A template that the account does not list is returned
// with its name only: the platform then says why it refuses.
func (c *Client) layout(ctx context.Context, account string, t *messaging.Template) (messaging.TemplateRecord, error) {
	key := layoutKey{account, t.Name, messaging.FoldLanguage(t.Language)}
	if found, ok := c.layouts.get(key); ok {
		return found, nil
	}
	c.listing.Lock() // one listing serves all messages that wait for it
	defer c.listing.Unlock()
	if found, ok := c.layouts.get(key); ok {
		return found, nil
	}
	records, err := c.readTemplates(ctx, account, url.Values{"limit": {"100"}, "name": {t.Name}})
	if err != nil {
		return messaging.TemplateRecord{}, err
	}
	for _, r := range records {
		if r.Name == key.name && r.Language == key.language {
			return r, nil
		}
	}
	none := messaging.TemplateRecord{Name: key.name, Language: key.language}
	c.layouts.keep(account, []messaging.TemplateRecord{none})
	return none, nil
}
