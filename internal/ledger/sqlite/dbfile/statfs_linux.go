package dbfile

import "syscall"

// networkFS names the network file system that dir is on, "" for a local one.
func networkFS(dir string) string {
	var s syscall.Statfs_t
	if syscall.Statfs(dir, &s) != nil {
		return "" // opening the file returns the better error
	}
	return networkName(uint32(s.Type))
}

// networkName names a network file system by its magic number, as in
// https://man7.org/linux/man-pages/man2/statfs.2.html. FUSE counts as one: sshfs and mounts of
// object stores use it, and statfs does not tell them from local FUSE file systems.
func networkName(magic uint32) string {
	switch magic {
	case 0x6969:
		return "NFS"
	case 0x517b, 0xff534d42, 0xfe534d42:
		return "SMB"
	case 0x65735546:
		return "FUSE"
	case 0x5346414f, 0x6b414653:
		return "AFS"
	case 0x00c36400:
		return "CephFS"
	case 0x0bd00bd0:
		return "Lustre"
	case 0x01161970:
		return "GFS2"
	}
	return ""
}
