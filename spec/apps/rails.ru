# frozen_string_literal: true

# The parity scenarios as a Rails application of one file.

require "digest"
require "rails"
require "action_controller/railtie"

class RailsShop < Rails::Application
  config.eager_load = true
  config.consider_all_requests_local = false
  config.hosts.clear
  config.secret_key_base = "s" * 64
  config.logger = Logger.new(nil)
  config.session_store :cookie_store, key: "rails.session"
  # What differs from one request to the next is not to be compared.
  config.middleware.delete Rack::Runtime
  config.middleware.delete ActionDispatch::RequestId

  routes.append do
    root to: "rails_pages#index"
    %w[query visits redirect empty download].each { |page| get page, to: "rails_pages##{page}" }
    get "cookies", to: "rails_pages#biscuits"
    post "form", to: "rails_pages#form"
    post "upload", to: "rails_pages#upload"
    put "raw", to: "rails_pages#raw"
    match "*path", to: "rails_pages#missing", via: :all
  end
end

class RailsPagesController < ActionController::Base
  MEGABYTE = Random.new(1).bytes(1 << 20)

  skip_forgery_protection

  def index = render(plain: "hello")
  def query = render(plain: request.query_parameters.sort.inspect)
  def form = render(plain: request.request_parameters.sort.inspect, status: :created)
  def redirect = redirect_to("/query?from=redirect")
  def empty = head(:no_content)
  def missing = render(plain: "no such page", status: :not_found)
  def raw = render(plain: Digest::SHA256.hexdigest(request.body.read))
  def visits = render(plain: "visit #{session["visits"] = session["visits"].to_i + 1}")

  def upload
    file = params[:file]
    digest = Digest::SHA256.file(file.tempfile.path)
    render(plain: "#{file.original_filename} #{file.content_type} #{digest}")
  end

  def biscuits
    cookies[:a] = { value: "1", path: "/" }
    cookies[:b] = { value: "2", path: "/", httponly: true }
    render(plain: request.cookies.sort.inspect)
  end

  def download
    headers["content-type"] = "application/octet-stream"
    headers["last-modified"] = Time.at(0).httpdate # keeps the entity tag's middleware from buffering
    self.response_body = Enumerator.new { |chunks| 50.times { chunks << MEGABYTE } }
  end
end

Rails.application.initialize!
run Rails.application
