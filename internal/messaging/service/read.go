package service

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"campaignd/internal/messaging"
	"campaignd/internal/operations"
	"campaignd/internal/rawjson"
)

// one makes the exchange of one operation and reads its answer into a T, a struct or a list of
// structs whose fields have the tag wire.
func one[T any](ctx context.Context, c *Client, name, id string, f fields) (T, error) {
	v, err := c.do(ctx, name, id, f)
	if err != nil {
		var zero T
		return zero, err
	}
	return read[T](c.routes[name], v)
}

// all reads every page of a listing of T.
func all[T any](ctx context.Context, c *Client, name, id string, f fields) ([]T, error) {
	items, err := c.list(ctx, name, id, f)
	if err != nil {
		return nil, err
	}
	out := make([]T, 0, len(items))
	for _, v := range items {
		item, err := read[T](c.routes[name], v)
		if err != nil {
			return nil, err
		}
		out = append(out, item)
	}
	return out, nil
}

// done makes the exchange of an operation whose answer has nothing to read.
func (c *Client) done(ctx context.Context, name, id string, f fields) error {
	_, err := c.do(ctx, name, id, f)
	return err
}

// read reads a value of an answer. A field that is absent, null or of another type is an error with
// the names of the operation and of the field, unless the tag says optional: a missing count must
// not become zero. Case and underscores of names do not matter.
func read[T any](o operations.Operation, v rawjson.Value) (T, error) {
	var out T
	if fault := readInto(reflect.ValueOf(&out).Elem(), v, ""); fault != "" {
		var zero T
		return zero, badAnswer(o, fault)
	}
	return out, nil
}

// readInto sets to from v and returns what is wrong with the field of that name, or "".
func readInto(to reflect.Value, v rawjson.Value, name string) (fault string) {
	ok := true
	switch at := to.Addr().Interface().(type) {
	case *string:
		ok, *at = !v.IsObject() && !v.IsArray(), v.Text()
	case *int64:
		*at, ok = v.Integer()
	case *float64:
		f, err := strconv.ParseFloat(v.Text(), 64)
		*at, ok = f, err == nil
	case *bool:
		*at, ok = v.Bool()
	case *time.Time:
		if *at = v.Time(); at.IsZero() {
			*at, _ = time.Parse(time.DateOnly, v.Text())
		}
		ok = !at.IsZero()
	case *rawjson.Value:
		*at = v
	default:
		if to.Kind() == reflect.Slice {
			return readList(to, v, name)
		}
		return readFields(to, v, name)
	}
	if !ok {
		return fmt.Sprintf("the field %s is no %s", name, to.Type())
	}
	return ""
}

func readList(to reflect.Value, v rawjson.Value, name string) (fault string) {
	if !v.IsArray() {
		return strings.TrimSpace("the answer holds no list " + name)
	}
	list := reflect.MakeSlice(to.Type(), 0, 0)
	for m := v.Members(); m.Next(); {
		item := reflect.New(to.Type().Elem()).Elem()
		if fault := readInto(item, m.Val, fmt.Sprintf("%s[%d]", name, list.Len())); fault != "" {
			return fault
		}
		list = reflect.Append(list, item)
	}
	to.Set(list)
	return ""
}

func readFields(to reflect.Value, v rawjson.Value, name string) (fault string) {
	if !v.IsObject() {
		return strings.TrimSpace("the answer holds no record " + name)
	}
	record := recordOf(nil, v)
	for f, field := range to.Fields() {
		key, option, _ := strings.Cut(f.Tag.Get("wire"), ",")
		if key == "-" {
			continue
		}
		value := record.fields[foldName(key)]
		below := strings.TrimPrefix(name+"."+key, ".")
		if value.IsNull() {
			if option != "optional" {
				return "the answer has no field " + below
			}
			continue
		}
		if fault := readInto(field, value, below); fault != "" {
			return fault
		}
	}
	return ""
}

// wants returns an error for the first field, by name, that is empty.
func (c *Client) wants(name, id string, required map[string]string) error {
	for _, field := range slices.Sorted(maps.Keys(required)) {
		if required[field] == "" {
			o, err := c.target(name, id)
			if err != nil {
				return err
			}
			return badAnswer(o, "the answer has no field "+field)
		}
	}
	return nil
}

// badAnswer is the fault of an answer that has not the form of the table.
func badAnswer(o operations.Operation, fault string) error {
	return messaging.BadAnswer(http.StatusOK, "", fmt.Sprintf("%s (%s %s): %s", o.Name, o.Method, o.Path, fault), nil)
}

// day writes a date of a request.
func day(t time.Time) string { return t.UTC().Format(time.DateOnly) }
