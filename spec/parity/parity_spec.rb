# frozen_string_literal: true

# The same bytes to Puma and to Ruvoy, with the same application: each answer is equal, or the table says why not.

require "support/integration"
require_relative "table"
require_relative "wire"

RSpec.describe "parity with Puma" do
  application = File.expand_path("config.ru", __dir__)
  serve application
  before(:context) { @puma = PumaProcess.start(rackup: application) }
  after(:context) { @puma&.stop }

  # What differs, with Ruvoy's value; where the statuses do, they say it all. Puma never answers some requests, and is
  # given up sooner.
  def differences(one)
    ruvoy, puma = [[server, 30], [@puma, 2]].map { |process, patience| Parity::Wire.facets(process, one, patience) }
    names = (ruvoy.keys | puma.keys).reject { |name| ruvoy[name] == puma[name] }
    statuses = names.grep(/status\z/)
    (statuses.empty? ? names : statuses).to_h { |name| [name, ruvoy[name]] }
  end

  # Status, fields and body over a version of HTTP, without what belongs to the connection.
  def answer(version, verb, name)
    request = exchange(version, "/response/#{name}", verb: verb)
    fields = request.head.fields.reject { |field, _| Parity::Wire::OWN_FIELDS.include?(field) }
    [request.status, fields.map { |field| field.map(&:b) }, request.body.b]
  ensure
    request&.close
  end

  Parity::RESPONSES.keys.product(%w[GET HEAD]).each do |name, verb|
    it "is the same over HTTP/2: #{verb} of #{name}" do
      expect(answer(:h2, verb, name)).to eq(answer(:h1, verb, name))
    end
  end

  it "has enough cases, each with a name of its own" do
    expect(Parity::CASES.size).to be >= 200
    expect(Parity::CASES.map(&:name).tally.select { |_, count| count > 1 }).to eq({})
  end

  it "needs each of its clauses" do
    expect(Parity::CLAUSES.keys - Parity::CASES.map(&:clause)).to eq([])
  end

  Parity::CASES.each do |one|
    it "#{one.clause ? "differs by right" : "is there"}: #{one.name}" do
      expect(differences(one)).to eq(one.differs), Parity::CLAUSES[one.clause]
    end
  end
end
