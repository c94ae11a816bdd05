package dwarf

// Attribute forms (DWARF 5, table 7.6, and the GNU extensions).
const (
	formAddr          = 0x01
	formBlock2        = 0x03
	formBlock4        = 0x04
	formData2         = 0x05
	formData4         = 0x06
	formData8         = 0x07
	formString        = 0x08
	formBlock         = 0x09
	formBlock1        = 0x0a
	formData1         = 0x0b
	formFlag          = 0x0c
	formSdata         = 0x0d
	formStrp          = 0x0e
	formUdata         = 0x0f
	formRefAddr       = 0x10
	formRef1          = 0x11
	formRef2          = 0x12
	formRef4          = 0x13
	formRef8          = 0x14
	formRefUdata      = 0x15
	formIndirect      = 0x16
	formSecOffset     = 0x17
	formExprloc       = 0x18
	formFlagPresent   = 0x19
	formStrx          = 0x1a
	formAddrx         = 0x1b
	formRefSup4       = 0x1c
	formStrpSup       = 0x1d
	formData16        = 0x1e
	formLineStrp      = 0x1f
	formRefSig8       = 0x20
	formImplicitConst = 0x21
	formLoclistx      = 0x22
	formRnglistx      = 0x23
	formRefSup8       = 0x24
	formStrx1         = 0x25
	formStrx2         = 0x26
	formStrx3         = 0x27
	formStrx4         = 0x28
	formAddrx1        = 0x29
	formAddrx2        = 0x2a
	formAddrx3        = 0x2b
	formAddrx4        = 0x2c
	formGNUAddrIndex  = 0x1f01
	formGNUStrIndex   = 0x1f02
	formGNURefAlt     = 0x1f20
	formGNUStrpAlt    = 0x1f21
)

// Attributes that debug/dwarf has no name for.
const (
	attrGNUDwoName    = 0x2130
	attrGNUDwoID      = 0x2131
	attrGNURangesBase = 0x2132
	attrGNUAddrBase   = 0x2133
	attrMIPSLinkage   = 0x2007
)

// An encoding is what the size of forms depends on.
type encoding struct {
	version    uint8
	addrSize   uint8
	offsetSize uint8
}

// variable says that a form's size is not fixed.
const variable = -1

// size returns a form's size in bytes, or variable.
func (e encoding) size(form uint16) int {
	switch form {
	case formAddr:
		return int(e.addrSize)
	case formData1, formRef1, formFlag, formStrx1, formAddrx1:
		return 1
	case formData2, formRef2, formStrx2, formAddrx2:
		return 2
	case formStrx3, formAddrx3:
		return 3
	case formData4, formRef4, formRefSup4, formStrx4, formAddrx4:
		return 4
	case formData8, formRef8, formRefSig8, formRefSup8:
		return 8
	case formData16:
		return 16
	case formStrp, formSecOffset, formLineStrp, formStrpSup, formGNURefAlt, formGNUStrpAlt:
		return int(e.offsetSize)
	case formRefAddr:
		if e.version <= 2 {
			return int(e.addrSize)
		}
		return int(e.offsetSize)
	case formFlagPresent, formImplicitConst:
		return 0
	}
	return variable
}

// A value is an attribute's value as it stands in .debug_info.
type value struct {
	form uint16
	// u is the number, index or offset. Of formString it is the offset of
	// the string, of blocks the offset of the first byte, in the bytes that
	// the cursor runs over.
	u uint64
}

// present reports whether the attribute was there.
func (v value) present() bool { return v.form != 0 }

// skipForm passes over a value of variable size.
func skipForm(b *buf, e encoding, form uint16) {
	switch form {
	case formString:
		b.skipString()
	case formUdata, formRefUdata, formStrx, formAddrx, formLoclistx, formRnglistx, formGNUAddrIndex, formGNUStrIndex, formSdata:
		for b.pos < len(b.b) && b.b[b.pos] >= 0x80 {
			b.pos++
		}
		b.skip(1)
	case formBlock, formExprloc:
		b.skip(b.uleb())
	case formBlock1:
		b.skip(uint64(b.u8()))
	case formBlock2:
		b.skip(uint64(b.u16()))
	case formBlock4:
		b.skip(uint64(b.u32()))
	case formIndirect:
		// An indirect form that names itself would be endless.
		f := b.uleb()
		if f == formIndirect || f == formImplicitConst || f > 0xffff {
			b.failed = true
			return
		}
		if n := e.size(uint16(f)); n >= 0 {
			b.skip(uint64(n))
		} else {
			skipForm(b, e, uint16(f))
		}
	default:
		b.failed = true
	}
}

// read reads a value; implicit is the constant of formImplicitConst.
func read(b *buf, e encoding, form uint16, implicit int64) value {
	v := value{form: form}
	switch form {
	case formImplicitConst:
		v.u = uint64(implicit)
	case formFlagPresent:
		v.u = 1
	case formStrx3, formAddrx3:
		v.u = uint64(b.u24())
	case formSdata:
		v.u = uint64(b.sleb())
	case formUdata, formRefUdata, formStrx, formAddrx, formLoclistx, formRnglistx, formGNUAddrIndex, formGNUStrIndex:
		v.u = b.uleb()
	case formString:
		v.u = uint64(b.pos)
		b.skipString()
	case formIndirect:
		f := b.uleb()
		if f == formIndirect || f == formImplicitConst || f > 0xffff {
			b.failed = true
			return value{}
		}
		return read(b, e, uint16(f), 0)
	case formData16:
		v.u = uint64(b.pos)
		b.skip(16)
	default:
		if n := e.size(form); n > 0 {
			v.u = b.uint(n)
		} else {
			v.u = uint64(b.pos)
			skipForm(b, e, form)
		}
	}
	return v
}

// constant reports whether the value is a number and not an address.
func (v value) constant() bool {
	switch v.form {
	case formData1, formData2, formData4, formData8, formUdata, formSdata, formImplicitConst:
		return true
	}
	return false
}
