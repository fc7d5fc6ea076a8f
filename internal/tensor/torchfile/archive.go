package torchfile

import (
	"encoding/binary"
	"hash/crc32"
)

// Numbers of the zip format (https://pkware.cachefly.net/webdocs/casestudies/APPNOTE.TXT, 4.3 and 4.5.3).
const (
	localSignature      = 0x04034b50
	descriptorSignature = 0x08074b50
	entrySignature      = 0x02014b50
	endSignature        = 0x06054b50
	end64Signature      = 0x06064b50
	locator64Signature  = 0x07064b50
	extra64             = 1      // extra field with sizes and offset of 8 bytes
	version64           = 45     // of the format, for files of 4 GiB or more
	hasDescriptor       = 1 << 3 // flag: checksum and sizes follow the data
	most32              = 1<<32 - 1
	localHeader         = 30 // bytes of the fixed part of a local file header
	extraHeader         = 4  // bytes before the content of an extra field
)

// archive is a zip archive of records that are not compressed, without the bytes of the tensor. Its bytes are those of
// archive/zip, which is too slow for small tensors.
type archive struct {
	out     []byte
	skipped int64 // bytes of the tensor
	records []record
}

// record is one file of an archive.
type record struct {
	name    string
	offset  int64 // of the local header
	size    int64
	crc     uint32
	flags   uint16
	padding int // of the extra field that aligns the data
}

func (r record) large() bool { return r.size >= most32 || r.offset >= most32 }

func (a *archive) u16(values ...uint16) {
	for _, v := range values {
		a.out = binary.LittleEndian.AppendUint16(a.out, v)
	}
}

func (a *archive) u32(values ...uint32) {
	for _, v := range values {
		a.out = binary.LittleEndian.AppendUint32(a.out, v)
	}
}

func (a *archive) u64(values ...int64) {
	for _, v := range values {
		a.out = binary.LittleEndian.AppendUint64(a.out, uint64(v)) //nolint:gosec // never negative
	}
}

// at returns the offset of the next byte in the file.
func (a *archive) at() int64 { return int64(len(a.out)) + a.skipped }

// add adds a record with its data.
func (a *archive) add(name string, data []byte) {
	a.header(record{name: name, size: int64(len(data)), crc: crc32.ChecksumIEEE(data)})
	a.out = append(a.out, data...)
}

// skip adds a record without its data, whose checksum is only known after the data. It is therefore in a data
// descriptor, as in the files of PyTorch. skip returns the length of the archive before the data.
func (a *archive) skip(name string, size int64) int {
	a.header(record{name: name, size: size, flags: hasDescriptor})
	head := len(a.out)
	a.skipped += size
	a.u32(descriptorSignature, 0)
	if a.records[len(a.records)-1].large() {
		a.u64(size, size)
	} else {
		a.u32(uint32(size), uint32(size)) //nolint:gosec // below 2^32
	}
	return head
}

// header adds the local header of a record, padded so that its data is aligned.
func (a *archive) header(r record) {
	r.offset = a.at()
	start := r.offset + localHeader + extraHeader + int64(len(r.name))
	r.padding = int((alignment - start%alignment) % alignment)
	a.records = append(a.records, r)
	a.u32(localSignature)
	a.u16(0, r.flags, 0, 0, 0) // version, flags, method, time, date
	if r.flags == hasDescriptor {
		a.u32(0, 0, 0)
	} else {
		a.u32(r.crc, uint32(r.size), uint32(r.size)) //nolint:gosec // a small record
	}
	a.u16(uint16(len(r.name)), uint16(extraHeader+r.padding)) //nolint:gosec // short
	a.out = append(a.out, r.name...)
	a.pad(r)
}

func (a *archive) pad(r record) {
	a.out = append(a.out, "FB"...)
	a.u16(uint16(r.padding)) //nolint:gosec // below the alignment
	for range r.padding {
		a.out = append(a.out, 'Z')
	}
}

// close adds the directory. It returns the position of the checksum of each record in the archive.
func (a *archive) close() []int {
	start := a.at()
	sums := make([]int, len(a.records))
	for i, r := range a.records {
		sums[i] = len(a.out) + 16
		a.entry(r)
	}
	end := a.at()
	count, size, offset := uint16(len(a.records)), uint32(end-start), uint32(min(start, most32)) //nolint:gosec // short
	if start >= most32 {
		a.u32(end64Signature)
		a.u64(44) // bytes of the rest of this structure
		a.u16(version64, version64)
		a.u32(0, 0) // disks
		a.u64(int64(count), int64(count), end-start, start)
		a.u32(locator64Signature, 0)
		a.u64(end)
		a.u32(1) // disks
		count, size = 1<<16-1, most32
	}
	a.u32(endSignature)
	a.u16(0, 0, count, count) // disks, records
	a.u32(size, offset)
	a.u16(0) // comment
	return sums
}

// entry adds the entry of a record to the directory.
func (a *archive) entry(r record) {
	size, extra := uint32(min(r.size, most32)), extraHeader+r.padding //nolint:gosec // at most 2^32-1
	if r.large() {
		size, extra = most32, extra+extraHeader+3*8
	}
	a.u32(entrySignature)
	a.u16(0, 0, r.flags, 0, 0, 0) // versions, flags, method, time, date
	a.u32(r.crc, size, size)
	a.u16(uint16(len(r.name)), uint16(extra), 0, 0, 0) //nolint:gosec // short; comment, disk, attributes
	a.u32(0, uint32(min(r.offset, most32)))            //nolint:gosec // attributes; at most 2^32-1
	a.out = append(a.out, r.name...)
	a.pad(r)
	if r.large() {
		a.u16(extra64, 3*8)
		a.u64(r.size, r.size, r.offset)
	}
}
