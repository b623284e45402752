# frozen_string_literal: true

# Every request is an Async task of its own, with fresh fiber storage.

require "support/integration"

RSpec.describe "a request's task" do
  serve "tasks"

  it "is Async's current task" do
    expect(get("/current").body).to eq("true")
  end

  it "may have children, which run while it waits" do
    expect(get("/children").body).to eq("[0, 1, 2] in the order [2, 1, 0]")
  end

  it "may have a timeout" do
    expect(get("/timeout").body).to eq("timed out")
  end

  it "may leave a child behind" do
    expect(get("/background").body).to eq("answered")
  end

  it "has fresh fiber storage and fiber locals, on one connection too" do
    connection = HTTP1::Connection.new(server)
    answers = %w[a b c].map do |name|
      connection.write("GET /storage?#{name} HTTP/1.1\r\nhost: example.test\r\n\r\n")
      JSON.parse(connection.read(connection.read_head["content-length"].to_i))
    end
    expect(answers).to eq([[nil, nil, "a", "a"], [nil, nil, "b", "b"], [nil, nil, "c", "c"]])
  end

  it "has its storage for itself while others run" do
    requests = Array.new(20) { |number| [number, exchange(:h1, "/storage?#{number}")] }
    requests.each { |number, request| expect(JSON.parse(request.body)).to eq([nil, nil, number.to_s, number.to_s]) }
  end
end
