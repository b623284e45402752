# frozen_string_literal: true

# Memory stays flat over many calls, and bounded while a gigabyte passes through a proxying application.

require "support/upstreams"

RSpec.shared_examples "flat memory" do |environment|
  serve_upstreams(environment: environment)

  def rest_kib = wait_until_steady("resident memory") { server.rss_kib }

  def many(requests, calls)
    answers = Array.new(requests) do
      Thread.new { outcome("/many", path: "/bytes/1000", count: calls) }
    end
    answers.map(&:value)
  end

  it "is flat over 10,000 calls from 100 concurrent requests" do
    expect(many(100, 10)).to all(eq(10))
    before = rest_kib
    expect(many(100, 100)).to all(eq(100))
    expect(rest_kib).to be < before + (8 * 1024)
    expect(server.stats).to include("cluster.service.upstream_rq_active" => 0)
  end

  it "is bounded while a gigabyte is passed on to a client that keeps up" do
    length = 1 << 30
    get(plan("/stream", path: "/bytes/1000000"))
    # What the garbage collector lets accumulate, whatever the length is.
    bound = rest_kib + (96 * 1024)
    service.window = 1 << 20
    (total, most), status = curl_pipe(server, plan("/stream", path: "/paced/#{length}")) { |output| keep_up(output) }
    expect([total, status]).to eq([length, 0])
    expect(most).to be < bound
  end

  # Reads to the end, with the upstream never more than a window ahead.
  # @return [Array(Integer, Integer)] bytes, most KiB seen
  def keep_up(output)
    total = most = 0
    buffer = +""
    while output.read(262_144, buffer)
      total += buffer.bytesize
      service.window = total + (1 << 20)
      most = [most, server.rss_kib].max if (total % (1 << 24)).zero?
    end
    [total, most]
  end
end

RSpec.describe "the memory of upstream calls" do
  describe("with bodies as they are") { it_behaves_like "flat memory", "RUVOY_SPEC_BARE" => "1" }
  describe("with bodies that a middleware has wrapped") { it_behaves_like "flat memory", {} }
end
