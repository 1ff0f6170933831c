// A program with two functions that burn CPU, profiled by pyroscope-rs.
use pyroscope::backend::{pprof_backend, BackendConfig, PprofConfig};
use pyroscope::pyroscope::PyroscopeAgentBuilder;
use std::hint::black_box;
use std::time::Instant;

fn cpu_seconds() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut time) };
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

#[inline(never)]
fn spin(count: u64) -> u64 {
    (0..count).fold(0, |sum, i| black_box(sum + i % 7))
}

#[inline(never)]
fn light(seconds: f64) {
    let end = cpu_seconds() + seconds;
    while cpu_seconds() < end {
        black_box(spin(10000));
    }
}

#[inline(never)]
fn heavy(seconds: f64) {
    let end = cpu_seconds() + seconds;
    while cpu_seconds() < end {
        black_box(spin(20000));
    }
}

fn measure(run: fn(f64), seconds: f64) -> String {
    let (cpu, wall) = (cpu_seconds(), Instant::now());
    run(seconds);
    format!("{{\"cpu\": {}, \"wall\": {}}}", cpu_seconds() - cpu, wall.elapsed().as_secs_f64())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let server = std::env::var("SERVER")?;
    let backend = pprof_backend(PprofConfig::default(), BackendConfig::default());
    let agent = PyroscopeAgentBuilder::new(&server, "sdk-rust", 100, "pyroscope-rs", env!("CARGO_PKG_VERSION"), backend)
        .tags(vec![("env", "test")])
        .build()?;
    let running = agent.start()?;
    let measured = format!("{{\"light\": {}, \"heavy\": {}}}", measure(light, 1.0), measure(heavy, 3.0));
    running.stop()?.shutdown();
    println!("{measured}");
    Ok(())
}
