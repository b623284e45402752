//! Tests that need the VM: one process has one, so that they are the parts of a single test.

use magnus::{Error, RHash, Ruby, Value, prelude::*};

use super::env::EnvBuilder;
use crate::{
    exchange::{Line, Request},
    ffi,
};

#[test]
fn with_the_vm() {
    // A thread of its own, as the owner thread is.
    let thread = std::thread::Builder::new().stack_size(8 << 20).spawn(|| {
        let mut ran = false;
        let started = ffi::vm::run_once(|ruby| {
            for test in [env_has_racks_names, repeated_fields_are_joined, envs_are_independent, upgrades, many_names] {
                test(ruby).expect("no exception");
            }
            ran = true;
        });
        assert_eq!(started, Ok(()));
        assert!(ran);
        assert_eq!(ffi::vm::run_once(|_| ()), Err(ffi::vm::StartError::Twice));
    });
    thread.expect("a thread").join().expect("no panic");
}

fn builder(ruby: &Ruby) -> Result<EnvBuilder, Error> {
    EnvBuilder::new(ruby, ruby.eval(r#"{"rack.run_once" => false}.freeze"#)?)
}

fn line() -> Line<'static> {
    Line {
        method: b"GET",
        target: b"/a%2Fb?c=d",
        scheme: b"https",
        authority: b"[::1]:444",
        protocol: b"HTTP/2",
        peer: b"[2001:db8::1]:5000",
    }
}

fn request(line: Line<'_>, headers: &[(&str, &[u8])]) -> Request {
    let mut request = Request::new(line, 0, false);
    for (name, value) in headers {
        request.push(name.as_bytes(), value);
    }
    request
}

/// Asserts what a block says of `env`.
fn assert_env(ruby: &Ruby, env: RHash, block: &str) -> Result<(), Error> {
    let check: Value = ruby.eval(&format!("->(env) {{ {block} }}"))?;
    let holds: Value = check.funcall("call", (env,))?;
    assert!(holds.to_bool(), "{block}: {}", env.inspect());
    Ok(())
}

fn env_has_racks_names(ruby: &Ruby) -> Result<(), Error> {
    let headers: [(&str, &[u8]); 3] = [("content-type", b"a/b"), ("content-length", b"3"), ("x-y", b"\xff")];
    let env = builder(ruby)?.build(ruby, &request(line(), &headers))?;
    assert_env(
        ruby,
        env,
        r#"env == {
            "rack.run_once" => false, "REQUEST_METHOD" => "GET", "PATH_INFO" => "/a%2Fb", "QUERY_STRING" => "c=d",
            "REQUEST_URI" => "/a%2Fb?c=d", "SERVER_NAME" => "[::1]", "SERVER_PORT" => "444",
            "SERVER_PROTOCOL" => "HTTP/2", "REMOTE_ADDR" => "2001:db8::1", "rack.url_scheme" => "https",
            "HTTP_HOST" => "[::1]:444", "CONTENT_TYPE" => "a/b", "CONTENT_LENGTH" => "3", "HTTP_X_Y" => "\xff".b
        }"#,
    )?;
    assert_env(ruby, env, "env.values.grep(String).all? { |value| value.encoding == Encoding::BINARY }")?;
    let env = builder(ruby)?.build(ruby, &request(Line { authority: b"", ..line() }, &[]))?;
    assert_env(
        ruby,
        env,
        r#"!env.key?("HTTP_HOST") && env.values_at("SERVER_NAME", "SERVER_PORT") == %w[localhost 443]"#,
    )
}

fn repeated_fields_are_joined(ruby: &Ruby) -> Result<(), Error> {
    let headers: [(&str, &[u8]); 4] = [("accept", b"a"), ("cookie", b"b=1"), ("accept", b"c"), ("cookie", b"d=2")];
    let env = builder(ruby)?.build(ruby, &request(line(), &headers))?;
    assert_env(ruby, env, r#"env.values_at("HTTP_ACCEPT", "HTTP_COOKIE") == ["a, c", "b=1; d=2"]"#)
}

fn envs_are_independent(ruby: &Ruby) -> Result<(), Error> {
    let mut builder = builder(ruby)?;
    let first = builder.build(ruby, &request(line(), &[("x-y", b"1")]))?;
    assert_env(ruby, first, r#"env["HTTP_X_Y"] << "2"; env["PATH_INFO"] << "z"; env.clear; env.freeze"#)?;
    let second = builder.build(ruby, &request(line(), &[("x-y", b"1")]))?;
    assert_env(ruby, second, r#"env["HTTP_X_Y"] == "1" && env["PATH_INFO"] == "/a%2Fb" && !env.frozen?"#)
}

fn upgrades(ruby: &Ruby) -> Result<(), Error> {
    let env = builder(ruby)?.build(ruby, &request(line(), &[("upgrade", b"websocket, h2c")]))?;
    assert_env(ruby, env, r#"env["rack.protocol"] == %w[websocket h2c]"#)
}

/// More names than are remembered, with the garbage collector at work.
fn many_names(ruby: &Ruby) -> Result<(), Error> {
    let mut builder = builder(ruby)?;
    for number in (0..600).chain(0..600) {
        if number % 100 == 0 {
            ruby.gc_start();
        }
        let name = format!("x-{number}");
        let env = builder.build(ruby, &request(line(), &[(&name, b"v")]))?;
        assert_env(ruby, env, &format!(r#"env["HTTP_X_{number}"] == "v""#))?;
    }
    Ok(())
}
