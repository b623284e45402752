# frozen_string_literal: true

# Serves one request with the application: env, app.call, the response, and whatever goes wrong; owner thread only.

require "async"
require_relative "body"
require_relative "context"
require_relative "error_stream"
require_relative "errors"
require_relative "failure"
require_relative "headers"
require_relative "hijack"
require_relative "input"
require_relative "request"
require_relative "upstream"
require_relative "version"

module Ruvoy
  # Between the server and a Rack application. Whatever the application does, {#serve} ends the response exactly once,
  # closes the body exactly once, and runs the `rack.response_finished` callbacks.
  #
  # Only `exit!`, `Thread#kill` on the owner thread and a crash of the process are beyond it.
  class Adapter
    FAILURE_BODY = "Internal Server Error\n"
    private_constant :FAILURE_BODY

    # @return [Hash] the part of the environment that is the same for all requests
    TEMPLATE = {
      "SCRIPT_NAME" => "",
      "SERVER_SOFTWARE" => "ruvoy/#{VERSION}".freeze,
      "rack.errors" => ErrorStream.new.freeze,
      "rack.input" => Input::EMPTY,
      "rack.multithread" => true, # Requests interleave, if in fibers.
      "rack.multiprocess" => false,
      "rack.run_once" => false,
      # Each request has its own; an entry that is there already is set faster than one is added.
      "rack.early_hints" => nil,
      "rack.response_finished" => nil
    }.freeze

    # @param app [#call] the Rack application
    # @param native [Module] Ruvoy::Native, or what has its methods
    def initialize(app, native)
      @app = app
      @native = native
      @headers = Headers.new
      @body = Body.new(native.buffer_bytes)
      @failure = Failure.new(native)
      native.template = TEMPLATE
    end

    # @param id [Integer] a new request's
    # @param bits [Integer] those of its event, which tell what it has
    # @return [Request]
    def request(id, bits) = Request.new(@native, @headers, id, bits)

    # Runs in the request's own fiber, and parks it wherever the application, its input or its output waits.
    # @param request [Request]
    # @return [void]
    # @raise [Async::Stop] if the fiber was interrupted, once everything is cleaned up: Async then stops its children
    def serve(request)
      respond(request)
    rescue Async::Stop => e
      error = recover(request, e)
      raise
    rescue Exception => e # rubocop:disable Lint/RescueException -- the server survives
      error = recover(request, e)
    ensure
      conclude(request, error)
    end

    # Answers a request that could not even be started.
    # @param request [Request]
    # @param error [Exception]
    # @return [void]
    def refuse(request, error)
      @failure.report(error, "a request could not be started")
      apologise(request, error)
    end

    private

    def respond(request)
      response = @app.call(environment(request))
      return request.hijack.wait if request.hijack&.taken?

      response = triplet(response)
      request.response = response
      request.unclosed = response[2]
      @body.deliver(request, status_of(response[0]), @headers.flatten(response[1], request), response[2])
    end

    def environment(request)
      env = request.build_env
      env["rack.early_hints"] = request
      env["rack.response_finished"] = []
      extend_env(request, env) unless request.plain?
      env
    end

    def extend_env(request, env)
      if request.upgrade?
        offer_hijack(request, env)
      elsif request.body?
        env["rack.input"] = request.input = Input.new(request)
      end
      env["ruvoy.context"] = Context.new(@native.context(request.id)) if request.context?
      return unless request.upstream?

      env["ruvoy.upstream"] = request.upstream = Upstream.current = Upstream.new(@native, request)
    end

    # What follows the head of an upgrade request belongs to the new protocol and is no body.
    def offer_hijack(request, env)
      return if env["SERVER_PROTOCOL"] != "HTTP/1.1"

      env["rack.hijack?"] = true
      env["rack.hijack"] = request.hijack = Hijack.new(request, @headers)
    end

    def triplet(response)
      array = response.is_a?(Array) ? response : Array.try_convert(response)
      raise ContractError, "a response is an Array, not #{response.class}" if array.nil?
      raise ContractError, "a response has three elements, not #{array.size}" if array.size != 3

      array
    end

    def status_of(status)
      number = status.is_a?(Integer) || !status.respond_to?(:to_i) ? status : status.to_i
      return number if number.is_a?(Integer) && number >= 100 && number <= 599

      raise ContractError, "the status is no number from 100 to 599: #{status.inspect}"
    end

    # @return [Exception] what the response_finished callbacks get to see
    def recover(request, error)
      return disconnected(request, error) if request.cancelled? || error.is_a?(ClientDisconnected)

      report(request, error, "the application failed")
      apologise(request, error)
      error
    end

    def disconnected(request, error)
      request.reset unless request.finished?
      return ClientDisconnected.new("the client left") if error.is_a?(Async::Stop)

      report(request, error, "the application failed while it was interrupted") unless error.is_a?(ClientDisconnected)
      error
    end

    def apologise(request, error)
      if !request.started?
        respond_with_failure(request, error.is_a?(ContractError) ? "contract" : "application")
      elsif !request.finished?
        request.reset
      end
    end

    def respond_with_failure(request, reason)
      fields = ["content-type", "text/plain", "x-ruvoy-error", reason]
      return request.respond(500, fields, FAILURE_BODY) unless request.head?

      request.respond(500, fields.push("content-length", FAILURE_BODY.bytesize.to_s), nil)
    end

    # Where the fiber was killed nothing was raised, and yet the response did not come to its end.
    def conclude(request, error)
      apologise(request, error) unless request.finished?
      request.conclude
      request.hijack&.close
      close(request) if request.unclosed
      request.upstream&.close
      callbacks = request.env&.[]("rack.response_finished")
      run_callbacks(request, callbacks, error) if callbacks.is_a?(Array) && !callbacks.empty?
      request.input&.close
    end

    def close(request)
      body = request.unclosed
      request.unclosed = nil
      body.close if body.respond_to?(:close)
    rescue Exception => e # rubocop:disable Lint/RescueException -- the server survives
      report(request, e, "closing the body failed")
    end

    def run_callbacks(request, callbacks, error)
      status, headers = request.response
      callbacks.reverse_each do |callback|
        callback.call(request.env, status, headers, error)
      rescue Exception => e # rubocop:disable Lint/RescueException -- the others have their turn
        report(request, e, "a rack.response_finished callback failed")
      end
    end

    def report(request, error, what)
      env = request.env
      what = "#{env["REQUEST_METHOD"]} #{env["PATH_INFO"]}: #{what}" if env
      @failure.report(error, what, env && env["rack.errors"])
    end
  end
end
