// Who sends a request, and what that client may use: set by the routes once they know, read by whatever serves the request.
#pragma once
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

namespace quern::serve {

struct Caller {
  std::string user = {};  // whose share of the engine the request takes: the name of a key, or of a user
  // Its requests have priorities from here on: lower values, which are served sooner, become this.
  int64_t lowest_priority = std::numeric_limits<int64_t>::min();
  int64_t max_context = 0, max_tokens = 0;  // per request: prompt and output, and output; 0: as the model's
  std::vector<std::string> models = {};     // that it may name; empty: all
  bool admin = false;                       // may see what others use and say
  bool apart = false;                       // what its user keeps here is its own: memory, responses, files, sessions
  // Told what was spent: prompt tokens at submission, generated ones at the end. On any thread, and after the request.
  std::function<void(int64_t prompt, int64_t generated)> on_spent = {};
  // Whose is what it keeps; empty: nobody's in particular.
  std::string owner() const { return apart ? user : std::string(); }
  bool reaches_all() const { return !apart || admin; }
  bool reaches(const std::string& owner_of_it) const { return reaches_all() || owner_of_it == user; }
  void spend(int64_t prompt, int64_t generated) const {
    if (on_spent) on_spent(prompt, generated);
  }
};

}  // namespace quern::serve
