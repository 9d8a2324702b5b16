// Package wirelog keeps the wire log of one process: which attempts it posted, or was about to post
// (docs/protocol.md#wire-log). internal/daemon opens it, campaign/sender writes into it before the
// first byte of each request, and the next process in the same folder reads it.
//
// It promises that an attempt that was granted to a dead process, has no durable result and is not
// in the process's log was never on the wire. A write goes to the page cache and is never synced:
// the cache belongs to the kernel, so the death of a process loses nothing of it, and the death of
// the kernel changes the boot id. A log of another boot, and one that is damaged or copied, proves
// nothing.
//
// # The file
//
// The file is a table of entries, not a journal. It has a header of one page and entries of 32
// bytes:
//
//	page 0   text, one line each: magic, boot, ledger, owner, inode; then the CRC of these lines
//	  +4080  number of entries, uint32; its CRC, uint32
//	entry i  run, seq, epoch: uint64; attempt: uint32, 0 in a free entry; CRC, uint32
//
// Numbers are little endian. Each CRC is CRC-32C. That of an entry begins with the CRC of the
// header and the number of the entry, so an entry that was copied from elsewhere, and a page of
// zeros, are damage. An entry is written again only when the result of its attempt is durable. When
// no entry is free, the file grows.
package wirelog
