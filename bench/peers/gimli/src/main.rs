//! gimli-peer FILE: reads hexadecimal addresses, one a line, and prints for each the frames that gimli's addr2line finds, innermost
//! first, as `addr2line -i -f` does.  The file is mapped; its sections must not be compressed.  What a user of the crate would write.
use std::io::{self, BufRead, Write};
use std::os::raw::{c_int, c_void};
use std::os::unix::io::AsRawFd;

use addr2line::Context;
use gimli::{EndianSlice, LittleEndian};

extern "C" {
    fn mmap(at: *mut c_void, size: usize, access: c_int, flags: c_int, fd: c_int, offset: i64) -> *mut c_void;
}

fn map(path: &str) -> io::Result<&'static [u8]> {
    let file = std::fs::File::open(path)?;
    let size = file.metadata()?.len() as usize;
    // PROT_READ, MAP_PRIVATE; never unmapped.
    let at = unsafe { mmap(std::ptr::null_mut(), size, 1, 2, file.as_raw_fd(), 0) };
    if at as isize == -1 {
        return Err(io::Error::last_os_error());
    }
    Ok(unsafe { std::slice::from_raw_parts(at as *const u8, size) })
}

fn number(bytes: &[u8], offset: usize, size: usize) -> usize {
    (0..size).rev().fold(0, |value, i| value << 8 | bytes[offset + i] as usize)
}

/// The bytes of a section of a 64-bit little-endian object.
fn section(file: &'static [u8], wanted: &str) -> &'static [u8] {
    let (table, entry) = (number(file, 0x28, 8), number(file, 0x3a, 2));
    let names = number(file, table + number(file, 0x3e, 2) * entry + 0x18, 8);
    for i in 0..number(file, 0x3c, 2) {
        let header = table + i * entry;
        let name = names + number(file, header, 4);
        if file[name..].starts_with(wanted.as_bytes()) && file[name + wanted.len()] == 0 {
            assert!(number(file, header + 8, 8) & 0x800 == 0, "{} is compressed", wanted);
            let start = number(file, header + 0x18, 8);
            return &file[start..start + number(file, header + 0x20, 8)];
        }
    }
    &[]
}

fn main() {
    let path = std::env::args().nth(1).expect("gimli-peer FILE");
    let file = map(&path).expect(&path);
    let dwarf = gimli::Dwarf::load(|id| -> Result<_, gimli::Error> { Ok(EndianSlice::new(section(file, id.name()), LittleEndian)) })
        .expect("sections");
    let context = Context::from_dwarf(dwarf).expect("units");
    let mut output = io::BufWriter::with_capacity(1 << 16, io::stdout().lock());
    for line in io::stdin().lock().lines() {
        let address = u64::from_str_radix(line.expect("input").trim_start_matches("0x"), 16).unwrap_or(0);
        let mut frames = context.find_frames(address).expect("frames");
        let mut any = false;
        while let Some(frame) = frames.next().expect("frame") {
            let name = frame.function.as_ref().and_then(|f| f.raw_name().ok());
            let (file, line) = frame.location.map_or((None, None), |l| (l.file, l.line));
            writeln!(output, "{}\n{}:{}", name.as_deref().unwrap_or("??"), file.unwrap_or("??"), line.unwrap_or(0)).expect("output");
            any = true;
        }
        if !any {
            writeln!(output, "??\n??:0").expect("output");
        }
    }
}
