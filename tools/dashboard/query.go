package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/tsdb"
)

// dashboard is the part of a Grafana dashboard that is drawn.
type dashboard struct {
	Title  string  `json:"title"`
	Panels []panel `json:"panels"`
}

type panel struct {
	Type    string `json:"type"`
	Title   string `json:"title"`
	GridPos struct{ H, W, X, Y float64 }
	Field   struct {
		Defaults struct {
			Unit   string `json:"unit"`
			Custom struct {
				Stacking struct {
					Mode string `json:"mode"` // normal: each line begins at the line before it
				} `json:"stacking"`
			} `json:"custom"`
		} `json:"defaults"`
		Overrides []override `json:"overrides"`
	} `json:"fieldConfig"`
	Targets []struct {
		Expr   string `json:"expr"`
		Legend string `json:"legendFormat"`
	} `json:"targets"`
	series []series // by the targets, then by name
}

// override draws dashed lines for the series whose names match. The dashboard has no other
// overrides.
type override struct {
	Matcher struct {
		Options string `json:"options"` // of byRegexp: /EXPRESSION/
	} `json:"matcher"`
}

// series is one line of a panel. A value that is NaN is a gap.
type series struct {
	name   string
	values []float64 // one for each step
}

// stack adds to each series those before it. A gap counts as 0.
func (p panel) stack() {
	if p.Field.Defaults.Custom.Stacking.Mode != "normal" {
		return
	}
	for i := range p.series {
		for at, v := range p.series[i].values {
			if math.IsNaN(v) {
				v = 0
			}
			if i > 0 {
				v += p.series[i-1].values[at]
			}
			p.series[i].values[at] = v
		}
	}
}

// dashed reports whether a line shows a limit.
func (p panel) dashed(name string) bool {
	return slices.ContainsFunc(p.Field.Overrides, func(o override) bool {
		return regexp.MustCompile(strings.Trim(o.Matcher.Options, "/")).MatchString(name)
	})
}

func readDashboard(file string) (dashboard, error) {
	var d dashboard
	text, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(text, &d)
	}
	return d, err
}

// evaluate fills the panels, with one value for each scrape. empty has the expressions without a
// series.
func evaluate(ctx context.Context, d dashboard, all []scrape) (drawn []panel, empty, err error) {
	folder, err := os.MkdirTemp("", "dashboard")
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	db, err := tsdb.Open(folder, nil, nil, tsdb.DefaultOptions(), nil)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	known := map[string]labels.Labels{}
	for _, s := range all {
		if known, err = store(ctx, db, s, known); err != nil {
			return nil, nil, err
		}
	}
	engine := promql.NewEngine(promql.EngineOpts{MaxSamples: 1e7, Timeout: time.Minute, Parser: parser.NewParser(parser.Options{})})
	first, last := all[0].At, all[len(all)-1].At
	steps := int(last.Sub(first)/every) + 1
	for _, p := range d.Panels {
		for _, t := range p.Targets {
			// Grafana takes four times the time between two scrapes.
			expr := strings.ReplaceAll(t.Expr, "$__rate_interval", (4 * every).String())
			q, err := engine.NewRangeQuery(ctx, db, nil, expr, first, last, every)
			if err != nil {
				return nil, nil, fmt.Errorf("%s: %s: %w", p.Title, t.Expr, err)
			}
			result := q.Exec(ctx)
			matrix, err := result.Matrix()
			if err != nil {
				return nil, nil, fmt.Errorf("%s: %s: %w", p.Title, t.Expr, err)
			}
			var found []series
			for _, one := range matrix {
				found = append(found, series{legend(t.Legend, one.Metric), spread(one.Floats, first, steps)})
			}
			slices.SortFunc(found, func(a, b series) int { return strings.Compare(a.name, b.name) })
			if len(found) == 0 {
				empty = errors.Join(empty, fmt.Errorf("%q has no series for %s", p.Title, t.Expr))
			}
			p.series = append(p.series, found...)
			q.Close()
		}
		p.stack()
		drawn = append(drawn, p)
	}
	return drawn, empty, nil
}

// store writes what Prometheus would have: the values, and a mark of staleness for each series that
// the scrape before had and this one has not. It returns the series of this scrape.
func store(ctx context.Context, db *tsdb.DB, s scrape, before map[string]labels.Labels) (map[string]labels.Labels, error) {
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(s.Page))
	if err != nil {
		return nil, err
	}
	app, now := db.Appender(ctx), map[string]labels.Labels{}
	put := func(of labels.Labels, v float64) {
		if _, failed := app.Append(0, of, s.At.UnixMilli(), v); failed != nil {
			err = errors.Join(err, failed)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(families)) {
		for _, m := range families[name].GetMetric() {
			b := labels.NewBuilder(labels.FromStrings("__name__", name, "instance", "campaignd-0", "job", "campaignd"))
			for _, l := range m.GetLabel() {
				b.Set(l.GetName(), l.GetValue())
			}
			of := b.Labels()
			put(of, m.GetGauge().GetValue()+m.GetCounter().GetValue()+m.GetUntyped().GetValue())
			now[of.String()] = of
		}
	}
	for id, of := range before {
		if _, still := now[id]; !still {
			put(of, math.Float64frombits(value.StaleNaN))
		}
	}
	if err != nil {
		return nil, errors.Join(err, app.Rollback())
	}
	return now, app.Commit()
}

// spread returns one value for each step.
func spread(points []promql.FPoint, first time.Time, steps int) []float64 {
	values := make([]float64, steps)
	for i := range values {
		values[i] = math.NaN()
	}
	for _, p := range points {
		if i := int((p.T - first.UnixMilli()) / every.Milliseconds()); i < steps {
			values[i] = p.F
		}
	}
	return values
}

// legend replaces {{label}}.
func legend(format string, of labels.Labels) string {
	of.Range(func(l labels.Label) { format = strings.ReplaceAll(format, "{{"+l.Name+"}}", l.Value) })
	return format
}
