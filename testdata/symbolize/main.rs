mod shapes {
    pub trait Area {
        fn area(&self) -> f64;
    }

    pub struct Square(pub f64);

    impl Area for Square {
        #[inline(never)]
        fn area(&self) -> f64 {
            self.0 * self.0
        }
    }
}

use shapes::Area;

#[inline(never)]
fn apply<F: Fn(u32) -> u32>(function: F, value: u32) -> u32 {
    function(value) + 1
}

fn main() {
    let count = std::env::args().count() as u32;
    let mut values: Vec<u32> = (0..count * 10).map(|x| x ^ count).collect();
    values.sort();
    let sum: u32 = values.iter().sum();
    println!("{} {} {}", apply(|x| x * count, 3), shapes::Square(count as f64).area(), sum);
}
