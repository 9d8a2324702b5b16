package console

import (
	"encoding/json"
	"errors"
	"io"
	"mime/multipart"
	"net/http"
	"strconv"
	"time"

	"campaignd/campaign"
	"campaignd/internal/uploads"
)

// newListView is the page that takes the list.
type newListView struct {
	draftView
	Received int64 // bytes of a list that has not come whole, or of the one that has
	Most     int64 // bytes of a list
}

func newList(v *visit, dr campaign.Draft) (any, error) {
	out := newListView{draftView: v.draftView(dr, stepList, "List"), Most: uploads.MaxList}
	u, err := v.process.Uploads.Look(dr.ID)
	var fault *uploads.Fault
	if err != nil && (!errors.As(err, &fault) || fault.Kind != uploads.NotFound) {
		return nil, err
	}
	out.Received = u.Received
	return out, nil
}

// takeList takes a list: whole, as a browser without script sends it, or the name of one whose
// parts have come.
func takeList(v *visit, dr campaign.Draft) (done, error) {
	v.takesTime()
	var size int64
	name := v.form.Get("name")
	if name != "" {
		u, err := v.process.Uploads.Look(dr.ID)
		if err != nil {
			return done{}, err
		}
		if size = u.Received; strconv.FormatInt(size, 10) != v.form.Get("size") {
			return done{}, &problem{http.StatusConflict, "The list has not come whole. Upload it again."}
		}
	} else {
		parts, err := v.r.MultipartReader()
		if err != nil {
			return done{}, &problem{http.StatusBadRequest, "The form cannot be read."}
		}
		part, err := parts.NextPart()
		if err != nil || part.FormName() != "list" || part.FileName() == "" {
			return done{}, &problem{http.StatusBadRequest, "Choose a file first."}
		}
		if name = part.FileName(); v.process.Uploads.Remove(dr.ID) != nil {
			return done{}, &problem{http.StatusConflict, "The list is being read. Try again in a moment."}
		}
		if size, err = v.store(dr.ID, part); err != nil {
			v.giveUp(dr.ID)
			return done{}, err
		}
	}
	if size == 0 {
		return done{}, &problem{http.StatusUnprocessableEntity, "The file is empty. Choose the list that you want to send to."}
	}
	v.checks.forget()
	dr.ListName = clip(base(name))
	return done{to: draftPath(dr.ID) + "/columns"}, v.d.ChangeDraft(v.r.Context(), dr)
}

// giveUp removes a list that was not taken, so that it holds no space, and reads the rest of it: a
// browser reads the answer only when it has sent everything.
func (v *visit) giveUp(id string) {
	if err := v.process.Uploads.Remove(id); err != nil {
		v.process.Log.Warn("a list that was not taken cannot be removed; it is removed a day after its last part", "err", err)
	}
	_, _ = io.Copy(io.Discard, v.r.Body) // the browser may have gone
}

// store stores a whole list in parts.
func (v *visit) store(id string, list *multipart.Part) (size int64, err error) {
	for {
		u, err := v.process.Uploads.Add(id, size, io.LimitReader(list, uploads.MaxPart))
		if err != nil || u.Received-size < uploads.MaxPart {
			return u.Received, err
		}
		size = u.Received
	}
}

// takePart appends a part to the list. The first part begins a list anew. The answer is JSON for
// the script of the page: how much has come, and a sentence if the part was refused.
func takePart(v *visit, dr campaign.Draft) (done, error) {
	v.takesTime()
	offset, err := position(v.r.URL.Query().Get("offset"))
	if err != nil {
		return done{}, err
	}
	if offset == 0 {
		err = v.process.Uploads.Remove(dr.ID)
	}
	if err == nil {
		err = v.process.Uploads.Expire(time.Now())
	}
	var u uploads.Upload
	if err == nil {
		u, err = v.process.Uploads.Add(dr.ID, offset, v.r.Body)
	}
	answer := struct {
		Received int64  `json:"received"`
		Sentence string `json:"sentence,omitempty"`
	}{Received: u.Received}
	status := http.StatusOK
	var fault *uploads.Fault
	if errors.As(err, &fault) {
		if fault.Kind == uploads.NoSpace || fault.Kind == uploads.TooLarge {
			v.giveUp(dr.ID)
		}
		status, answer.Received = uploadStatus[fault.Kind], fault.Received
		if fault.Kind != uploads.WrongOffset { // the script goes on from there
			answer.Sentence = faultSentence(fault)
		}
	} else if err != nil {
		return done{}, err
	}
	v.w.Header().Set("Content-Type", "application/json")
	v.w.WriteHeader(status)
	return done{answered: true}, json.NewEncoder(v.w).Encode(answer)
}

// takesTime lets a request last while data arrives.
func (v *visit) takesTime() {
	v.r.Body = uploads.Moving(v.w, v.r.Body)
	_ = http.NewResponseController(v.w).SetWriteDeadline(time.Now().Add(slowestUpload)) // tests have no deadlines
}

// slowestUpload is the longest time of one request with a list: 4 GiB at 400 kB/s.
const slowestUpload = 3 * time.Hour

// uploadStatus has the statuses of the faults of an upload.
var uploadStatus = map[uploads.Kind]int{
	uploads.NotFound: http.StatusConflict, uploads.Busy: http.StatusServiceUnavailable, uploads.NotNow: http.StatusConflict,
	uploads.WrongOffset: http.StatusConflict, uploads.WrongHash: http.StatusConflict, uploads.TooLarge: http.StatusRequestEntityTooLarge,
	uploads.NoSpace: http.StatusInsufficientStorage, uploads.Broken: http.StatusBadRequest,
}

// faultSentence says for a person why a list was not taken or read.
func faultSentence(f *uploads.Fault) string {
	switch f.Kind {
	case uploads.NotFound:
		return "The list is not on this server any more. Upload it again."
	case uploads.Busy:
		return "Other lists are being read. Load the page again in a moment."
	case uploads.NotNow:
		return "The list is being read. Try again in a moment."
	case uploads.NoSpace:
		return "The server has no space for the list. Ask the operator of campaignd to make room, then upload it again."
	case uploads.Broken:
		return "The connection broke before the list had come whole. Upload it again."
	case uploads.TooLarge:
		return "The file has more than 8 GiB, and a list has at most 4. Divide it, and send each part as a campaign of its own."
	case uploads.WrongOffset, uploads.WrongHash:
	}
	return sentence(f.Message)
}
