package operations

import "slices"

// All are the operations, in the order of docs/service.md#assumed-operations.
var All = slices.Concat(shown, templates, media, campaigns, flows, webhooks, accounts, numbers, analytics, billing)

var shown = []Operation{
	{Name: "messages", Method: "POST", Path: "/api/v1/messages", Scope: Connection, Shown: true,
		Request: "[the send request](#send-request)", Data: "`{messageId, warning?}`", Errors: "[below](#errors)"},
	{Name: "connections", Method: "GET", Path: "/api/v1/connections", Scope: Rows, Shown: true,
		Data: "`[{id, phoneNumber, displayName, companyId, status}]`"},
	{Name: "connection", Method: "GET", Path: "/api/v1/connections/{id}", Scope: Record, Data: "item of the list"},
	{Name: "numbers", Method: "GET", Path: "/api/v1/numbers", Scope: Rows,
		Data: "`[{connectionId, phoneNumber, qualityRating, messagingLimitTier, throughput, coexistence}]`"},
	{Name: "number", Method: "GET", Path: "/api/v1/numbers/{connectionId}", Scope: Record, Data: "item of the list"},
	{Name: "companies", Method: "GET", Path: "/api/v1/companies", Scope: Rows, Data: "`[{id, name, status}]`"},
	{Name: "company", Method: "GET", Path: "/api/v1/companies/{id}", Scope: Record, Data: "item of the list and `verified, connectionIds`"},
}

var templates = []Operation{
	{Name: "templates", Method: "GET", Path: "/api/v1/templates", Scope: Rows, Request: "C?", Data: "[T]"},
	{Name: "template", Method: "GET", Path: "/api/v1/templates/{id}", Scope: Record,
		Data: "T `{id, name, language, status, category, components, reason?}`"},
	{Name: "template_create", Method: "POST", Path: "/api/v1/templates", Scope: Connection, Follows: "templates",
		Request: "C, name, language, category, components or libraryName", Data: "T, PENDING (library: APPROVED)",
		Errors: "400 `invalid_template`; 409 `template_exists`, `template_name_blocked`; 403 `business_not_verified`"},
	{Name: "template_edit", Method: "PATCH", Path: "/api/v1/templates/{id}", Scope: Record,
		Request: "components?, category?", Data: "T, PENDING",
		Errors: "400 `invalid_template`; 409 `template_not_editable`, `template_edit_limit`"},
	{Name: "template_delete", Method: "DELETE", Path: "/api/v1/templates/{id}", Scope: Record, Errors: "409 `template_not_deletable`"},
	{Name: "template_sync", Method: "POST", Path: "/api/v1/templates/sync", Scope: Connection,
		Request: "C", Data: "`{added, updated, removed}`"},
	{Name: "template_library", Method: "GET", Path: "/api/v1/templates/library", Scope: Account,
		Request: "search?", Data: "`[{name, language, category, components}]`"},
	{Name: "template_analytics", Method: "GET", Path: "/api/v1/templates/{id}/analytics", Scope: Record,
		Request: "start, end", Data: "`[{date, sent, delivered, read}]`", Errors: "400 `outside_window` (90 days)"},
}

var media = []Operation{
	{Name: "media", Method: "POST", Path: "/api/v1/media", Scope: Connection, Shown: true,
		Request: "form: file, C, purpose? (`message`, `template_header`)",
		Data:    "`{assetId, filename, contentType, size, expiresAt}` or `{header_handle, expiresAt}`",
		Errors:  "415 `unsupported_media_type`, 413 `media_too_large`, 400 `media_empty`, 402 `plan_limit_storage`"},
	{Name: "media_list", Method: "GET", Path: "/api/v1/media", Scope: Rows, Follows: "media",
		Request: "C?", Data: "`[{assetId, filename, contentType, size, expiresAt, createdAt}]`"},
	{Name: "media_delete", Method: "DELETE", Path: "/api/v1/media/{assetId}", Scope: Record},
	{Name: "media_storage", Method: "GET", Path: "/api/v1/media/storage", Scope: Rows,
		Request: "C?", Data: "`{usedBytes, limitBytes, files}`"},
}

var campaigns = []Operation{
	{Name: "campaigns", Method: "GET", Path: "/api/v1/campaigns", Scope: Rows, Data: "[K]"},
	{Name: "campaign", Method: "GET", Path: "/api/v1/campaigns/{id}", Scope: Record,
		Data: "K `{id, connectionId, name, template, status, recipients, counts}`"},
	{Name: "campaign_create", Method: "POST", Path: "/api/v1/campaigns", Scope: Connection,
		Request: "C, name, template `{name, language, header?}`, recipients? `[{to, body?, buttons?, otp?}]`", Data: "K, draft",
		Errors: "409 `limit_reached`"},
	{Name: "campaign_add", Method: "POST", Path: "/api/v1/campaigns/{id}/recipients", Scope: Record,
		Request: "recipients (at most 1,000)", Data: "`{added, duplicates, invalid: [{index, error}]}`",
		Errors: "409 `campaign_not_draft`, `limit_reached`"},
	{Name: "campaign_launch", Method: "POST", Path: "/api/v1/campaigns/{id}/launch", Scope: Record, Data: "K, running",
		Errors: "409 `campaign_not_draft`; 400 `send_template`"},
	{Name: "campaign_cancel", Method: "POST", Path: "/api/v1/campaigns/{id}/cancel", Scope: Record, Data: "K, cancelled",
		Errors: "409 `campaign_not_draft`"},
	{Name: "campaign_recipients", Method: "GET", Path: "/api/v1/campaigns/{id}/recipients", Scope: Record,
		Request: "status?", Data: "`[{to, status, messageId?, error?, code?}]`"},
}

var flows = []Operation{
	{Name: "flows", Method: "GET", Path: "/api/v1/flows", Scope: Rows, Request: "C?", Data: "[F]"},
	{Name: "flow", Method: "GET", Path: "/api/v1/flows/{id}", Scope: Record,
		Data: "F `{id, name, status, categories, validationErrors}`"},
	{Name: "flow_create", Method: "POST", Path: "/api/v1/flows", Scope: Connection,
		Request: "C, name, categories, json?", Data: "F, DRAFT", Errors: "409 `limit_reached`"},
	{Name: "flow_update", Method: "PATCH", Path: "/api/v1/flows/{id}", Scope: Record,
		Request: "name?, categories?, json?", Data: "F, DRAFT", Errors: "409 `flow_published`"},
	{Name: "flow_preview", Method: "GET", Path: "/api/v1/flows/{id}/preview", Scope: Record, Data: "`{url, expiresAt}`"},
	{Name: "flow_publish", Method: "POST", Path: "/api/v1/flows/{id}/publish", Scope: Record, Data: "F, PUBLISHED",
		Errors: "400 `flow_invalid`, 409 `flow_published`"},
}

var webhooks = []Operation{
	{Name: "webhooks", Method: "GET", Path: "/api/v1/webhooks", Scope: Rows, Data: "`[{id, url, events}]`"},
	{Name: "webhook_register", Method: "POST", Path: "/api/v1/webhooks", Scope: Account, Shown: true, Follows: "webhooks",
		Request: "url, events?", Data: "`{id, url, secret}`", Errors: "400 `invalid_url`, `invalid_event`; 409 `limit_reached`"},
	{Name: "webhook_delete", Method: "DELETE", Path: "/api/v1/webhooks/{id}", Scope: Record, Follows: "webhooks"},
	{Name: "webhook", Method: "GET", Path: "/api/v1/webhooks/{id}", Scope: Record, Data: "`{id, url, events, active}`"},
	{Name: "webhook_update", Method: "PATCH", Path: "/api/v1/webhooks/{id}", Scope: Record,
		Request: "url?, events?, active?", Data: "`{id, url, events, active}`", Errors: "400 `invalid_url`, `invalid_event`"},
	{Name: "webhook_deliveries", Method: "GET", Path: "/api/v1/webhooks/{id}/deliveries", Scope: Record,
		Request: "state? (pending, delivered, failed)",
		Data:    "`[{id, eventId, type, state, attempts, httpStatus, createdAt}]`, newest first"},
	{Name: "webhook_replay", Method: "POST", Path: "/api/v1/webhooks/replay", Scope: Account,
		Request: "since, until", Data: "`{deliveries}`"},
	{Name: "webhook_replay_one", Method: "POST", Path: "/api/v1/webhooks/{id}/replay", Scope: Record,
		Request: "since, until, events?", Data: "`{deliveries}`"},
}

var accounts = []Operation{
	{Name: "profile", Method: "GET", Path: "/api/v1/profile", Scope: Connection,
		Request: "C", Data: "`{about, address, description, email, websites, category}`, each optional"},
	{Name: "profile_update", Method: "PATCH", Path: "/api/v1/profile", Scope: Connection,
		Request: "C, about?, address?, description?, email?, websites?, category?", Data: "the profile"},
	{Name: "settings", Method: "GET", Path: "/api/v1/conversation-settings", Scope: Connection,
		Request: "C", Data: "`{welcomeMessage, iceBreakers, commands: [{name, description}]}`"},
	{Name: "settings_update", Method: "PUT", Path: "/api/v1/conversation-settings", Scope: Connection,
		Request: "C, welcomeMessage?, iceBreakers?, commands?", Data: "the settings"},
}

var numbers = []Operation{
	{Name: "blocked_users", Method: "GET", Path: "/api/v1/blocked-users", Scope: Connection,
		Request: "C", Data: "`[{phoneNumber, blockedAt}]`"},
	{Name: "block_users", Method: "POST", Path: "/api/v1/blocked-users", Scope: Connection,
		Request: "C, users (at most 1,000)", Data: "`[{user, status, code?}]`: blocked, failed", Errors: "409 `limit_reached`"},
	{Name: "unblock_users", Method: "POST", Path: "/api/v1/blocked-users/unblock", Scope: Connection,
		Request: "C, users (at most 1,000)", Data: "`[{user, status, code?}]`: unblocked, failed"},
	{Name: "qr_codes", Method: "GET", Path: "/api/v1/qr-codes", Scope: Connection,
		Request: "C", Data: "`[{code, prefilledMessage, url}]`"},
	{Name: "qr_codes_create", Method: "POST", Path: "/api/v1/qr-codes", Scope: Connection,
		Request: "C, prefilledMessage", Data: "`{code, prefilledMessage, url}`", Errors: "409 `limit_reached`"},
	{Name: "qr_codes_update", Method: "PATCH", Path: "/api/v1/qr-codes/{code}", Scope: Record,
		Request: "C?, prefilledMessage", Data: "`{code, prefilledMessage, url}`"},
	{Name: "qr_codes_delete", Method: "DELETE", Path: "/api/v1/qr-codes/{code}", Scope: Record, Request: "C?"},
}

var analytics = []Operation{
	{Name: "analytics_messaging", Method: "GET", Path: "/api/v1/analytics/messaging", Scope: Connection,
		Request: "C, start, end", Data: "`[{date, sent, delivered}]`", Errors: "400 `outside_window` (365 days)"},
	{Name: "analytics_conversations", Method: "GET", Path: "/api/v1/analytics/conversations", Scope: Connection,
		Request: "C, start, end", Data: "`[{date, category, conversations}]`", Errors: "400 `outside_window` (365 days)"},
	{Name: "analytics_pricing", Method: "GET", Path: "/api/v1/analytics/pricing", Scope: Connection,
		Request: "C, start, end", Data: "`[{date, category, type, volume, cost}]`", Errors: "400 `outside_window` (365 days)"},
	{Name: "analytics_archive", Method: "GET", Path: "/api/v1/analytics/archive", Scope: Connection,
		Request: "C, start, end", Data: "`[{date, sent, delivered, read, failed}]`"},
}

var billing = []Operation{
	{Name: "billing_subscription", Method: "GET", Path: "/api/v1/billing/subscription", Scope: Partner,
		Data: "`{id, status, connections, pricePerConnection, currency, periodStart, periodEnd}`"},
	{Name: "billing_plan", Method: "GET", Path: "/api/v1/billing/plan", Scope: Partner,
		Data: "`{id, name, messagesPerMonth, storageBytes}`"},
	{Name: "billing_limits", Method: "GET", Path: "/api/v1/billing/limits", Scope: Partner,
		Data: "`{messages, storageBytes, connections}`"},
	{Name: "billing_usage", Method: "GET", Path: "/api/v1/billing/usage", Scope: Partner, Request: "companyId?",
		Data: "`{messagesUsed, messagesLimit (0: none), storageUsedBytes, periodStart, periodEnd}`"},
	{Name: "billing_invoices", Method: "GET", Path: "/api/v1/billing/invoices", Scope: Partner,
		Data: "`[{id, number, status, amount, currency, periodStart, periodEnd}]`"},
}
