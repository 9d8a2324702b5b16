package messaging

import "campaignd/internal/rawjson"

// maxUserID is the most bytes of a user id of the platform that is read. Its own have up to 131:
// two letters of the country, a dot, and up to 128 letters and digits (docs/service.md#user-ids).
const maxUserID = 200

// user takes the user id of a field that has one.
func (e *Event) user(text string) {
	if text != "" && len(text) <= maxUserID && Visible(text) {
		e.UserID = text
	}
}

// person returns the digits of a field that has a number, or before if it has none. Some programs
// write the user id there when the platform tells no number.
func (e *Event) person(text, before string) string {
	if len(text) > 3 && text[2] == '.' && isUpper(text[0]) && isUpper(text[1]) {
		e.user(text)
		return before
	}
	if digits := onlyDigits(text); digits != "" {
		return digits
	}
	return before
}

func isUpper(c byte) bool { return 'A' <= c && c <= 'Z' }

// contact adds the person with the event's user id, if it has one, and the number in digits or "".
func (e *Event) contact(number string) {
	if e.UserID != "" {
		e.Contacts = append(e.Contacts, Contact{UserID: e.UserID, Number: number})
	}
}

// contacts reads [{wa_id, user_id}], the persons whom a change of the platform is about.
func contacts(list rawjson.Value) (all []Contact) {
	for m := list.Members(); m.Next(); {
		var one Event
		number := one.person(m.Val.First("wa_id", "phoneNumber"), "")
		one.user(m.Val.First("user_id", "userId"))
		one.contact(number)
		all = append(all, one.Contacts...)
	}
	return all
}
