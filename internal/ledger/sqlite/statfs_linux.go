package sqlite

import "syscall"

// networkFS names the network file system that dir is on, "" for a local one. The
// magic numbers are those of statfs(2). FUSE is among them: sshfs and bucket mounts
// use it, and nothing tells them from local ones.
func networkFS(dir string) string {
	var s syscall.Statfs_t
	if syscall.Statfs(dir, &s) != nil {
		return "" // opening the file will say it better
	}
	switch uint32(s.Type) {
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
