# frozen_string_literal: true

# Callers of an offload in every environment that it must work in, behind one interface for shared examples.

require "async"
require "support/plain_scheduler"
require "support/waiting"

# Each environment has `inside { … }`, which runs an example, and `start { … }`, which starts a caller in it.
module Callers
  # One caller: `wait` gives its value or raises, `interrupt(exception)` raises in it, once it waits.
  class Caller
    def initialize
      @outcome = Thread::Queue.new
    end

    def perform
      @outcome << [:value, yield]
    rescue Exception => e # rubocop:disable Lint/RescueException -- the example gets it
      @outcome << [:error, e]
    end

    def wait
      kind, value = @outcome.pop
      kind == :value ? value : raise(value)
    end

    def ended? = !@outcome.empty?
  end

  class FiberCaller < Caller
    attr_accessor :fiber

    # Resumes the fiber, which comes back when it waits again.
    def interrupt(exception) = fiber.raise(exception)
  end

  class ThreadCaller < Caller
    attr_reader :thread

    def start(&)
      @thread = Thread.new { perform(&) }
      self
    end

    def interrupt(exception)
      Waiting.wait_until("the caller waits") { thread.stop? }
      thread.raise(exception)
      Waiting.wait_until("the exception arrived") { !thread.pending_interrupt? }
    end
  end

  class TaskCaller < Caller
    attr_accessor :task

    def interrupt(exception) = Fiber.scheduler.raise(task.fiber, exception)
  end

  # No scheduler: a console, Puma.
  module Threads
    def inside = yield

    def start(&) = ThreadCaller.new.start(&)
  end

  # Async, and so Falcon and Ruvoy.
  module Tasks
    def inside(&) = Sync(&)

    def start(&block)
      caller = TaskCaller.new
      Async do |task|
        caller.task = task
        caller.perform(&block)
      end
      caller
    end
  end

  # Any other scheduler.
  module Fibers
    def inside(&)
      example = Caller.new
      Fiber.set_scheduler(PlainScheduler.new)
      Fiber.schedule { example.perform(&) }
      Fiber.set_scheduler(nil) # runs it
      example.wait
    end

    def start(&block)
      caller = FiberCaller.new
      Fiber.schedule do
        caller.fiber = Fiber.current
        caller.perform(&block)
      end
      caller
    end
  end

  ENVIRONMENTS = {
    "without a scheduler" => Threads, "under Async" => Tasks, "under another scheduler" => Fibers
  }.freeze
end

# Runs a group's examples in each environment.
module InEachEnvironment
  def in_each_environment(&examples)
    Callers::ENVIRONMENTS.each do |name, environment|
      context name do
        include environment

        around { |example| inside { example.run } }
        class_exec(&examples)
      end
    end
  end
end
