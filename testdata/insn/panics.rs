// panics - a panic that is caught, closures, and dynamic dispatch.
use std::collections::HashMap;
use std::panic;

trait Shape {
    fn area(&self) -> u64;
}
struct Square(u64);
struct Line;
impl Shape for Square {
    #[inline(never)]
    fn area(&self) -> u64 {
        self.0 * self.0
    }
}
impl Shape for Line {
    #[inline(never)]
    fn area(&self) -> u64 {
        0
    }
}

#[inline(never)]
fn fail_at(n: u64) -> u64 {
    if n == 0 {
        panic!("here");
    }
    fail_at(n - 1) + 1
}

fn main() {
    panic::set_hook(Box::new(|_| {}));
    let caught = panic::catch_unwind(|| fail_at(5)).is_err();
    let shapes: Vec<Box<dyn Shape>> = vec![Box::new(Square(3)), Box::new(Line), Box::new(Square(4))];
    let mut areas = HashMap::new();
    for (i, shape) in shapes.iter().enumerate() {
        areas.insert(i, shape.area());
    }
    println!("{} {}", caught, areas.values().sum::<u64>());
}
