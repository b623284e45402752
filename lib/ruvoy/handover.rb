# frozen_string_literal: true

# What the command line hands to the VM inside Envoy through the environment, which both share.

module Ruvoy
  # The launcher puts it there, and the server takes it out before it loads the application, whose children must not
  # see it.
  module Handover
    # The line that says where the application is served, for when it is.
    ANNOUNCEMENT = "RUVOY_ANNOUNCEMENT"
    # Where the dynamic loader looks, and what it was before Envoy had to find libruby.
    LOADER_PATH = "LD_LIBRARY_PATH"
    FORMER_LOADER_PATH = "RUVOY_LD_LIBRARY_PATH"

    # Puts the environment back as the operator had it.
    # @param environment [ENV, Hash{String => String}] changed
    # @return [String, nil] the announcement; nil where no command line started Envoy
    def self.receive(environment = ENV)
      if (former = environment.delete(FORMER_LOADER_PATH))
        former.empty? ? environment.delete(LOADER_PATH) : environment[LOADER_PATH] = former
      end
      environment.delete(ANNOUNCEMENT)
    end
  end
end
