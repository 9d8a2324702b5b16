package shop

import (
	"crypto/rand"
	"net/http"
	"net/mail"
	"strings"

	"campaignd/internal/sandbox/shop/scenario"
	"campaignd/internal/sandbox/shop/value"
)

// session is the answer of a registration and of a login.
type session struct {
	Token    string       `json:"token"`
	Customer customerView `json:"customer"`
}

// issue gives a customer a new token. The caller has counted it.
func (p *Platform) issue(who *customer) string {
	token := rand.Text()
	p.tokens[token] = &credential{company: who.company, kind: loggedIn, customer: who.ID}
	return token
}

// enter logs a customer in.
func (p *Platform) enter(c *call, who *customer) (session, error) {
	if err := c.company.customers.Keep(&p.room, who); err != nil {
		return session{}, err
	}
	if err := p.room.Take(); err != nil {
		return session{}, err
	}
	who.lastActivity = c.now
	return session{p.issue(who), who.storefront()}, nil
}

// registration is the body of POST /customers/register.
type registration struct {
	FirstName         string       `json:"first_name"`
	LastName          string       `json:"last_name"`
	Email             string       `json:"email"`
	Phone             string       `json:"phone"`
	Password          string       `json:"password"`
	PreferredLanguage string       `json:"preferred_language"`
	Metadata          value.Object `json:"metadata"`
}

// register is POST /customers/register. E-mail address and phone number are unique here.
func (p *Platform) register(c *call, in registration) (session, error) {
	var f flaws
	f.require("password", in.Password)
	if strings.TrimSpace(in.FirstName+in.LastName) == "" {
		f.add("first_name", "The first name is required when the last name is absent.")
	}
	f.contact(in.Email, in.Phone)
	if c.company.customerWith(in.Email, (*customer).email) != nil {
		f.add("email", "The email has already been taken.")
	}
	if c.company.customerWith(in.Phone, (*customer).phone) != nil {
		f.add("phone", "The phone has already been taken.")
	}
	if err := f.err(); err != nil {
		return session{}, err
	}
	who, err := p.addCustomer(c.company, scenario.Customer{
		FirstName: in.FirstName, LastName: in.LastName, Email: strings.TrimSpace(in.Email), Phone: strings.TrimSpace(in.Phone),
		Password: in.Password, PreferredLanguage: in.PreferredLanguage, Metadata: in.Metadata,
	}, c.now)
	if err != nil {
		return session{}, err
	}
	return p.enter(c, who)
}

// addCustomer stores a new customer of the company.
func (p *Platform) addCustomer(c *company, from scenario.Customer, now value.Stamp) (*customer, error) {
	from.ID = p.newID()
	who := newCustomer(c, from, now)
	return who, c.customers.Add(&p.room, who)
}

// contact adds the flaws of a customer's e-mail address and phone number: one is required.
func (f *flaws) contact(email, phone string) {
	email, phone = strings.TrimSpace(email), strings.TrimSpace(phone)
	if email == "" && phone == "" {
		f.add("email", "The email field is required when phone is not present.")
		f.add("phone", "The phone field is required when email is not present.")
	}
	if a, err := mail.ParseAddress(email); email != "" && (err != nil || a.Address != email) {
		f.add("email", "The email must be a valid email address.")
	}
}

// credentials is the body of POST /customers/login.
type credentials struct {
	Email    string `json:"email"`
	Phone    string `json:"phone"`
	Password string `json:"password"`
}

// login is POST /customers/login. If several customers share the e-mail address or phone number,
// the password decides.
func (p *Platform) login(c *call, in credentials) (session, error) {
	var f flaws
	f.contact(in.Email, in.Phone)
	f.require("password", in.Password)
	if err := f.err(); err != nil {
		return session{}, err
	}
	email, phone := strings.ToLower(strings.TrimSpace(in.Email)), strings.ToLower(strings.TrimSpace(in.Phone))
	for who := range c.company.customers.Stored() {
		if who.Password == in.Password && (email != "" && who.email() == email || email == "" && who.phone() == phone) {
			return p.enter(c, who)
		}
	}
	return session{}, refuse(http.StatusUnauthorized, "These credentials do not match our records.")
}

// logout is POST /customers/logout. It ends the token of the request, if any.
func (p *Platform) logout(c *call) (said, error) {
	token, _ := strings.CutPrefix(c.r.Header.Get("Authorization"), "Bearer ")
	if cred := p.tokens[strings.TrimSpace(token)]; cred != nil && cred.customer != "" {
		delete(p.tokens, strings.TrimSpace(token))
		p.room.Free()
	}
	return sentence("Logged out.")
}

// reset is the token of a password reset.
type reset struct {
	Token string `json:"token"`
}

// resetRequest is the body of the two routes that begin a reset.
type resetRequest struct {
	Email string `json:"email"`
}

// resetLink is POST /customers/password/reset-link. It answers with the token.
func (p *Platform) resetLink(c *call, in resetRequest) (reset, error) {
	var f flaws
	f.require("email", in.Email)
	who := c.company.customerWith(in.Email, (*customer).email)
	if who == nil && f.err() == nil {
		f.add("email", "We cannot find a customer with that email address.")
	}
	if err := f.err(); err != nil {
		return reset{}, err
	}
	if err := p.room.Take(); err != nil {
		return reset{}, err
	}
	token := rand.Text()
	p.resets[token] = who
	return reset{token}, nil
}

// forgot is POST /customers/password/forgot. It says the same whether the customer exists or not;
// the sandbox sends no e-mail.
func (p *Platform) forgot(_ *call, in resetRequest) (said, error) {
	var f flaws
	f.require("email", in.Email)
	if err := f.err(); err != nil {
		return said{}, err
	}
	return sentence("If the address is known, a link has been sent to it.")
}

// newPassword is the body of POST /customers/password/reset.
type newPassword struct {
	Token        string `json:"token"`
	Email        string `json:"email"`
	Password     string `json:"password"`
	Confirmation string `json:"password_confirmation"`
}

// resetPassword is POST /customers/password/reset. Its token works once; all tokens of the customer
// end.
func (p *Platform) resetPassword(c *call, in newPassword) (said, error) {
	var f flaws
	who := p.resets[in.Token]
	if who == nil || who.company != c.company || who.email() != strings.ToLower(strings.TrimSpace(in.Email)) {
		f.add("token", "This password reset token is invalid.")
	}
	f.password("password", in.Password)
	if in.Confirmation != in.Password {
		f.add("password", "The password confirmation does not match.")
	}
	if err := f.err(); err != nil {
		return said{}, err
	}
	delete(p.resets, in.Token)
	p.room.Free()
	return p.setPassword(c, who, in.Password)
}

// password adds the flaw of a new password with fewer than 8 characters
// (docs/commerce.md#assumptions).
func (f *flaws) password(field, text string) {
	if len([]rune(text)) < 8 {
		f.add(field, "The "+field+" must be at least 8 characters.")
	}
}

// setPassword changes the password and ends the customer's tokens except the token of the request.
func (p *Platform) setPassword(c *call, who *customer, password string) (said, error) {
	if err := c.company.customers.Keep(&p.room, who); err != nil {
		return said{}, err
	}
	who.Password, who.updated = password, c.now
	own, _ := strings.CutPrefix(c.r.Header.Get("Authorization"), "Bearer ")
	for token, cred := range p.tokens {
		if cred.company == who.company && cred.customer == who.ID && token != own {
			delete(p.tokens, token)
			p.room.Free()
		}
	}
	return sentence("The password has been changed.")
}
