# frozen_string_literal: true

# Damages messages at random, for fuzzing.
class Mutator
  ODD = ["\r\n", "\n", "\r", "\0", ":", ": ", " ", "\t", ",", ";", "%", "%00", "..", "/", "\\", "?", "#", "\xFF".b,
         "chunked", "0", "-1", "Content-Length: 1\r\n", "Transfer-Encoding: chunked\r\n", "Host: b\r\n", "\r\n\r\n",
         "HTTP/1.1", "A" * 5000, "Upgrade: websocket\r\n", "Connection: upgrade\r\n", "Expect: 100-continue\r\n",
         "x_y: 1\r\n"].freeze

  # @param random [Random] with the same seed it damages in the same way
  # @param corpus [Array<String>] binary messages
  def initialize(random, corpus)
    @random = random
    @corpus = corpus
  end

  # @return [String] mostly a message with some damage, sometimes without, sometimes mere noise
  def message
    return @random.bytes(@random.rand(1..2000)) if @random.rand(20).zero?

    message = @corpus.sample(random: @random).dup
    @random.rand(0..4).times { damage(message) }
    message
  end

  private

  def damage(message)
    at = @random.rand(message.bytesize + 1)
    size = @random.rand(1..20)
    case @random.rand(6)
    when 0 then message[at, size] = ""
    when 1 then message.insert(at, @random.bytes(size))
    when 2 then message.insert(at, ODD.sample(random: @random).b)
    when 3 then message.insert(at, message.byteslice(at, size * 5))
    when 4 then message.setbyte(at, @random.rand(256)) if at < message.bytesize
    else message.replace(message.byteslice(0, at) + @corpus.sample(random: @random).byteslice(at..).to_s)
    end
  end
end
