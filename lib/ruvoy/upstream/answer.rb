# frozen_string_literal: true

# The buffered body of an upstream's answer.

module Ruvoy
  class Upstream
    # A binary String that can also be returned as a Rack body.
    class Answer < String
      # @yieldparam chunk [String] all of it
      # @return [self]
      def each
        yield to_s
        self
      end
    end
  end
end
