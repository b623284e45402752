# frozen_string_literal: true

# The licences of the crates that are linked into the module, gathered from their sources for the native gem.

require "json"
require "open3"

# What the module holds besides Ruvoy's own code, as a document.
class ThirdParty
  TARGETS = { "x86_64-linux" => "x86_64-unknown-linux-gnu", "aarch64-linux" => "aarch64-unknown-linux-gnu" }.freeze
  LICENCE_FILES = "{LICENSE,LICENCE,COPYING,COPYRIGHT,NOTICE,UNLICENSE}*"
  INTRODUCTION = <<~MARKDOWN
    # Third-party software

    The module in this gem, `libruvoy_fiber.so`, holds code of the Rust standard library (MIT or Apache-2.0) and of the crates
    below, each under its licence.
  MARKDOWN

  # @param platform [String] a gem platform
  def initialize(platform)
    output, status = Open3.capture2("cargo", "metadata", "--format-version", "1", "--locked",
                                    "--filter-platform", TARGETS.fetch(platform))
    raise "cargo metadata failed" unless status.success?

    @metadata = JSON.parse(output)
  end

  # @return [String] the path
  def write(path)
    File.write(path, [INTRODUCTION, *crates.map { |crate| section(crate) }].join("\n"))
    path
  end

  private

  # Those that end up in the module: neither build scripts' nor procedural macros', nor Ruvoy's own.
  def crates
    packages = @metadata.fetch("packages").to_h { |package| [package.fetch("id"), package] }
    linked(packages).map { |id| packages.fetch(id) }.select { |package| package["source"] }
                    .sort_by { |package| package.values_at("name", "version") }
  end

  def linked(packages)
    nodes = @metadata.dig("resolve", "nodes").to_h { |node| [node.fetch("id"), node] }
    seen = []
    waiting = packages.values.select { |package| package["name"] == "ruvoy" }.map { |package| package["id"] }
    while (id = waiting.shift)
      next if seen.include?(id) || macro?(packages.fetch(id))

      seen << id
      waiting.concat(nodes.fetch(id).fetch("deps").select { |dependency| normal?(dependency) }.map { |dep| dep["pkg"] })
    end
    seen
  end

  def macro?(package) = package["targets"].any? { |target| target["kind"].include?("proc-macro") }

  def normal?(dependency) = dependency["dep_kinds"].any? { |kind| kind["kind"].nil? }

  def section(crate)
    texts = Dir[File.join(File.dirname(crate.fetch("manifest_path")), LICENCE_FILES)]
            .select { |path| File.file?(path) }.map { |path| "#{File.basename(path)}:\n\n#{indented(path)}" }
    ["## #{crate["name"]} #{crate["version"]}: #{crate["license"]}", *texts].join("\n\n") << "\n"
  end

  def indented(path) = File.read(path, encoding: "UTF-8").strip.gsub(/^(?=.)/, "    ").gsub(/[ \t]+$/, "")
end
