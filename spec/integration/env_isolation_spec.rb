# frozen_string_literal: true

# An application that changes or freezes its env, or the Strings in it, does not affect the next request.

require "support/integration"

RSpec.describe "a spoilt env" do
  serve "spoil"

  %i[h1 h2].each do |version|
    it "is of no consequence to the next request over #{version}" do
      answers = Array.new(3) { get("/", "--header", "x-a: 1", version: version) }
      expect(answers.map(&:body)).to all(eq('[nil, "example.test", "http", "1"]'))
    end
  end
end
