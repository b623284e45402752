# frozen_string_literal: true

require "ruvoy/starter"

RSpec.describe Ruvoy::Starter do
  let!(:root) { Fiber.current }
  let(:work) { [] }
  let(:starters) { [] }

  # Runs what is in `work`, as the server runs the requests of a batch.
  let(:pool) do
    described_class::Pool.new do
      starters << Fiber.current
      fiber = work.shift
      fiber.is_a?(Fiber) ? Fiber.current.start(fiber, :argument) && nil : fiber
    end
  end

  # A fiber that waits once, as under the scheduler.
  def waiting(log) = Fiber.new { log << :begins << root.transfer << :ends }

  it "starts fibers until something else comes" do
    arguments = []
    work.push(*Array.new(3) { Fiber.new { |argument| arguments << argument } }, 42, Fiber.new { raise "too early" })
    expect(pool.run).to eq(42)
    expect(arguments).to eq(%i[argument argument argument])
    expect(starters.uniq.size).to eq(1)
  end

  it "takes another starter while a fiber waits, and uses both again" do
    log = []
    work.push(first = waiting(log), waiting([]), false)
    expect(pool.run).to be(false)
    expect(starters.uniq.size).to eq(3)
    first.transfer(:woken)
    expect(log).to eq(%i[begins woken ends])
    expect(first).not_to be_alive
    work.push(waiting([]), waiting([]), false)
    pool.run
    expect(starters.uniq.size).to eq(4)
  end

  it "does not mistake the end of a fiber that had waited for a result" do
    work.push(first = waiting([]), :first_batch)
    expect(pool.run).to eq(:first_batch)
    first.transfer(:woken)
    work.push(Fiber.new { :done }, :second_batch)
    expect(pool.run).to eq(:second_batch)
  end

  it "lets no fiber yield" do
    error = nil
    work.push(Fiber.new do
      Fiber.yield
    rescue FiberError => e
      error = e
    end, false)
    pool.run
    expect(error).to have_attributes(message: /yield/)
  end

  it "hands a fiber's exception to the block" do
    failing = described_class::Pool.new do
      Fiber.current.start(Fiber.new { raise "broken" }, nil)
    rescue RuntimeError => e
      e.message
    end
    expect(failing.run).to eq("broken")
  end

  it "keeps a bounded number that have nothing to do" do
    fibers = Array.new(100) { waiting([]) }
    work.push(*fibers, false)
    pool.run
    fibers.each { |fiber| fiber.transfer(:woken) }
    expect(starters.uniq.count(&:alive?)).to be <= 40
  end
end
