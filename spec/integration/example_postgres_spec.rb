# frozen_string_literal: true

# examples/postgres serves many at once by threads and by fibers, with no more sessions than it says.

require "support/integration"
require "support/postgres_process"

RSpec.describe "examples/postgres" do
  if (missing = PostgresProcess.missing)
    before { skip missing }
  else
    before(:context) do
      @postgres = PostgresProcess.start
      @server = EnvoyProcess.start(rackup: File.join(EnvoyProcess::ROOT, "examples/postgres/config.ru"),
                                   environment: { "DATABASE_URL" => @postgres.url })
    end
    after(:context) { [@server, @postgres].each { |process| process&.stop } }
  end

  attr_reader :server, :postgres

  def page = "PostgreSQL #{postgres.connect { |connection| connection.parameter_status("server_version") }}\n"

  # @return [Array<Integer>] sessions of the application that sleep in a query, and all of them
  def sessions
    postgres.connect do |connection|
      row = connection.exec(<<~SQL)
        select count(*) filter (where wait_event = 'PgSleep'), count(*) from pg_stat_activity
        where backend_type = 'client backend' and pid <> pg_backend_pid()
      SQL
      row.values.first.map(&:to_i)
    end
  end

  %w[/threads /fibers].each do |path|
    it "answers #{path}" do
      answer = get(path)
      expect([answer.status, answer.body]).to eq([200, page])
    end

    it "overlaps queries in #{path}, up to 16" do
      requests = Array.new(160) { |number| exchange(number.even? ? :h1 : :h2, path) }
      wait_until("most sessions sleep at once") { sessions.first > 8 }
      expect(requests.map(&:body)).to eq([page] * 160)
      expect(sessions).to eq([0, 16])
    end

    it "goes on after clients of #{path} have left in the middle of queries" do
      leaving = Array.new(32) { |number| exchange(number.even? ? :h1 : :h2, path) }
      wait_until("queries run") { sessions.first.positive? }
      leaving.each(&:cancel)
      requests = Array.new(32) { exchange(:h1, path) }
      expect(requests.map(&:body)).to eq([page] * 32)
      expect(sessions.last).to be <= 16
    end
  end
end
