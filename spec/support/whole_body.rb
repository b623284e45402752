# frozen_string_literal: true

# What the raw clients of both versions have in common.
module WholeBody
  # @return [String] what is left of the body
  def body
    rest = +""
    while (piece = read)
      rest << piece
    end
    rest
  end
end
