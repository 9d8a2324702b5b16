package request

import (
	"encoding/json"
	"strings"
)

// Component is a part of a template message in the platform's own form (docs/cloud.md#send).
type Component struct {
	Type       string          `json:"type"`
	SubType    string          `json:"sub_type"`
	Index      json.RawMessage `json:"index"` // a number or a text
	Parameters []Parameter     `json:"parameters"`
}

// Parameter is one value of a component.
type Parameter struct {
	Type       string `json:"type"`
	Name       string `json:"parameter_name"`
	Text       string `json:"text"`
	Payload    string `json:"payload"`
	CouponCode string `json:"coupon_code"`
	Image      *File  `json:"image"`
	Video      *File  `json:"video"`
	Document   *File  `json:"document"`
}

// File is a file of a header.
type File struct {
	ID       string `json:"id"`
	Link     string `json:"link"`
	Filename string `json:"filename"`
}

// HeaderOf returns the header with these parameters, or nil if they are not one file.
func HeaderOf(params []Parameter) *Header {
	if len(params) != 1 {
		return nil
	}
	as := func(m *File) Media { // a media id of the platform is a stored file here
		if strings.HasPrefix(m.ID, "4") && len(m.ID) == 15 {
			return Media{AssetID: m.ID, Link: m.Link}
		}
		return Media{ID: m.ID, Link: m.Link}
	}
	switch p := params[0]; {
	case p.Image != nil:
		file := as(p.Image)
		return &Header{Image: &file}
	case p.Video != nil:
		file := as(p.Video)
		return &Header{Video: &file}
	case p.Document != nil:
		return &Header{Document: &Document{Media: as(p.Document), Filename: p.Document.Filename}}
	}
	return nil
}
