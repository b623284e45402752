//! Header fields in one allocation: the form in which they cross between the threads.

use std::io::Write;

/// Name and value pairs, packed one behind the other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fields {
    bytes: Vec<u8>,
    count: usize,
}

const LENGTH: usize = size_of::<u32>();

/// Of the largest number.
const DIGITS: usize = usize::MAX.ilog10() as usize + 1;

impl Fields {
    /// Room for `bytes` bytes of names, values and their lengths.
    pub fn with_capacity(bytes: usize) -> Self {
        Self { bytes: Vec::with_capacity(bytes), count: 0 }
    }

    /// The bytes that a field takes.
    pub const fn size(name: &[u8], value: &[u8]) -> usize {
        2 * LENGTH + name.len() + value.len()
    }

    /// Appends one field. A name or value of 4 GiB or more cannot come from Envoy or be a Ruby
    /// header, and is cut to nothing rather than trusted.
    pub fn push(&mut self, name: &[u8], value: &[u8]) {
        let (Ok(name_length), Ok(value_length)) = (u32::try_from(name.len()), u32::try_from(value.len())) else {
            return;
        };
        self.bytes.extend_from_slice(&name_length.to_ne_bytes());
        self.bytes.extend_from_slice(&value_length.to_ne_bytes());
        self.bytes.extend_from_slice(name);
        self.bytes.extend_from_slice(value);
        self.count += 1;
    }

    /// Appends a field whose value is a number.
    pub fn push_number(&mut self, name: &[u8], number: usize) {
        let mut digits = [0; DIGITS];
        let mut rest = &mut digits[..];
        // There is room for every number.
        let _ = write!(rest, "{number}");
        let unused = rest.len();
        self.push(name, &digits[..DIGITS - unused]);
    }

    /// How many fields there are.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether there is no field.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The fields in order, as (name, value).
    pub fn iter(&self) -> Iter<'_> {
        Iter { rest: &self.bytes }
    }
}

impl<'a> FromIterator<(&'a [u8], &'a [u8])> for Fields {
    fn from_iter<I: IntoIterator<Item = (&'a [u8], &'a [u8])>>(pairs: I) -> Self {
        let mut fields = Self::default();
        for (name, value) in pairs {
            fields.push(name, value);
        }
        fields
    }
}

/// Iterates over [`Fields`].
pub struct Iter<'a> {
    rest: &'a [u8],
}

impl<'a> Iter<'a> {
    fn length(&mut self) -> Option<usize> {
        let (head, rest) = self.rest.split_first_chunk::<LENGTH>()?;
        self.rest = rest;
        Some(u32::from_ne_bytes(*head) as usize)
    }

    fn slice(&mut self, length: usize) -> Option<&'a [u8]> {
        let (slice, rest) = self.rest.split_at_checked(length)?;
        self.rest = rest;
        Some(slice)
    }
}

impl<'a> Iterator for Iter<'a> {
    type Item = (&'a [u8], &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let name_length = self.length()?;
        let value_length = self.length()?;
        Some((self.slice(name_length)?, self.slice(value_length)?))
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn fields_come_back_in_order_with_empty_and_binary_values() {
        let pairs: [(&[u8], &[u8]); 3] = [(b"a", b""), (b"", b"\xff\x00"), (b"a", b"second")];
        let fields: Fields = pairs.into_iter().collect();
        assert_eq!(fields.len(), 3);
        assert_eq!(fields.iter().collect::<Vec<_>>(), pairs);
    }

    #[test]
    fn numbers() {
        let mut fields = Fields::default();
        for number in [0, 10, usize::MAX] {
            fields.push_number(b"n", number);
        }
        let values = fields.iter().map(|(_, value)| String::from_utf8_lossy(value).into_owned());
        assert_eq!(values.collect::<Vec<_>>(), ["0", "10", &usize::MAX.to_string()]);
    }

    #[test]
    fn no_fields() {
        assert!(Fields::default().is_empty());
        assert_eq!(Fields::default().iter().count(), 0);
    }
}
