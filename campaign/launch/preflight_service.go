package launch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"campaignd/campaign/file"
	"campaignd/internal/messaging"
	"campaignd/internal/sentence"
)

// CheckService compares a campaign with what in.Service tells of its connections and its template,
// as a preflight does, and reads no list. The error is one that prevented the check.
func CheckService(ctx context.Context, in PreflightInput) ([]file.Finding, error) {
	c := &check{in: in, d: in.Definition, p: &Preflight{}, src: file.ReadSource(in.File, in.Source)}
	err := c.service(ctx)
	return c.p.Findings, err
}

// service compares the campaign with what the service tells.
func (c *check) service(ctx context.Context) error {
	known, err := c.in.Service.Connections(ctx)
	if err != nil {
		return fmt.Errorf("ask the service for its connections: %w", err)
	}
	numbers, err := c.in.Service.Numbers(ctx)
	offered := !errors.Is(err, messaging.ErrNotOffered)
	if err != nil && offered {
		c.say(file.KindConnection, "connections", "the service cannot be asked for its numbers now: "+err.Error(),
			"nothing is sent over a connection before it tells pace and tier, unless numbers.CONNECTION.rate and .tier are configured")
	}
	unasked := err != nil && offered // the pace may be told later
	c.p.known = known
	holders := map[string]bool{} // messaging.Connection.Files
	var ids []string
	for _, k := range known {
		ids = append(ids, k.ID)
	}
	for i, id := range c.d.Connections {
		at := slices.IndexFunc(known, func(k messaging.Connection) bool { return k.ID == id })
		path := fmt.Sprintf("connections[%d]", i)
		unlisted := func(kind file.Kind, what string) {
			remedy := reaches(ids)
			if near := sentence.Nearest(id, ids); near != "" {
				remedy = fmt.Sprintf("did you mean %q?", near)
			}
			c.say(kind, path, what, remedy)
		}
		templates, err := c.in.Service.Templates(ctx, id)
		if e := (*messaging.Error)(nil); errors.As(err, &e) && e.Status == http.StatusNotFound {
			unlisted(file.Fault, fmt.Sprintf("the service has no connection %q for this key", id))
			continue
		}
		if at < 0 {
			unlisted(file.KindConnection, fmt.Sprintf("the service lists no connection %q; "+
				"if the key does not reach it, its messages are refused and it is held", id))
			known = append(known, messaging.Connection{ID: id})
			at = len(known) - 1
		}
		n, told := messaging.Number{}, false
		if j := slices.IndexFunc(numbers, func(n messaging.Number) bool { return n.ConnectionID == id }); j >= 0 {
			n, told = numbers[j], true
		}
		if f := known[at].Files; f != "" {
			holders[f] = true
		}
		c.connection(id, known[at], n, told || unasked)
		if err := c.template(id, templates, err); err != nil {
			return err
		}
	}
	if kind, m := c.d.Template.Header.Media(); len(holders) > 1 && m != nil && m.AssetID+m.ID != "" {
		c.say(file.Fault, "template.header."+kind, fmt.Sprintf("over the Cloud API one number alone can send a stored file, and this "+
			"campaign has %d", len(holders)), "give file: it is uploaded for each number")
	}
	return nil
}

// reaches lists the connections that the API key reaches, at most twelve.
func reaches(ids []string) string {
	const most = 12
	switch {
	case len(ids) == 0:
		return "it reaches none; check service.api_key"
	case len(ids) > most:
		return fmt.Sprintf("it reaches %s and %d more", strings.Join(ids[:most], ", "), len(ids)-most)
	}
	return "it reaches " + strings.Join(ids, ", ")
}

// connection adds what is known of one connection. told is false if the service could be asked for
// its pace and did not tell it.
func (c *check) connection(id string, k messaging.Connection, n messaging.Number, told bool) {
	company := k.CompanyID
	if c.in.Company != nil {
		company = cmp.Or(c.in.Company(id), company)
	}
	c.companies = append(c.companies, company)
	pace, configured := defaultPace(n), false
	if c.in.Rate != nil && c.in.Rate(id) > 0 {
		pace, configured = defaultPace(messaging.Number{Throughput: c.in.Rate(id), Coexistence: n.Coexistence}), true
	}
	phone := cmp.Or(k.Phone, n.Phone)
	e := ConnectionCheck{ID: id, Phone: phone, Quality: n.Quality, Tier: n.Tier, Coexistence: n.Coexistence,
		Throughput: n.Throughput, Pace: pace}
	c.p.Connections = append(c.p.Connections, e)
	c.p.Pace += e.Pace
	if key := senderKey(phone); key != 0 {
		c.p.Senders = append(c.p.Senders, key)
	}
	path, tier := fmt.Sprintf("connections[%d]", slices.Index(c.d.Connections, id)), n.TierLimit
	if c.in.Tier != nil && c.in.Tier(id) != 0 {
		tier = c.in.Tier(id)
	} else if n.TierAssumed {
		c.say(file.KindConnection, path,
			fmt.Sprintf("the platform tells no tier of %s: %d people in 24 hours are counted, as for a new number", id, tier),
			fmt.Sprintf("set numbers.%s.tier if the platform's manager shows another limit", id))
	}
	if tier > 0 {
		c.tiers += tier
	} else {
		c.noTier = true
	}
	if !told && !configured {
		c.say(file.KindConnection, path,
			fmt.Sprintf("the service does not tell the throughput of %s: 80 messages per second (STANDARD) are assumed", id),
			fmt.Sprintf("set numbers.%s.rate if it is less; a number that the business app uses too has 20", id))
	}
	if n.Quality == "RED" {
		c.say(file.KindConnection, path,
			"the quality of this number is low (RED): more blocks and reports may get it restricted",
			"send first to people who expect the message")
	}
	switch status := strings.ToUpper(k.Status); status {
	case "", "ACTIVE", "CONNECTED", "ENABLED", "LIVE", "OK":
	default:
		c.say(file.KindConnection, path,
			fmt.Sprintf("the service says that this connection is %s", strings.ToLower(k.Status)),
			"check it at the service before sending")
	}
}

// template checks the campaign against the templates of one account, or says why they are not
// known.
func (c *check) template(id string, all []messaging.TemplateRecord, err error) error {
	if errors.Is(err, messaging.ErrNotOffered) {
		c.say(file.KindTemplate, "template.name",
			"the service lists no templates, so its approval and variables cannot be checked",
			"send one with `campaignd test` first")
		return nil
	}
	if err != nil {
		return fmt.Errorf("ask the service for the templates of %s: %w", id, err)
	}
	t := file.FindTemplate(&c.d.Template, all, id, c.say)
	if t == nil {
		return nil
	}
	file.CheckRecord(&c.d.Template, t, id, c.say)
	if c.p.Template == nil { // the templates of the other accounts have the same buttons, or the run differs anyway
		c.p.QuickReplies = file.QuickReplies(&c.d.Template, t, c.in.OptOut)
	}
	file.CheckOptOut(&c.d.Template, t, c.in.OptOut, c.say)
	file.CheckLink(c.d, t, id, c.say)
	if c.p.Template == nil {
		c.p.Template, c.listedBy = t, id
	}
	file.CheckOrder(c.p.Template, t, c.listedBy, id, c.say)
	// Two accounts may give the same name different categories: opt-outs apply if they do in one of
	// them.
	if t.Category == marketing || c.p.Template == t {
		c.p.Category = cmp.Or(t.Category, c.p.Category)
	}
	return nil
}
