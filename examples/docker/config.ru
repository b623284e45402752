# frozen_string_literal: true

# An application for an image: one page, and one that says that it is up.

run lambda { |env|
  case env["PATH_INFO"]
  when "/" then [200, { "content-type" => "text/plain" }, ["hello from ruby #{RUBY_VERSION} in a container\n"]]
  when "/up" then [200, { "content-type" => "text/plain" }, ["up\n"]]
  else [404, { "content-type" => "text/plain" }, ["not found\n"]]
  end
}
