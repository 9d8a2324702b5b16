package dbfile

import "testing"

// The numbers are those of the manual page statfs(2), in its order.
func TestNetworkFileSystemsAreKnownByTheirNumbers(t *testing.T) {
	for magic, want := range map[uint32]string{
		0x5346414f: "AFS", 0x6b414653: "AFS", 0x00c36400: "CephFS", 0xff534d42: "SMB", 0x65735546: "FUSE", 0x01161970: "GFS2",
		0x0bd00bd0: "Lustre", 0x6969: "NFS", 0xfe534d42: "SMB", 0x517b: "SMB",
		0x61756673: "", 0x9123683e: "", 0xef53: "", 0x01021994: "", 0x58465342: "", 0x2fc12fc1: "", // aufs, btrfs, ext4, tmpfs, XFS, ZFS
	} {
		if got := networkName(magic); got != want {
			t.Errorf("%#x: got %q, want %q", magic, got, want)
		}
	}
	if got := networkFS(t.TempDir() + "/none"); got != "" {
		t.Errorf("a folder that is not there: got %q, want none", got)
	}
}
