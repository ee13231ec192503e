package identity

// PasswordTokenPrefix begins every password token.
const PasswordTokenPrefix = "hwr_"

// PasswordChoice is the input of a token's holder.
type PasswordChoice struct {
	Password string // 8 to 200 characters
	// Name and Email are for a user who never had a password, such as a server's first user; "" leaves them unchanged. For
	// others they are ignored.
	Name, Email string
}
