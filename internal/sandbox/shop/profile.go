package shop

// showProfile is GET /customers/profile.
func (p *Platform) showProfile(c *call) (customerView, error) { return c.customer.storefront(), nil }

// updateProfile is PUT /customers/profile. Members that the body lacks stay.
func (p *Platform) updateProfile(c *call, in patch) (customerView, error) {
	who, next := c.customer, c.customer.profile()
	if err := in.onto(&next); err != nil {
		return customerView{}, err
	}
	var f flaws
	f.contact(next.Email, next.Phone)
	if next.FirstName == "" && next.LastName == "" {
		f.add("first_name", "The first name is required when the last name is absent.")
	}
	// Customers may share what they had before; a change to what another one has is refused.
	taken := func(field, before, now string, of func(*customer) string) {
		if other := who.company.customerWith(now, of); before != now && other != nil && other.ID != who.ID {
			f.add(field, "The "+field+" has already been taken.")
		}
	}
	taken("email", who.Email, next.Email, (*customer).email)
	taken("phone", who.Phone, next.Phone, (*customer).phone)
	if err := f.err(); err != nil {
		return customerView{}, err
	}
	if err := who.company.customers.Keep(&p.room, who); err != nil {
		return customerView{}, err
	}
	who.change(next, c.now)
	return who.storefront(), nil
}

// passwordChange is the body of PUT /customers/profile/password.
type passwordChange struct {
	Current string `json:"current_password"`
	New     string `json:"new_password"`
}

// changePassword is PUT /customers/profile/password.
func (p *Platform) changePassword(c *call, in passwordChange) (said, error) {
	var f flaws
	if in.Current != c.customer.Password {
		f.add("current_password", "The current password is incorrect.")
	}
	f.password("new_password", in.New)
	if err := f.err(); err != nil {
		return said{}, err
	}
	return p.setPassword(c, c.customer, in.New)
}
