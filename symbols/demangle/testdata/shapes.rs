//! Kinds of functions that Rust has, for the names of their symbols.
#![crate_name = "shapes"]
use std::fmt::{self, Display};

pub mod geometry {
    pub trait Area {
        const SIDES: usize;
        fn area(&self) -> u32;
        #[inline(never)]
        fn describe(&self) -> String { format!("{} {}", self.area(), Self::SIDES) }
    }
    pub struct Square(pub u32);
    impl Area for Square {
        const SIDES: usize = 4;
        #[inline(never)]
        fn area(&self) -> u32 { self.0 * self.0 }
    }
    pub struct Pair<T>(pub T, pub T);
    impl<T: Clone> Pair<T> {
        #[inline(never)]
        pub fn swap(&self) -> Pair<T> { Pair(self.1.clone(), self.0.clone()) }
    }
    impl<T: Area> Area for Pair<T> {
        const SIDES: usize = 8;
        #[inline(never)]
        fn area(&self) -> u32 { self.0.area() + self.1.area() }
    }
    impl<T: Area, const N: usize> Area for [T; N] {
        const SIDES: usize = N;
        #[inline(never)]
        fn area(&self) -> u32 { self.iter().map(|s| s.area()).sum() }
    }
}
use geometry::{Area, Pair, Square};

impl Display for Square {
    #[inline(never)]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result { write!(f, "square {}", self.0) }
}
impl Drop for Square {
    #[inline(never)]
    fn drop(&mut self) { std::hint::black_box(self.0); }
}
#[inline(never)]
fn largest<T: PartialOrd + Copy>(list: &[T]) -> T {
    let mut best = list[0];
    for v in list { if *v > best { best = *v; } }
    best
}
#[inline(never)]
fn apply<F: FnMut(u32) -> u32>(mut f: F) -> u32 { f(1) + f(2) }
#[inline(never)]
fn dynamic(a: &dyn Fn(&str) -> usize) -> usize { a("x") }
#[inline(never)]
fn fill<const N: usize>(v: u8) -> [u8; N] { [v; N] }
#[inline(never)]
unsafe extern "C" fn callback(x: i32) -> i32 { std::hint::black_box(x) }
#[no_mangle]
#[inline(never)]
pub extern "C" fn plain(x: i32) -> i32 { x + 1 }
#[inline(never)]
fn größe(x: u32) -> u32 { std::hint::black_box(x) }

fn main() {
    fn nested(x: u32) -> u32 { std::hint::black_box(x) }
    let n = std::env::args().count() as u32;
    let s = [Square(n), Square(2)];
    let p = Pair(3u8, 4u8).swap();
    println!("{} {} {}", s.area(), Square(5).describe(), Square(6));
    let mut sum = 0;
    let a = apply(|x| { sum += x; (0..x).map(|y| std::hint::black_box(y) * n).sum::<u32>() });
    let d = dynamic(&|t| std::hint::black_box(t.len()));
    let f: unsafe extern "C" fn(i32) -> i32 = callback;
    println!("{} {} {} {} {}", a, d, sum, largest(&[1.5, 2.5]), largest(&["a", "b"]));
    println!("{:?} {} {} {} {} {}", fill::<3>(p.0), unsafe { f(1) }, plain(2), nested(3), größe(4), Pair(Square(1), Square(2)).area());
}
