# frozen_string_literal: true

require "ruvoy/headers"
require "ruvoy/request"
require "ruvoy/scheduler"

RSpec.describe Ruvoy::Request do
  subject(:request) { described_class.new(native, Ruvoy::Headers.new, 7, described_class::REQUEST) }

  let(:native) { double("native", env: { "REQUEST_METHOD" => "GET" }) }

  def in_scheduler
    Thread.new do
      scheduler = Ruvoy::Scheduler.new
      Fiber.set_scheduler(scheduler)
      yield scheduler
      scheduler.shut_down(1)
    end.value
  end

  it "knows its state" do
    allow(native).to receive_messages(start: nil, finish: nil)
    request.build_env
    states = [[request.started?, request.finished?]]
    request.start(200, [])
    states << [request.started?, request.finished?]
    request.finish
    request.finish
    expect([*states, [request.started?, request.finished?]]).to eq([[false, false], [true, false], [true, true]])
    expect(native).to have_received(:finish).with(7, nil).once
  end

  it "writes until everything was taken, parked while there is no room" do
    room = [3, 0, 0, 2, 10]
    taken = []
    allow(native).to receive(:write) do |_id, string, offset|
      string.byteslice(offset, room.shift).tap { |piece| taken << piece }.bytesize
    end
    in_scheduler do |scheduler|
      task = Async::Task.new(scheduler) { request.write("abcdefgh") }
      task.run
      taken << :woken
      request.notify(described_class::INPUT)
      request.notify(described_class::WRITABLE)
      taken << :woken
      request.notify(described_class::WRITABLE | described_class::INPUT)
      expect(task).to be_completed
    end
    expect(taken).to eq(["abc", "", :woken, "", :woken, "de", "fgh"])
  end

  it "wakes no fiber that has stopped waiting" do
    woken = []
    in_scheduler do |scheduler|
      tasks = Array.new(2) do |n|
        Async::Task.new(scheduler) do
          request.wait_for_input
          woken << n
          tasks.last.cancel if n.zero?
        end
      end
      tasks.each(&:run)
      request.notify(described_class::INPUT)
      request.notify(described_class::INPUT)
    end
    expect(woken).to eq([0])
  end

  it "wakes a fiber once for each event, even if it waits again at once" do
    woken = 0
    in_scheduler do |scheduler|
      Async::Task.new(scheduler) { loop { request.wait_for_input.then { woken += 1 } } }.run
      3.times { request.notify(described_class::INPUT) }
    end
    expect(woken).to eq(3)
  end

  it "cancels its task once, and not when it is only cleaning up" do
    task = instance_double(Async::Task, stop: nil)
    request.task = task
    2.times { request.notify(described_class::CANCEL) }
    expect(request).to be_cancelled
    expect(task).to have_received(:stop).once

    cleaning = described_class.new(native, Ruvoy::Headers.new, 8, described_class::REQUEST)
    cleaning.conclude
    cleaning.notify(described_class::CANCEL)
    expect(cleaning).not_to be_cancelled
  end

  it "makes no call for its id once it is released" do
    allow(native).to receive(:release)
    request.release
    expect { request.read(1) }.to raise_error(Ruvoy::ClientDisconnected, "the request is over")
    expect { request.write("x") }.to raise_error(Ruvoy::ClientDisconnected, "the request is over")
  end

  it "leaves a frozen env alone when trailers come" do
    allow(native).to receive_messages(read: nil, request_trailers: { "a" => "b" })
    request.build_env.freeze
    expect(request.read(1)).to be_nil
    expect(request.env).not_to include(described_class::TRAILERS)
  end
end
