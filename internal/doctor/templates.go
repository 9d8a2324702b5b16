package doctor

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"campaignd/campaign/file"
	"campaignd/campaign/launch"
	"campaignd/internal/config"
	"campaignd/internal/messaging"
	"campaignd/internal/operator"
	"campaignd/internal/sentence"
)

// checkTemplates asks the service for the connections and the template of each scheduled campaign,
// as a launch does.
func checkTemplates(ctx context.Context, cfg *config.Config, files []operator.File) (checks []Check) {
	const name = "templates"
	if cfg.CanSend() != nil {
		return []Check{unchecked(name, "change the configuration", "without a service no scheduled campaign can be compared with it")}
	}
	clients, err := config.NewConnectors(cfg)
	if err != nil {
		return []Check{unchecked(name, "change the configuration", "%s", messaging.ScrubError(err, 300))}
	}
	defer clients.Close()
	s, err := askOnce(ctx, clients)
	if err != nil {
		return []Check{unchecked(name, "look again when the service answers", "%s", messaging.ScrubError(err, 300))}
	}
	looked := 0
	for i := range files {
		f := &files[i]
		if f.Cron == nil {
			continue
		}
		found, err := launch.CheckService(ctx, launch.PreflightInput{Definition: f.Definition, File: f.Path, Service: s,
			Rate: cfg.Rate, Tier: cfg.Tier, Company: cfg.Company, OptOut: cfg.OptOut()})
		if err != nil {
			checks = append(checks, unchecked(name, "look again when the service answers", "%s: %s", f.Path, messaging.ScrubError(err, 300)))
			continue
		}
		looked++
		missing := s.missing(ctx, f)
		checks = append(checks, missing...)
		for _, one := range found {
			c := warn(name, cmp.Or(one.Remedy, "correct the file, or look at it at the service"), "%s: %s", f.Path, one.What)
			switch {
			case one.Level == file.LevelError:
				c.Health = HealthFail
			case len(missing) > 0 && (one.Kind == file.KindTemplate || one.Kind == file.KindConnection):
				continue // it is said already
			case one.Kind == file.KindTemplate:
				c.Health = HealthUnchecked
			}
			checks = append(checks, c)
		}
	}
	if len(checks) == 0 {
		checks = append(checks, good(name, "the service has the connections and the template of %s",
			sentence.Count(looked, "scheduled campaign", "scheduled campaigns")))
	}
	return checks
}

// onceEach asks the service for each listing once: it permits few questions in an hour.
type onceEach struct {
	messaging.Service
	connections []messaging.Connection
	numbers     []messaging.Number
	unnumbered  error // why there are no numbers
	templates   map[string][]messaging.TemplateRecord
}

// askOnce asks for the connections and the numbers.
func askOnce(ctx context.Context, s messaging.Service) (o *onceEach, err error) {
	o = &onceEach{Service: s, templates: map[string][]messaging.TemplateRecord{}}
	o.numbers, o.unnumbered = s.Numbers(ctx)
	o.connections, err = s.Connections(ctx)
	return o, err
}

// Connections implements messaging.Service.
func (o *onceEach) Connections(context.Context) ([]messaging.Connection, error) {
	return o.connections, nil
}

// Numbers implements messaging.Service.
func (o *onceEach) Numbers(context.Context) ([]messaging.Number, error) {
	return o.numbers, o.unnumbered
}

// Templates implements messaging.Service.
func (o *onceEach) Templates(ctx context.Context, connection string) (all []messaging.TemplateRecord, err error) {
	all, known := o.templates[connection]
	if !known {
		if all, err = o.Service.Templates(ctx, connection); err == nil {
			o.templates[connection] = all
		}
	}
	return all, err
}

// missing fails what a campaign names and the service does not list. To a launch by hand this is a
// warning, which a person reads; a firing has nobody who does.
func (o *onceEach) missing(ctx context.Context, f *operator.File) (checks []Check) {
	for _, id := range f.Definition.Connections {
		if !slices.ContainsFunc(o.connections, func(c messaging.Connection) bool { return c.ID == id }) {
			checks = append(checks, fail("templates", "correct connections in it, or use a key that reaches the connection",
				fmt.Errorf("%s: the service lists no connection %q", f.Path, id)))
			continue
		}
		if all, err := o.Templates(ctx, id); err == nil {
			file.FindTemplate(&f.Definition.Template, all, id, func(_ file.Kind, _, what, remedy string) {
				checks = append(checks, fail("templates", remedy, fmt.Errorf("%s: %s", f.Path, what)))
			})
		}
	}
	return checks
}
