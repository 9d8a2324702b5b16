package ledger

// AuditStep is how many deliveries one query of Audit looks at.
const AuditStep = 65536
