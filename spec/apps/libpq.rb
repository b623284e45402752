# frozen_string_literal: true

# PostgreSQL by libpq's blocking calls, made as C extensions make them that release the VM lock while they wait.

require "fiddle/import"

# pg itself keeps the lock in its blocking calls from 1.7 on, and so cannot stand for such extensions.
module Libpq
  extend Fiddle::Importer

  class Error < StandardError; end

  dlload "libpq.so.5"
  extern "void *PQconnectdb(const char *)"
  extern "int PQstatus(void *)"
  extern "char *PQerrorMessage(void *)"
  extern "void *PQexec(void *, const char *)"
  extern "char *PQgetvalue(void *, int, int)"
  extern "int PQntuples(void *)"
  extern "void PQclear(void *)"

  # A connection; one thread at a time may use it.
  class Connection
    def initialize(url)
      @connection = Libpq.PQconnectdb(url)
      raise Error, message unless Libpq.PQstatus(@connection).zero?
    end

    # @return [String] the first field of the first row
    def sync_exec(sql)
      result = Libpq.PQexec(@connection, sql)
      raise Error, message unless Libpq.PQntuples(result) == 1

      Libpq.PQgetvalue(result, 0, 0).to_s
    ensure
      Libpq.PQclear(result)
    end

    private

    def message = Libpq.PQerrorMessage(@connection).to_s.strip
  end
end
