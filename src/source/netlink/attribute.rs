//! Netlink attributes: read from any bytes, written for requests (`include/uapi/linux/netlink.h`).

use std::str;

/// Bytes of an attribute's header: length and type.
const HEADER: usize = 4;
/// The type without the flags for nesting and byte order.
const TYPE_MASK: u16 = 0x3fff;

/// One attribute. Numbers are of the machine's byte order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attribute<'a> {
    /// Its type, without flags.
    pub kind: u16,
    /// Its payload.
    pub payload: &'a [u8],
}

impl<'a> Attribute<'a> {
    /// The first byte.
    #[must_use]
    pub fn as_u8(&self) -> Option<u8> {
        self.payload.first().copied()
    }

    /// Two bytes.
    #[must_use]
    pub fn as_u16(&self) -> Option<u16> {
        u16_at(self.payload, 0)
    }

    /// Four bytes.
    #[must_use]
    pub fn as_u32(&self) -> Option<u32> {
        u32_at(self.payload, 0)
    }

    /// Eight bytes; four where the sender chose the short form.
    #[must_use]
    pub fn as_u64(&self) -> Option<u64> {
        u64_at(self.payload, 0).or_else(|| self.as_u32().map(u64::from))
    }

    /// Text up to the first NUL; none where it is not UTF-8.
    #[must_use]
    pub fn as_text(&self) -> Option<&'a str> {
        let end = self.payload.iter().position(|byte| *byte == 0);
        str::from_utf8(self.payload.get(..end.unwrap_or(self.payload.len()))?).ok()
    }

    /// The attributes nested in this one.
    #[must_use]
    pub const fn nested(&self) -> Attributes<'a> {
        Attributes::new(self.payload)
    }
}

/// Walks attributes. Ends at the first that does not fit into its bytes.
#[derive(Clone, Debug)]
pub struct Attributes<'a> {
    rest: &'a [u8],
}

impl<'a> Attributes<'a> {
    /// The attributes in `bytes`.
    #[must_use]
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    /// The first attribute of a type.
    #[must_use]
    pub fn get(&self, kind: u16) -> Option<Attribute<'a>> {
        self.clone().find(|attribute| attribute.kind == kind)
    }
}

impl<'a> Iterator for Attributes<'a> {
    type Item = Attribute<'a>;

    fn next(&mut self) -> Option<Attribute<'a>> {
        let length = usize::from(u16_at(self.rest, 0)?);
        let kind = u16_at(self.rest, 2)? & TYPE_MASK;
        let payload = self.rest.get(HEADER..length)?;
        self.rest = self.rest.get(aligned(length)..).unwrap_or_default();
        Some(Attribute { kind, payload })
    }
}

/// Lengths are padded to four bytes.
pub(super) const fn aligned(length: usize) -> usize {
    length.saturating_add(3) & !3
}

/// Two bytes of `bytes` from `at` on.
pub(super) fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(bytes.get(at..at.checked_add(2)?)?.try_into().ok()?))
}

/// Four bytes of `bytes` from `at` on.
pub(super) fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at.checked_add(4)?)?.try_into().ok()?))
}

/// Eight bytes of `bytes` from `at` on.
pub(super) fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(bytes.get(at..at.checked_add(8)?)?.try_into().ok()?))
}

/// The body of a request: a fixed header of the family, then attributes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RequestBody {
    bytes: Vec<u8>,
}

impl RequestBody {
    /// A body that begins with the family's own header.
    #[must_use]
    pub fn with_header(header: &[u8]) -> Self {
        let mut body = Self { bytes: header.to_vec() };
        body.pad();
        body
    }

    /// Adds an attribute. One whose payload is longer than a netlink attribute can be is left out.
    #[must_use]
    pub fn attribute(mut self, kind: u16, payload: &[u8]) -> Self {
        if let Ok(length) = u16::try_from(HEADER + payload.len()) {
            self.bytes.extend(length.to_ne_bytes());
            self.bytes.extend(kind.to_ne_bytes());
            self.bytes.extend(payload);
            self.pad();
        }
        self
    }

    /// Adds a number of four bytes.
    #[must_use]
    pub fn number(self, kind: u16, value: u32) -> Self {
        self.attribute(kind, &value.to_ne_bytes())
    }

    /// Adds a text with its NUL.
    #[must_use]
    pub fn text(self, kind: u16, text: &str) -> Self {
        let mut bytes = text.as_bytes().to_vec();
        bytes.push(0);
        self.attribute(kind, &bytes)
    }

    /// Adds another body's attributes as one nested attribute.
    #[must_use]
    pub fn nested(self, kind: u16, body: &Self) -> Self {
        const NESTED: u16 = 1 << 15;
        self.attribute(kind | NESTED, &body.bytes)
    }

    /// The bytes.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    fn pad(&mut self) {
        self.bytes.resize(aligned(self.bytes.len()), 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let inner = RequestBody::default().number(1, 7).text(2, "mlx5_0");
        let body = RequestBody::default().attribute(5, &[9]).nested(6, &inner).attribute(7, &[]);
        let read: Vec<Attribute<'_>> = Attributes::new(body.bytes()).collect();
        assert_eq!(read.iter().map(|own| own.kind).collect::<Vec<_>>(), [5, 6, 7]);
        assert_eq!(read[0].as_u8(), Some(9));
        let nested = read[1].nested();
        assert_eq!(nested.get(1).unwrap().as_u32(), Some(7));
        assert_eq!(nested.get(2).unwrap().as_text(), Some("mlx5_0"));
        assert_eq!(read[2].payload, b"");
        assert_eq!(read[2].as_u8(), None);
    }

    #[test]
    fn a_length_that_lies_ends_the_walk() {
        let header = |length: u16, kind: u16| [length.to_ne_bytes(), kind.to_ne_bytes()].concat();
        for length in [0, 1, 3, 9, u16::MAX] {
            let mut bytes = header(length, 1);
            bytes.extend([0; 4]);
            let walked: Vec<_> = Attributes::new(&bytes).collect();
            assert!(walked.is_empty(), "{length}: {walked:?}");
        }
        assert_eq!(Attributes::new(&header(4, 1)).count(), 1);
        assert_eq!(Attributes::new(&[]).count(), 0);
    }

    #[test]
    fn any_bytes_end() {
        proptest::proptest!(|(bytes: Vec<u8>)| {
            let mut total = 0;
            for attribute in Attributes::new(&bytes) {
                total += HEADER + attribute.payload.len();
                for nested in attribute.nested() {
                    let _ = (nested.as_u8(), nested.as_u16(), nested.as_u64(), nested.as_text());
                }
            }
            proptest::prop_assert!(total <= bytes.len());
        });
    }
}
