# frozen_string_literal: true

# `rake doc`: the API as HTML in doc/, by YARD, which fails where a public name has no documentation or a tag is wrong.

desc "Build the documentation of the API in doc/; fails if something public is undocumented"
task :doc do
  require "yard"
  YARD::CLI::Yardoc.run("--no-progress", "--no-stats", "--no-private", "--output-dir", "doc", "--title", "Ruvoy",
                        "--readme", "README.md", "--files", "CHANGELOG.md,LICENSE", "lib/**/*.rb")
  public_objects = YARD::Registry.all(:module, :class, :method).select { |object| object.visibility == :public }
  undocumented = public_objects.select { |object| object.docstring.blank?(false) && !object.tag(:private) }
  abort "undocumented: #{undocumented.map(&:path).sort.join(", ")}" if undocumented.any?
  abort "YARD has warned" if YARD::Logger.instance.warned
end

CLOBBER.include("doc", ".yardoc")
