# frozen_string_literal: true

# Parity cases: how bodies of requests are framed, and several requests on a connection.

module Parity
  chunked = "Transfer-Encoding: chunked\n"
  # Puma has read the body before the application is called.
  unknown_length = { differs: { "CONTENT_LENGTH" => nil }, clause: :chunked_length }
  abc = "3\r\nabc\r\n0\r\n\r\n"

  post "a length", "Content-Length: 3\n", "abc"
  post "a length of 0", "Content-Length: 0\n", ""
  post "no length", "", ""
  post "leading zeros", "Content-Length: 003\n", "abc"
  post "a tab before the length", "Content-Length:\t3\n", "abc"
  %w[+3 -3 3x 0x3 3.0 3\ 4].each { |length| post "a length of #{length}", "Content-Length: #{length}\n", "abc" }
  post "an empty length", "Content-Length: \n", "abc"
  post "the same length twice", "Content-Length: 3\nContent-Length: 3\n", "abc"
  post "two lengths", "Content-Length: 3\nContent-Length: 4\n", "abcd"
  post "the same length twice in one field", "Content-Length: 3, 3\n", "abc"
  post "two lengths in one field", "Content-Length: 3, 4\n", "abcd"
  post "a length before chunked", "Content-Length: 3\n#{chunked}", abc, **refused(:both_framings)
  post "a length after chunked", "#{chunked}Content-Length: 3\n", abc, **refused(:both_framings)
  post "binary bytes", "Content-Length: 8\n", "\0\xFF\r\n\r\nGE".b
  %w[GET DELETE HEAD OPTIONS PATCH].each do |verb|
    request "a body of #{verb}", "#{verb} /a HTTP/1.1", "Content-Length: 3\n", "abc"
  end

  post "chunked", chunked, abc, **unknown_length
  post "chunked of nothing", chunked, "0\r\n\r\n", **unknown_length
  post "two chunks", chunked, "3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n", **unknown_length
  post "chunked in upper case", "Transfer-Encoding: CHUNKED\n", abc, **unknown_length
  post "a tab before chunked", "Transfer-Encoding:\tchunked\n", abc, **unknown_length
  post "a chunk of A bytes", chunked, "A\r\n0123456789\r\n0\r\n\r\n", **unknown_length
  post "a chunk of a bytes", chunked, "a\r\n0123456789\r\n0\r\n\r\n", **unknown_length
  post "leading zeros of a chunk", chunked, "0003\r\nabc\r\n000\r\n\r\n", **unknown_length
  post "a chunk extension", chunked, "3;a=b\r\nabc\r\n0\r\n\r\n", **unknown_length
  post "a quoted chunk extension", chunked, "3;a=\"b\"\r\nabc\r\n0;c\r\n\r\n", **unknown_length
  post "a space before a chunk extension", chunked, "3 ;a\r\nabc\r\n0\r\n\r\n", **served(:bad_whitespace)
  post "a space after a chunk's size", chunked, "3 \r\nabc\r\n0\r\n\r\n", **unknown_length
  post "trailers", "Trailer: X-T\n#{chunked}", "3\r\nabc\r\n0\r\nX-T: 1\r\n\r\n", **unknown_length
  post "trailers that nobody announced", chunked, "3\r\nabc\r\n0\r\nX-T: 1\r\n\r\n", **unknown_length
  post "a length among the trailers", chunked, "3\r\nabc\r\n0\r\nContent-Length: 5\r\n\r\n", **unknown_length
  post "a trailer that is no field", chunked, "3\r\nabc\r\n0\r\nX T: 1\r\n\r\n", **refused(:bad_trailer)
  %w[0x3 +3 -1 g].each { |size| post "a chunk of #{size} bytes", chunked, "#{size}\r\nabc\r\n0\r\n\r\n" }
  post "a chunk of no size", chunked, "\r\nabc\r\n0\r\n\r\n", **refused(:bad_chunk)
  post "a chunk of an impossible size", chunked, "ffffffffffffffffff\r\nabc\r\n0\r\n\r\n", **refused(:bad_chunk)
  post "a chunk with more than its size", chunked, "2\r\nabc\r\n0\r\n\r\n"
  request "chunked in a GET", "GET /a HTTP/1.1", chunked, abc, **unknown_length
  request "chunked in HTTP/1.0", "POST /a HTTP/1.0", chunked, abc, **unknown_length

  post "gzip and chunked", "Transfer-Encoding: gzip, chunked\n", abc, **refused(:transfer_codings, 501)
  post "gzip alone", "Transfer-Encoding: gzip\n", "abc", **refused(:transfer_codings, 501)
  post "chunked twice", "Transfer-Encoding: chunked, chunked\n", abc, **refused(:transfer_codings, 501)
  post "chunked in two fields", chunked * 2, abc, **refused(:transfer_codings, 501)
  post "chunked, then identity", "Transfer-Encoding: chunked, identity\n", abc, **refused(:transfer_codings, 501)
  post "identity with a length", "Transfer-Encoding: identity\nContent-Length: 3\n", "abc", **refused(:identity)
  post "xchunked", "Transfer-Encoding: xchunked\n", abc
  post "chunked with a parameter", "Transfer-Encoding: chunked;a=b\n", abc
  post "an empty coding", "Transfer-Encoding: \n", abc
  post "a comma before chunked", "Transfer-Encoding: ,chunked\n", abc
  post "a folded coding", "Transfer-Encoding:\n chunked\n", abc, **served(:obs_fold)

  # Whether the connection lives on depends on who was faster, the body or the application.
  expectation = "Connection: close\nExpect: 100-continue\n"
  connection = without(:hop_by_hop, "HTTP_CONNECTION")
  post "an expectation", "#{expectation}Content-Length: 3\n", "abc", **connection
  post "an expectation and chunked", "#{expectation}#{chunked}", abc, **without(:hop_by_hop, "HTTP_CONNECTION", "CONTENT_LENGTH")
  post "an expectation of something else", "Expect: 200-maybe\nContent-Length: 3\n", "abc"
  fields "an expectation without a body", expectation, **connection

  request "a body that nobody reads", "POST /ignore HTTP/1.1", "Content-Length: 3\n", "abc"
  request "chunks that nobody reads", "POST /ignore HTTP/1.1", chunked, abc
  request "a large body that nobody reads", "POST /ignore HTTP/1.1", "Content-Length: 50000\n", "a" * 50_000
  request "early hints", "GET /hints HTTP/1.1", differs: { "interim" => '103 [["link", "</a.css>; rel=preload"]]' },
                                                clause: :early_hints

  # Pipelines.
  a = "GET /a HTTP/1.1\r\n#{HOST}\r\n"
  with_body = ->(path, text, body) { "POST #{path} HTTP/1.1\r\n#{HOST}#{text.gsub("\n", "\r\n")}\r\n#{body}" }
  raw "three requests at once", a * 3, answers: 3
  raw "a request after a body", with_body.call("/a", "Content-Length: 3\n", "abc") + a, answers: 2
  raw "a request after chunks", with_body.call("/a", chunked, abc) + a, answers: 2, **unknown_length
  raw "a request after a body that nobody reads", with_body.call("/ignore", "Content-Length: 3\n", "abc") + a,
      answers: 2
  raw "a request inside a body", with_body.call("/a", "Content-Length: #{a.bytesize}\n", a) + a, answers: 2
  raw "a request after an empty line", "#{a}\r\n#{a}", answers: 2, differs: { "1.status" => 200 }, clause: :empty_lines
  raw "a request after close", a.sub(HOST, "#{HOST}Connection: close\r\n") + a, answers: 2, differs: { "HTTP_CONNECTION" => nil },
                                                                                clause: :hop_by_hop
  raw "a request after HTTP/1.0", a.sub("1.1", "1.0") + a, answers: 2
  raw "junk after a request", "#{a}junk\r\n\r\n", answers: 2
end
