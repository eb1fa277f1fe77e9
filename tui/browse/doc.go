// Package browse is the full-screen explorer of a spool, spoolctl inspect browse: from tenants, namespaces and topics down
// to ledgers, subscriptions, messages and their bytes.
//
// All it shows comes from an inspect.Session, which answers one question at a time. A page asks by way of its job: the read
// runs in a command, with a context that ends when the page is left, and the answer is put into the page by Update. Update
// itself never reads. Long reads, searches, go on in steps, so that others get their turn and the screen tells how far it is.
//
// What belongs here: pages, and moving between them. What does not: what is true of a spool (inspect), tables, pagers and
// keys of movement (tui/component, tui/common). Nothing here writes but an export, into a new file outside of the spool.
package browse
