# frozen_string_literal: true

# The version of the gem, of its module and of the command line, in one place.

module Ruvoy
  # @return [String] the version that the gem was released as
  VERSION = "0.1.0"
end
