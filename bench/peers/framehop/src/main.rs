//! framehop-peer FILE: what framehop takes for the stack that `unwind --stack` wrote.
//!
//! Prints walk_ns=TIME walk_frames=NUMBER; the time is time on the clock, the least of several runs.
use framehop::x86_64::{CacheX86_64, UnwindRegsX86_64, UnwinderX86_64};
use framehop::{ExplicitModuleSectionInfo, MayAllocateDuringUnwind, Module, Unwinder};
use std::ops::Range;
use std::time::Instant;

const RUNS: usize = 9;
const WALKS: usize = 20000;

fn number(text: &str) -> u64 {
    u64::from_str_radix(text, 16).expect("a number")
}

fn word(bytes: &[u8], at: usize, size: usize) -> u64 {
    (0..size).rev().fold(0, |value, i| value << 8 | u64::from(bytes[at + i]))
}

/// Addresses and bytes of a section of a 64-bit little-endian ELF file.
fn section(file: &[u8], name: &str) -> Option<(Range<u64>, Vec<u8>)> {
    let (table, size) = (word(file, 40, 8) as usize, word(file, 58, 2) as usize);
    let header = |i: usize| &file[table + i * size..table + (i + 1) * size];
    let names = word(header(word(file, 62, 2) as usize), 24, 8) as usize;

    (0..word(file, 60, 2) as usize).map(header).find_map(|found| {
        let text = &file[names + word(found, 0, 4) as usize..];
        let (vaddr, offset, size) = (word(found, 16, 8), word(found, 24, 8) as usize, word(found, 32, 8));

        (text.starts_with(name.as_bytes()) && text[name.len()] == 0)
            .then(|| (vaddr..vaddr + size, file[offset..offset + size as usize].to_vec()))
    })
}

fn module(words: &[&str]) -> Module<Vec<u8>> {
    let file = std::fs::read(words[3]).expect("an object");
    let (text_svma, text) = section(&file, ".text").unzip();
    let (eh_frame_svma, eh_frame) = section(&file, ".eh_frame").unzip();
    let (eh_frame_hdr_svma, eh_frame_hdr) = section(&file, ".eh_frame_hdr").unzip();

    Module::new(
        words[3].to_string(),
        number(words[0])..number(words[1]),
        number(words[2]),
        ExplicitModuleSectionInfo {
            base_svma: 0,
            text_svma,
            text,
            eh_frame_svma,
            eh_frame,
            eh_frame_hdr_svma,
            eh_frame_hdr,
            ..Default::default()
        },
    )
}

fn main() {
    let path = std::env::args().nth(1).expect("usage: framehop-peer FILE");
    let mut cache = CacheX86_64::<MayAllocateDuringUnwind>::new_in();
    let mut unwinder = UnwinderX86_64::<Vec<u8>, MayAllocateDuringUnwind>::new();
    let (mut registers, mut stack, mut start) = ([0; 17], Vec::new(), 0);

    for line in std::fs::read_to_string(path).expect("a stack").lines() {
        let words: Vec<&str> = line.split(' ').collect();
        match words[0] {
            "register" => registers[number(words[1]) as usize] = number(words[2]),
            "object" => unwinder.add_module(module(&words[1..])),
            _ => {
                start = number(words[1]);
                stack = (0..words[2].len() / 16)
                    .map(|i| number(&words[2][16 * i..16 * i + 16]).swap_bytes())
                    .collect();
            }
        }
    }
    let mut read = |address: u64| stack.get((address.wrapping_sub(start) / 8) as usize).copied().ok_or(());
    let (mut least, mut frames) = (f64::INFINITY, 0);
    for _ in 0..RUNS {
        let begin = Instant::now();
        for _ in 0..WALKS {
            let first = UnwindRegsX86_64::new(registers[16], registers[7], registers[6]);
            let mut walk = unwinder.iter_frames(registers[16], first, &mut cache, &mut read);
            frames = 0;
            while let Ok(Some(_)) = walk.next() {
                frames += 1;
            }
        }
        least = least.min(begin.elapsed().as_secs_f64());
    }
    println!("walk_ns={:.0} walk_frames={}", 1e9 * least / WALKS as f64, frames);
}
