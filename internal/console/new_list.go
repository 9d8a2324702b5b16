package console

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"campaignd/campaign"
	"campaignd/internal/uploads"
)

// newListView is the page that takes the list.
type newListView struct {
	draftView
	Received int64 // bytes of the list that has come
	Most     int64 // bytes of a list
	Piece    int64 // bytes of a part
	TooLarge string
}

func newList(v *visit, dr campaign.Draft) (any, error) {
	most := v.process.Uploads.Limit
	out := newListView{draftView: v.draftView(dr, stepList, "List"), Most: most, Piece: uploads.Piece,
		TooLarge: sentence(uploads.Fits(most+1, most).Error())}
	u, err := v.process.Uploads.Look(dr.Staged())
	var fault *uploads.Fault
	if err != nil && (!errors.As(err, &fault) || fault.Kind != uploads.NotFound) {
		return nil, err
	}
	out.Received = u.Received
	return out, nil
}

// incoming is the name of the list of a draft while it arrives. The draft goes on with its earlier
// list until this one has come whole.
func incoming(dr campaign.Draft) string { return dr.ID + ".incoming" }

// takeList takes a list: whole, as a browser without script sends it, or the name of one whose
// parts have come.
func takeList(v *visit, dr campaign.Draft) (done, error) {
	v.takesTime()
	name, sum := v.form.Get("name"), v.form.Get("sum")
	if name == "" {
		var err error
		if name, err = v.takeFile(dr); err != nil {
			v.readOn()
			return done{}, err
		}
		// While the list arrived, another page may have changed the columns, or sent the draft.
		if dr, err = v.draft(); err != nil || dr.Run != "" {
			return sentBefore(dr), err
		}
	} else if sum == "" { // the page is of an earlier version
		return done{}, &problem{http.StatusConflict, "The list was not compared with your file. Load the page again, then upload it again."}
	}
	was := dr.Staged()
	dr.List, dr.ListName = newListOf(sum), clip(base(name))
	if _, err := v.process.Uploads.Replace(v.r.Context(), incoming(dr), dr.Staged(), sum); err != nil {
		return done{}, err
	}
	v.checks.forget()
	if err := v.d.ChangeDraft(v.r.Context(), dr); err != nil {
		return done{}, err
	}
	if was != dr.Staged() {
		_ = v.process.Uploads.Remove(was) // else it is removed a day after its last part
	}
	return done{to: draftPath(dr.ID) + "/columns"}, nil
}

// newListOf is Draft.List of a list with the sum, which is "" if it is not known. A form that comes
// again after its answer was lost has the same sum, and finds the list.
func newListOf(sum string) string {
	if sum == "" {
		return rand.Text()
	}
	return fmt.Sprintf("%x", sha256.Sum256([]byte(sum)))
}

// takeFile stores the file of a form, and returns its name. A file that is too large by the length
// of the request is refused before any of it is stored.
func (v *visit) takeFile(dr campaign.Draft) (name string, err error) {
	if err := v.process.Uploads.Fits(v.r.ContentLength - maxForm); err != nil {
		return "", err
	}
	parts, err := v.r.MultipartReader()
	if err != nil {
		return "", &problem{http.StatusBadRequest, "The form cannot be read."}
	}
	part, err := parts.NextPart()
	if err != nil || part.FormName() != "list" || part.FileName() == "" {
		return "", &problem{http.StatusBadRequest, "Choose a file first."}
	}
	u, err := v.process.Uploads.Whole(incoming(dr), part)
	if err == nil && u.Received == 0 {
		err = errors.Join(v.process.Uploads.Remove(incoming(dr)),
			&problem{http.StatusUnprocessableEntity, "The file is empty. Choose the list that you want to send to."})
	}
	return part.FileName(), err
}

// readOn reads the rest of a list that was not taken: a browser reads the answer only when it has
// sent everything.
func (v *visit) readOn() { _, _ = io.Copy(io.Discard, v.r.Body) } // the browser may have gone

// takePart appends a part to the list that arrives. The first part begins it anew. The answer is
// JSON for the script of the page: how much has come, and a sentence if the part was refused.
func takePart(v *visit, dr campaign.Draft) (done, error) {
	v.takesTime()
	offset, err := position(v.r.URL.Query().Get("offset"))
	if err != nil {
		return done{}, err
	}
	if offset == 0 {
		err = v.process.Uploads.Remove(incoming(dr))
	}
	var u uploads.Upload
	if err == nil {
		u, err = v.process.Uploads.Add(incoming(dr), offset, v.r.Body)
	}
	answer := struct {
		Received int64  `json:"received"`
		Sentence string `json:"sentence,omitempty"`
	}{Received: u.Received}
	status := http.StatusOK
	var fault *uploads.Fault
	if errors.As(err, &fault) {
		if err = nil; fault.Kind == uploads.NoSpace { // what has come of the list holds no space
			err = v.process.Uploads.Remove(incoming(dr))
		}
		v.readOn()
		status, answer.Received = uploadStatus[fault.Kind], fault.Received
		if fault.Kind != uploads.WrongOffset { // the script goes on from there
			answer.Sentence = faultSentence(fault)
		}
	}
	if err != nil {
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
	uploads.Closed: http.StatusServiceUnavailable,
}

// faultSentence says for a person why a list was not taken or read.
func faultSentence(f *uploads.Fault) string {
	switch f.Kind {
	case uploads.NotFound:
		return "The list is not on this server any more. Upload it again."
	case uploads.NotNow:
		return "The list is being read. Try again in a moment."
	case uploads.NoSpace:
		return "The server has no space for the list. Ask the operator of campaignd to make room, then upload it again."
	case uploads.Broken:
		return "The connection broke before the list had come whole. Upload it again."
	case uploads.Closed:
		return "This process sends nothing, so it takes no list. Open the console of one that sends."
	case uploads.Busy, uploads.TooLarge, uploads.WrongOffset, uploads.WrongHash:
	}
	return sentence(f.Message)
}
