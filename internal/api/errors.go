package api

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"campaignd/campaign"
	"campaignd/campaign/launch"
	"campaignd/internal/client"
	"campaignd/internal/messaging"
	"campaignd/internal/operator"
	"campaignd/internal/uploads"
)

// Error is the body of a failure, in the form of the service's own (docs/service.md#conventions).
type Error struct {
	Status  int            `json:"-"`
	Code    string         `json:"error" doc:"a stable code"`
	Message string         `json:"message" doc:"prose"`
	Meta    map[string]any `json:"meta,omitempty"`
}

func (e *Error) Error() string { return e.Message }

// GetStatus implements huma.StatusError.
func (e *Error) GetStatus() int { return e.Status }

// errorOf turns an error into that of the API.
func errorOf(ctx context.Context, err error) *Error {
	var mine *Error
	var large *http.MaxBytesError
	var upload *uploads.Fault
	switch {
	case errors.As(err, &mine):
		return mine
	case errors.As(err, &large):
		return &Error{http.StatusRequestEntityTooLarge, client.CodeTooLarge, tooLarge, nil}
	case errors.As(err, &upload):
		return faultOf(upload)
	case ctx.Err() != nil:
		return &Error{http.StatusServiceUnavailable, client.CodeStopping, "campaignd is stopping; the same command goes on with the run", nil}
	case errors.Is(err, operator.ErrUnauthorized):
		return &Error{http.StatusUnauthorized, client.CodeUnauthorized,
			"no key in force was given: want the header Authorization: Bearer KEY, with a key of `campaignd keys create`", nil}
	case errors.Is(err, operator.ErrTooMany):
		return &Error{http.StatusTooManyRequests, client.CodeTooMany,
			"too many wrong keys from this address; wait before the next one", nil}
	case operator.Absent(err):
		return &Error{http.StatusNotFound, client.CodeNotFound, err.Error(), nil}
	case errors.Is(err, operator.ErrForbidden):
		return &Error{http.StatusForbidden, client.CodeForbidden, err.Error(), nil}
	case errors.Is(err, campaign.ErrNotNow), errors.Is(err, launch.ErrNobody):
		return &Error{http.StatusConflict, client.CodeNotNow, err.Error(), nil}
	case errors.Is(err, operator.ErrSamePerson):
		return &Error{http.StatusConflict, client.CodeSamePerson, err.Error(), nil}
	case errors.Is(err, operator.ErrRepeated), errors.Is(err, launch.ErrKeyUsed):
		return &Error{http.StatusConflict, client.CodeRepeated, err.Error(), nil}
	case errors.Is(err, operator.ErrService) && errors.Is(err, messaging.ErrNotOffered):
		return &Error{http.StatusNotImplemented, client.CodeNotOffered, err.Error(), nil}
	case errors.Is(err, operator.ErrService):
		return &Error{http.StatusBadGateway, client.CodeService, err.Error(), nil}
	case errors.Is(err, operator.ErrInvalid):
		return &Error{http.StatusBadRequest, client.CodeInvalid, err.Error(), nil}
	}
	switch reason, facts := launch.RefusalOf(err); reason {
	case "":
	case launch.RefusedCampaign, launch.RefusedPreflight, launch.RefusedList:
		return &Error{http.StatusUnprocessableEntity, reason, err.Error(), facts}
	default:
		return &Error{http.StatusConflict, reason, err.Error(), facts}
	}
	return &Error{http.StatusInternalServerError, client.CodeInternal, err.Error(), nil}
}

// uploadFaults are the answers to the faults of an upload.
var uploadFaults = map[uploads.Kind]struct {
	status int
	code   string
}{
	uploads.NotFound:    {http.StatusNotFound, client.CodeNotFound},
	uploads.Busy:        {http.StatusServiceUnavailable, client.CodeBusy},
	uploads.NotNow:      {http.StatusConflict, client.CodeNotNow},
	uploads.WrongOffset: {http.StatusConflict, client.CodeWrongOffset},
	uploads.WrongHash:   {http.StatusUnprocessableEntity, client.CodeWrongHash},
	uploads.TooLarge:    {http.StatusRequestEntityTooLarge, client.CodeTooLarge},
	uploads.NoSpace:     {http.StatusInsufficientStorage, client.CodeNoSpace},
	uploads.Broken:      {http.StatusBadRequest, client.CodeInvalid},
	uploads.Closed:      {http.StatusNotImplemented, client.CodeNotOffered},
}

func faultOf(f *uploads.Fault) *Error {
	is := uploadFaults[f.Kind]
	e := &Error{is.status, is.code, f.Message, nil}
	if f.Kind == uploads.WrongOffset {
		e.Meta = map[string]any{"received": f.Received}
	}
	return e
}

// write answers with e. dir is the folder of the upload, "" without an upload.
func (e *Error) write(w http.ResponseWriter, dir string) {
	out := *e
	out.Message = uploads.WithoutPath(out.Message, dir)
	writeJSON(w, out.Status, out)
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // the caller has gone
}
