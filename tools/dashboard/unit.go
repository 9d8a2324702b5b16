package main

import (
	"math"
	"strconv"
)

// scale is one step of a unit of Grafana: a value of at least from is divided by it and gets the
// suffix.
type scale struct {
	from   float64
	suffix string
}

var units = map[string][]scale{
	"s":           {{1e-3, " ms"}, {1, " s"}, {60, " min"}, {3600, " h"}, {86400, " d"}},
	"bytes":       {{1, " B"}, {1 << 10, " KiB"}, {1 << 20, " MiB"}, {1 << 30, " GiB"}},
	"percentunit": {{0.01, "%"}},
	"reqps":       {{1, " req/s"}, {1e3, "K req/s"}},
	"ops":         {{1, " ops/s"}, {1e3, "K ops/s"}},
	"short":       {{1, ""}, {1e3, " K"}, {1e6, " Mil"}},
}

func scaleOf(v float64, unit string) scale {
	all, ok := units[unit]
	if !ok {
		panic("unknown unit " + unit)
	}
	best := all[0]
	for _, s := range all {
		if v >= s.from {
			best = s
		}
	}
	return best
}

// format writes a value as Grafana does.
func format(v float64, unit string) string {
	if v == 0 {
		return "0" + scaleOf(1, unit).suffix
	}
	s := scaleOf(v, unit)
	return strconv.FormatFloat(math.Round(v/s.from*1e6)/1e6, 'f', -1, 64) + s.suffix
}

// tick is the distance between two lines of the grid: three to five of them fit below the highest
// value.
func tick(most float64, unit string) float64 {
	if most <= 0 {
		return scaleOf(0, unit).from
	}
	of := scaleOf(most, unit).from
	raw := most / of / 4
	power := math.Pow(10, math.Floor(math.Log10(raw)))
	for _, m := range []float64{1, 2, 2.5, 5, 10} {
		if m*power >= raw*0.95 {
			return m * power * of
		}
	}
	return 10 * power * of
}
